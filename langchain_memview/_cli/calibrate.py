"""`memview calibrate`: fits an embedding scorer to examples and says what it tells apart."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_memview._cli.embedding import EmbeddingName, PolicyName, named_model
from langchain_memview._cli.output import (
    console,
    missing_extra,
    print_table,
    table,
)
from langchain_memview.errors import MemViewError, PolicyError

if TYPE_CHECKING:
    from langchain_memview.bench.calibrating import Calibration


def calibrate_command(
    file: Annotated[Path, typer.Argument(help="The policy file.")],
    *,
    model: EmbeddingName,
    examples: Annotated[
        Path, typer.Option(help="JSONL: text, view and kind of an example a line.")
    ],
    name: PolicyName = "",
    write: Annotated[
        bool, typer.Option("--write", help="Write the result into the policy file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit how a cosine becomes support, and print what it separates and what not.

    Kinds of examples: evidence and neutral are fitted; all others, such as
    other_person, past, negated or hypothetical, are only reported.
    """
    from langchain_memview.policies.edit import scorer_line, with_calibration

    try:
        found = _fitted(file, model, name, examples)
        if write:
            text = with_calibration(file.read_text("utf-8"), found.score)
            file.write_text(text, "utf-8")
    except PolicyError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3 if not file.is_file() else 1) from None
    except ModuleNotFoundError as error:
        raise missing_extra(error, "bench") from None
    except (MemViewError, OSError, UnicodeError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    if as_json:
        typer.echo(json.dumps(_document(found), indent=1))
        return
    _print(found)
    typer.echo(
        f"\n{'Written' if write else 'For the policy'}: {scorer_line(found.score)}"
    )


def _fitted(file: Path, model: str, name: str, examples: Path) -> "Calibration":
    from langchain_memview.bench.calibrating import calibrate, examples_in
    from langchain_memview.policies import load_policy

    policy = load_policy(file)
    given = examples_in(examples, policy)
    embeddings, called = named_model(model, name)
    # How much the query counts is the author's choice, so a new fit keeps it.
    relevance = getattr(policy.scorer, "relevance", 0) if _is_calibrated(policy) else 0
    found = calibrate(policy, embeddings, called, given)
    return replace(found, score=replace(found.score, relevance=relevance))


def _is_calibrated(policy: Any) -> bool:
    from langchain_memview.core.parts import EmbeddingScore

    return isinstance(policy.scorer, EmbeddingScore)


def _document(found: "Calibration") -> dict[str, Any]:
    score = {key: str(value) for key, value in vars(found.score).items()}
    kinds = [asdict(kind) for kind in found.kinds]
    return {"schema": "memview.calibration/1", "scorer": score, "kinds": kinds}


def _print(found: "Calibration") -> None:
    made = table(
        ("Examples", "left"),
        ("Number", "right"),
        ("Support the view", "right"),
        ("AUC of evidence against them", "right"),
    )
    for kind in found.kinds:
        auc = "" if kind.auc is None else f"{kind.auc:.3f}"
        share = f"{100 * kind.supported:.0f} in 100"
        made.add_row(kind.kind.replace("_", " "), str(kind.count), share, auc)
    print_table(
        console(),
        "Which examples support the view that they are about (neutral ones: any view)",
        made,
    )
    typer.echo(
        "\nAn AUC near 1 tells them apart, 1/2 does not. Cosines hardly see whose or "
        "when."
    )
