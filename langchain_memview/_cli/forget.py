"""`memview forget`: erases a subject, a slot or a position, and prints the receipt."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, missing_extra
from langchain_memview.errors import MemViewError

if TYPE_CHECKING:
    from langchain_memview.core.accounts import LedgerStore
    from langchain_memview.erasure import ErasureReceipt

_POSTGRES = ("postgresql://", "postgres://")


def forget_command(  # noqa: PLR0913 - one for every option
    policy: Annotated[Path, typer.Argument(help="The policy file.")],
    directory: Annotated[Path, typer.Argument(help="Chroma's directory.")],
    ledger: Annotated[
        str,
        typer.Argument(
            metavar="LEDGER",
            help="A SQLite file, or postgresql://…; give its password in PGPASSWORD.",
        ),
    ],
    *,
    subject: Annotated[str, typer.Option(help="Whose memories they are.")],
    slot: Annotated[str, typer.Option(help="Only this slot's positions.")] = "",
    position: Annotated[int | None, typer.Option(help="Only this position.")] = None,
    collection: Annotated[
        str, typer.Option(help="Name of the collection.")
    ] = "memview",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the receipt as one JSON document.")
    ] = False,
) -> None:
    """Erase memories and what they showed, down to the files; spent amounts stay.

    Exit code 1 says that a part could not be reached: run it again.
    """
    if not yes:
        typer.confirm("Erase for good?", abort=True, err=True)
    try:
        receipt = _forgotten(
            policy, (directory, collection), ledger, subject, slot, position
        )
    except ModuleNotFoundError as error:
        raise missing_extra(error, "chroma,sqlite,postgres") from None
    except (MemViewError, OSError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    if json_:
        typer.echo(json.dumps(receipt.document(), indent=1))
    else:
        _print(receipt)
    if not receipt.complete:
        raise typer.Exit(1)


def _forgotten(
    policy: Path,
    memories: tuple[Path, str],
    ledger: str,
    subject: str,
    slot: str,
    position: int | None,
) -> "ErasureReceipt":
    from langchain_memview.backends.chroma import ChromaBackend
    from langchain_memview.erasure import forget
    from langchain_memview.policies.load import load_policy

    loaded = load_policy(policy)
    directory, collection = memories
    if not directory.is_dir():
        raise NotADirectoryError(f"there is no directory {str(directory)!r}.")
    backend = ChromaBackend(directory, collection)
    with _opened(ledger) as store:
        return forget(loaded, backend, store, subject, slot=slot, position=position)


@contextmanager
def _opened(place: str) -> "Iterator[LedgerStore]":
    if place.startswith(_POSTGRES):
        from langchain_memview.ledgers.postgres import PostgresLedger
        from langchain_memview.ledgers.postgres_driver import psycopg_pool

        with psycopg_pool.ConnectionPool(place, min_size=1, open=True) as pool:
            yield PostgresLedger(pool)
        return
    from langchain_memview.ledgers.sqlite import SqliteLedger

    if not Path(place).is_file():
        raise FileNotFoundError(f"there is no ledger {place!r}.")
    with closing(SqliteLedger(place)) as ledger:
        yield ledger


def _print(receipt: "ErasureReceipt") -> None:
    on = console()
    on.print(
        f"Erased {receipt.memories} memories and the views of {receipt.releases} releases.",
        soft_wrap=True,
    )
    for part in receipt.failed:
        on.print(f"Not reached: {part}. Run it again.", style="bold", soft_wrap=True)
    on.print("This did not reach:")
    for line in receipt.unreached:
        on.print(f"  - {line}", soft_wrap=True)
