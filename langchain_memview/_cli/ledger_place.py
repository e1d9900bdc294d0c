"""The argument that names a ledger, and the exit code 3 when it cannot be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

import typer

from langchain_memview.errors import LedgerError, LedgerUnavailableError
from langchain_memview.ledgers.places import place_name
from langchain_memview.ledgers.reading import LedgerReader, reading

Place: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="A SQLite file, or postgresql://…; give its password in PGPASSWORD.",
    ),
]
Subject: TypeAlias = Annotated[
    str | None, typer.Option(help="Only the accounts of this person.")
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout.")
]


@contextmanager
def reader_of(place: str) -> Iterator[LedgerReader]:
    """Give a reader of the ledger; what it cannot read ends the program with code 3."""
    failure = ""
    try:
        with reading(place) as reader:
            yield reader
    except LedgerUnavailableError:
        failure = (
            "the ledger cannot be read: there is no such file or server, or what is "
            "there is no MemView ledger."
        )
    except (LedgerError, ImportError) as error:
        failure = str(error)
    if failure:
        typer.echo(f"{place_name(place)}: {failure}", err=True)
        raise typer.Exit(3)
