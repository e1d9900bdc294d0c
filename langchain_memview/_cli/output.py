"""How results are printed: on any width, without colour codes where nobody sees them."""

import os
from typing import Literal

import typer
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

_PIPED_WIDTH = 104

Justify = Literal["left", "center", "right"]


def console(*, stderr: bool = False) -> Console:
    """Return a console for results, or for messages on standard error.

    Rich leaves out colours for pipes and with NO_COLOR; a pipe has no width of its own,
    so that a table in a log file looks the same everywhere unless COLUMNS says so.

    Args:
        stderr: Whether to print on standard error.
    """
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        made.width = _PIPED_WIDTH
    return made


def table(*headers: tuple[str, Justify]) -> Table:
    """Return a table with a line under its head.

    Args:
        headers: Header and justification (`left`, `right` or `center`) of each column.
    """
    made = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for header, justify in headers:
        made.add_column(
            header,
            justify=justify,
            vertical="bottom",
            overflow="fold",
        )
    return made


def print_table(on: Console, title: str, filled: Table) -> None:
    """Print a table under its title, with an empty line before it."""
    on.print()
    on.print(title, style="bold", markup=False)
    on.print(Padding(filled, (0, 0, 0, 1), expand=False))


def missing_extra(error: ModuleNotFoundError, extra: str) -> typer.Exit:
    """Say which extra installs what is missing, and return the exit to raise."""
    typer.echo(
        f"memview: {error.name} is not installed; "
        f'pip install "langchain-memview[{extra}]" installs it.',
        err=True,
    )
    return typer.Exit(3)
