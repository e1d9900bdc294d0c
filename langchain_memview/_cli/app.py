"""The command `memview`: one sub-command a module, imported when the program starts.

Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 could not run. Standard output
carries the result, standard error everything else. A command module imports at its top
only what is fast; LangChain, LangGraph and Chroma are imported where they are used.
"""

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from langchain_memview._cli import (
    audit,
    bench,
    calibrate,
    demo,
    forget,
    ledger,
    models,
    policy,
    reembed,
)

app = typer.Typer(
    name="memview",
    help="Long-term memory whose whole transcript is private, per attribute.",
    epilog="Exit codes: 0 fine, 1 a check failed, 2 wrong usage, 3 could not run.",
    no_args_is_help=True,
    # A traceback with local variables could print what must not be printed (C6).
    pretty_exceptions_enable=False,
)
app.command("demo", rich_help_panel="Try")(demo.demo_command)
app.add_typer(policy.app, name="policy", rich_help_panel="Author")
app.command("calibrate", rich_help_panel="Author")(calibrate.calibrate_command)
app.command("audit", rich_help_panel="Verify")(audit.audit_command)
app.add_typer(ledger.app, name="ledger", rich_help_panel="Operate")
app.command("forget", rich_help_panel="Operate")(forget.forget_command)
app.command("reembed", rich_help_panel="Operate")(reembed.reembed_command)
app.add_typer(models.app, name="models", rich_help_panel="Operate")
app.add_typer(bench.app, name="bench", rich_help_panel="Measure")


def _print_version(asked: object) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(version("langchain-memview"))
        raise typer.Exit


@app.callback()
def memview(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Let an option stand before the command; every command has its own module."""


def main() -> None:
    """Run the program; the entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot print ε shows an escape instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    app()
