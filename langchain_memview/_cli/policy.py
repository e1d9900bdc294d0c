"""`memview policy`: check a policy file, show what it means, print its schema."""

import json
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_memview.errors import Level

if TYPE_CHECKING:
    from langchain_memview.core.policy import Policy
    from langchain_memview.policies import Finding

app = typer.Typer(no_args_is_help=True, help="Check and show a policy file.")

_LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
# What GitHub calls the levels in the log of a workflow.
_ANNOTATIONS = {"error": "error", "warning": "warning", "note": "notice"}

File = Annotated[Path, typer.Argument(help="The policy file.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    GITHUB = "github"


@app.command()
def check(
    file: File,
    *,
    as_json: AsJson = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Let warnings fail as well.")
    ] = False,
    style: Annotated[
        Format, typer.Option("--format", help="github prints workflow annotations.")
    ] = Format.TEXT,
) -> None:
    """Report everything that is wrong with a policy file, with a fix for each."""
    from langchain_memview.policies import check_policy_file

    findings = check_policy_file(file)
    counts = Counter(finding.problem.level for finding in findings)
    is_fine = not counts["error"] and not (strict and counts["warning"])
    unreadable = _is_unreadable(findings)
    if as_json:
        typer.echo(json.dumps(check_document(findings, is_fine=is_fine)))
    else:
        _print_findings(findings, style, stderr=unreadable)
        if not unreadable:
            _print_verdict(file, counts, is_fine=is_fine)
    if not is_fine:
        raise typer.Exit(3 if unreadable else 1)


@app.command()
def show(file: File, *, as_json: AsJson = False) -> None:
    """Show what a policy promises and what its budget buys."""
    from langchain_memview._cli.policy_facts import show_document
    from langchain_memview.policies import (
        check_policy_file,
        load_policy,
    )

    findings = check_policy_file(file)
    if any(finding.problem.level == "error" for finding in findings):
        _print_findings(findings, Format.TEXT, stderr=True)
        raise typer.Exit(3 if _is_unreadable(findings) else 1)
    policy = load_policy(file)
    if as_json:
        typer.echo(json.dumps(show_document(policy)))
    else:
        _print_policy(policy)


@app.command()
def schema() -> None:
    """Print the JSON schema of a policy file, for completion in an editor."""
    from langchain_memview.policies import policy_schema

    typer.echo(json.dumps(policy_schema(), indent=2))


def check_document(findings: "list[Finding]", *, is_fine: bool) -> dict[str, Any]:
    """Return the findings as the JSON document `memview.policy-check/1`.

    Args:
        findings: What was found, in the order of the lines.
        is_fine: Whether the check passes.
    """
    counts = Counter(finding.problem.level for finding in findings)
    return {
        "schema": "memview.policy-check/1",
        "ok": is_fine,
        "counts": {level: counts[level] for level in _LEVELS},
        "problems": [
            {
                "code": finding.problem.code,
                "level": finding.problem.level,
                "path": finding.path,
                "line": finding.line or None,
                "col": finding.col or None,
                "msg": finding.problem.text,
                "hint": finding.problem.fix,
            }
            for finding in findings
        ],
    }


def _is_unreadable(findings: "list[Finding]") -> bool:
    from langchain_memview.policies.load import UNREADABLE

    return [finding.problem.code for finding in findings] == [UNREADABLE]


def _print_findings(findings: "list[Finding]", style: Format, *, stderr: bool) -> None:
    from rich.text import Text

    from langchain_memview._cli.output import console

    on = console(stderr=stderr)
    for finding in findings:
        if style is Format.GITHUB:
            typer.echo(_annotation(finding), err=stderr)
            continue
        line = Text(str(finding))
        level = finding.problem.level
        line.highlight_words([f"{level}[{finding.problem.code}]"], _COLOURS[level])
        # Long lines stay one line: editors and grep read them.
        on.print(line, soft_wrap=True)


def _annotation(finding: "Finding") -> str:
    """Return the finding as a GitHub workflow command."""
    problem = finding.problem
    message = f"{problem.text}\nfix: {problem.fix}" if problem.fix else problem.text
    places = [f"file={_escaped(finding.path, ':,')}"]
    if finding.line:
        places += [f"line={finding.line}", f"col={finding.col}"]
    where = ",".join([*places, f"title={problem.code}"])
    return f"::{_ANNOTATIONS[problem.level]} {where}::{_escaped(message)}"


def _escaped(text: str, also: str = "") -> str:
    # The percent sign comes first, or it would escape the escapes.
    for char in f"%\r\n{also}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def _print_verdict(file: Path, counts: Counter[Level], *, is_fine: bool) -> None:
    found = ", ".join(
        f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}"
        for level in _LEVELS
    )
    verdict = f"✓ {file} is usable" if is_fine else f"✗ {file} has problems"
    typer.echo(f"{verdict}: {found}")


def _print_policy(policy: "Policy") -> None:
    from langchain_memview._cli.policy_tables import print_tables

    print_tables(policy)
