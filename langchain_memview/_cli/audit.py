"""`memview audit`: every transcript of a policy, exactly, and what it must not show."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, print_table, table
from langchain_memview.errors import PolicyError

if TYPE_CHECKING:
    from langchain_memview.audit.policy import PolicyAudit
    from langchain_memview.audit.witnesses import Pair
    from langchain_memview.core.policy import Policy
    from langchain_memview.core.store import MemoryStore


def audit_command(  # noqa: PLR0913 - one for every option
    file: Annotated[Path, typer.Argument(help="The policy file.")],
    *,
    depth: Annotated[int, typer.Option(min=1, max=8, help="Number of turns.")] = 3,
    query: Annotated[
        list[str] | None, typer.Option(help="What may be asked; may be repeated.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="A JSON file of position to text, instead of public words."),
    ] = None,
    other: Annotated[
        Path | None, typer.Option(help="The store that it is compared with.")
    ] = None,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Audit the policy with each fault.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Audit a policy: the largest ratio of any transcript, against cap and ledger."""
    from langchain_memview.audit.frequencies import Frequency, frequencies
    from langchain_memview.audit.policy import audit_policy, interface_of
    from langchain_memview.audit.report import audit_document, audit_html
    from langchain_memview.audit.witnesses import witness_pairs
    from langchain_memview.policies import load_policy

    try:
        policy = load_policy(file)
    except PolicyError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3 if not file.is_file() else 1) from None
    if ablations:
        _print_ablations(policy, depth)
        return
    pairs = _pairs(policy, store, other)
    interface = interface_of(policy)
    audit = audit_policy(interface, depth, query or (), pairs)
    drawn: tuple[Frequency, ...] = ()
    if not pairs and audit.attributes:
        # Known coins on a store of public words; never on somebody's memories.
        public = next(iter(witness_pairs(policy, audit.attributes[0].attribute)))
        drawn = frequencies(interface, audit.queries[-1], public.other)
    if html:
        _write(html, audit_html(policy, audit, drawn))
    if as_json:
        typer.echo(json.dumps(audit_document(policy, audit, drawn), indent=1))
    else:
        _print(policy, audit)
    if not audit.holds:
        raise typer.Exit(1)


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, "utf-8")
    except OSError as error:
        raise _stop(f"{file} cannot be written: {error.strerror}") from None


def _stop(text: str) -> typer.Exit:
    typer.echo(f"memview: {text}", err=True)
    return typer.Exit(3)


def _pairs(policy: "Policy", store: Path | None, other: Path | None) -> list["Pair"]:
    from langchain_memview.audit.policy import given_pairs

    if store is None and other is None:
        return []
    if store is None or other is None:
        raise typer.BadParameter("--store and --other are given together")
    mine, yours = _store(policy, store), _store(policy, other)
    try:
        return given_pairs(policy, mine, yours)
    except ValueError as error:
        raise _stop(f"{error}.") from None


def _store(policy: "Policy", file: Path) -> "MemoryStore":
    """Return the store in a file; what is wrong is said without its content."""
    from langchain_memview.core.store import MemoryStore

    contents: dict[int, str] | None = None
    try:
        document = json.loads(file.read_text("utf-8"))
        contents = {int(position): text for position, text in document.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        contents = None
    sound = contents is not None and all(
        position in policy.positions and isinstance(text, str)
        for position, text in contents.items()
    )
    if contents is None or not sound:
        raise _stop(
            f"{file} cannot be used: it must be a JSON object of positions 1 to "
            f"{len(policy.positions)} and their texts."
        )
    return MemoryStore.of(len(policy.positions), contents)


def _print(policy: "Policy", audit: "PolicyAudit") -> None:
    on = console()
    on.print(
        f"{policy.name}: all transcripts of {audit.depth} turns, "
        f"{len(audit.queries)} questions",
        markup=False,
    )
    made = table(
        ("Attribute", "left"),
        ("Largest ln ratio", "right"),
        ("Charged", "right"),
        ("Cap", "right"),
        ("Stores", "right"),
        ("Transcripts", "right"),
        ("Verdict", "left"),
    )
    for one in audit.attributes:
        made.add_row(
            one.attribute.replace("_", " "),
            f"{one.audit.log_ratio:.4f}",
            f"{float(one.spent):.4f}",
            f"{float(one.cap):.4f}",
            f"{one.pairs} pairs",
            f"{one.transcripts:,}",
            "holds" if one.holds and one.within_ledger else "VIOLATED",
        )
    print_table(on, "Worst transcript of each attribute", made)
    made = table(("Condition", "left"), ("", "left"), ("Verdict", "left"))
    for finding in audit.findings:
        verdict = "holds" if finding.holds else "BROKEN"
        made.add_row(finding.condition, finding.text, verdict)
    print_table(on, "Contract", made)
    on.print(
        "\nExact for these stores; for all others the mechanisms' bound is the proof.",
        markup=False,
    )


def _print_ablations(policy: "Policy", depth: int) -> None:
    from langchain_memview.audit.ablations import ablations_of, verdict

    made = table(
        ("Ablation", "left"),
        ("Breaks", "left"),
        ("Found broken", "left"),
        ("Largest ln ratio", "right"),
        ("Cap", "right"),
        ("Verdict", "left"),
    )
    for kind in ablations_of(policy):
        found = verdict(policy, kind, depth)
        ratio = "∞" if math.isinf(found.log_ratio) else f"{found.log_ratio:.4f}"
        made.add_row(
            *(kind.__name__, kind.breaks),
            *(", ".join(found.broken) or "nothing", ratio, f"{float(found.cap):.4f}"),
            "rejected" if found.rejected else "not noticed",
        )
    print_table(console(), f"{policy.name} with faults, {depth} turns", made)
