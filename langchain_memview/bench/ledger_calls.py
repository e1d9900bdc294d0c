"""What `bench.ledger` measures: an operation of a ledger, a bare commit and a bare fsync."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path

from langchain_memview.core.accounts import Account, LedgerStore, Operation
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.ledgers.sqlite import SqliteLedger

CALLS = ("fsync", "bare commit", "admitted", "replayed")
_ROW = "INSERT INTO bare (text) VALUES ('one row')"


@contextmanager
def calls(engine: str, place: str, number: int) -> Iterator[list[Callable[[], object]]]:
    """Give what is measured, in the order of `CALLS`.

    Args:
        engine: `sqlite` or `postgres`.
        place: A folder, or an address.
        number: Which process this is; each has its own account and file.
    """
    with ExitStack() as stack:
        if engine == "sqlite":
            ledger, commit = _sqlite(Path(place), stack)
        else:
            ledger, commit = _postgres(place, stack)
        # Beside PostgreSQL it says something only if the server is on this disk too.
        folder = place if engine == "sqlite" else None
        file = stack.enter_context(tempfile.TemporaryFile(dir=folder))

        def fsync() -> None:
            os.pwrite(file.fileno(), b"\0" * 4096, 0)
            os.fsync(file.fileno())

        yield [fsync, commit, *_operations(ledger, number)]


def bench_account(number: int) -> Account:
    """Return an account that does not run dry while it is measured."""
    group, caps = {"debt": frozenset({1})}, {"debt": Fraction(1_000_000)}
    return Account(f"u{number}", "bench@1", None, "terms", caps, group)


def _operations(ledger: LedgerStore, number: int) -> list[Callable[[], object]]:
    account = bench_account(number)
    slot = SlotRelease("food", "cheap", "selected", (1,), ("debt",), Fraction(1, 1000))
    numbers = count()

    def decide(before: Ledger) -> list[SlotRelease]:
        return [slot] if before.admits(slot.charged, slot.epsilon) else []

    def admitted() -> object:
        operation = Operation(f"t{next(numbers)}", "request", "bench")
        return ledger.transact(account, operation, decide)

    def replayed() -> object:
        return ledger.transact(account, Operation("t0", "request", "bench"), decide)

    return [admitted, replayed]


def _sqlite(folder: Path, stack: ExitStack) -> tuple[LedgerStore, Callable[[], object]]:
    ledger = SqliteLedger(folder / "ledger.sqlite")
    ledger.setup()
    stack.callback(ledger.close)
    bare = sqlite3.connect(folder / "bare.sqlite", isolation_level=None, timeout=30)
    stack.callback(bare.close)
    bare.execute("PRAGMA synchronous=FULL")
    return ledger, lambda: bare.execute(_ROW)


def _postgres(
    address: str, stack: ExitStack
) -> tuple[LedgerStore, Callable[[], object]]:
    from langchain_memview.ledgers.postgres import PostgresLedger
    from langchain_memview.ledgers.postgres_driver import psycopg

    own = stack.enter_context(psycopg.connect(address, autocommit=True))
    bare = stack.enter_context(psycopg.connect(address, autocommit=True))
    ledger = PostgresLedger(own)
    ledger.setup()
    return ledger, lambda: bare.execute(_ROW)


@contextmanager
def prepared(engine: str, url: str) -> Iterator[str]:
    """Give an empty place of this engine, and remove it at the end."""
    table = "CREATE TABLE bare (id {} PRIMARY KEY, text TEXT)"
    if engine == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            bare = sqlite3.connect(Path(folder) / "bare.sqlite")
            bare.execute("PRAGMA journal_mode=WAL")
            bare.execute(table.format("INTEGER"))
            bare.close()
            yield folder
        return
    from langchain_memview.ledgers.postgres_driver import psycopg

    schema = f"memview_bench_{os.getpid()}"
    address = psycopg.conninfo.make_conninfo(url, options=f"-csearch_path={schema}")
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE SCHEMA {schema}".encode())
        try:
            owner.execute(table.format("bigserial").encode())
            yield address
        finally:
            owner.execute(f"DROP SCHEMA {schema} CASCADE".encode())
