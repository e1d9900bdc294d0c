"""Whether an account with a long history answers as fast as one with a short one.

`python -m langchain_memview.bench.ledger_history` fills one account of a SQLite ledger
with 10 releases and another with 1,000,000 (`--releases`), and repeats some of
them in turns; with `--postgres URL` in PostgreSQL too, in a schema of its own that is
dropped at the end. The rows are copied by SQL: their hashes are no chain, and nothing
but the time of an operation is measured on them.
"""

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from langchain_memview.bench.ledger_calls import bench_account, prepared
from langchain_memview.core.accounts import LedgerStore, Operation
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.ledgers.sqlite import SqliteLedger

SHORT = 10
_SLOT = SlotRelease("food", "cheap", "selected", (1,), ("debt",), Fraction(1, 1000))
_COPY = (
    "INSERT INTO memview_release SELECT account, i, 't' || i, request, audience, at,"
    " charges, views, views_hash, 'h' || (i - 1), 'h' || i FROM memview_release,"
)
_LAST = "UPDATE memview_account SET sequence = {0}, head = 'h' || {0} WHERE account = "
_ONE = "(SELECT account FROM memview_release WHERE operation = 'filled')"


@dataclass(frozen=True)
class Repeat:
    """The time of a repeated and of a new operation, long history beside short.

    Attributes:
        engine: `sqlite` or `postgres`.
        what: `replayed` or `admitted`.
        short_ms: Median with 10 releases, in milliseconds.
        long_ms: Median with many, in milliseconds.
    """

    engine: str
    what: str
    short_ms: float
    long_ms: float

    @property
    def ratio(self) -> float:
        """Return long over short."""
        return self.long_ms / self.short_ms


def _decide(_: Ledger) -> list[SlotRelease]:
    return [_SLOT]


def _sqlite(folder: Path, releases: int, stack: ExitStack) -> LedgerStore:
    path = folder / "ledger.sqlite"
    ledger = SqliteLedger(path)
    stack.callback(ledger.close)
    _begin(ledger)
    numbers = (
        "(WITH RECURSIVE n(i) AS (VALUES (2) UNION ALL SELECT i + 1 FROM n"  # noqa: S608
        f" WHERE i < {releases}) SELECT i FROM n) WHERE operation = 'filled'"
    )
    other = sqlite3.connect(path)
    with other:
        other.execute(_COPY + numbers)
        other.execute(_LAST.format(releases) + _ONE)
    other.close()
    return ledger


def _postgres(address: str, releases: int, stack: ExitStack) -> LedgerStore:
    from langchain_memview.ledgers.postgres import PostgresLedger
    from langchain_memview.ledgers.postgres_driver import psycopg

    own = stack.enter_context(psycopg.connect(address, autocommit=True))
    ledger = PostgresLedger(own)
    _begin(ledger)
    numbers = f"generate_series(2, {releases}) AS i WHERE operation = 'filled'"
    for sql in (
        "ALTER TABLE memview_release DISABLE TRIGGER USER",
        _COPY + numbers,
        _LAST.format(releases) + _ONE,
        "ALTER TABLE memview_release ENABLE TRIGGER USER",
        "ANALYZE memview_release",
    ):
        own.execute(sql.encode())
    return ledger


def _begin(ledger: LedgerStore) -> None:
    """Give one account its short history, and the other the row that is copied."""
    for number in range(1, SHORT + 1):
        operation = Operation(f"t{number}", "request", "bench")
        ledger.transact(bench_account(SHORT), operation, _decide)
    ledger.transact(bench_account(0), Operation("filled", "request", "bench"), _decide)


def repeats(engine: str, place: str, releases: int, rounds: int) -> Iterator[Repeat]:
    """Yield the times of repeated and of new operations on one engine."""
    with ExitStack() as stack:
        sys.stderr.write(f"{engine}: filling an account with {releases:,} releases\n")
        ledger = (
            _sqlite(Path(place), releases, stack)
            if engine == "sqlite"
            else _postgres(place, releases, stack)
        )

        def replayed(account: int, number: int, count: int) -> Callable[[], object]:
            # A large prime apart, so all over the history.
            name = f"t{2 + number * 104_729 % (count - 1)}"
            operation = Operation(name, "request", "bench")
            return lambda: ledger.transact(bench_account(account), operation, _decide)

        def admitted(account: int, number: int) -> Callable[[], object]:
            operation = Operation(f"new{number}", "request", "bench")
            return lambda: ledger.transact(bench_account(account), operation, _decide)

        times: dict[str, list[float]] = {}
        steps = track(
            range(rounds),
            f"{engine}, repeated operations",
            console=Console(stderr=True),
            disable=not sys.stderr.isatty(),
        )
        for number in steps:
            for name, call in (
                ("replayed short", replayed(SHORT, number, SHORT)),
                ("replayed long", replayed(0, number, releases)),
                ("admitted short", admitted(SHORT, number)),
                ("admitted long", admitted(0, number)),
            ):
                begin = time.perf_counter()
                call()
                times.setdefault(name, []).append(time.perf_counter() - begin)
    for what in ("replayed", "admitted"):
        short, long = (
            float(np.median(times[f"{what} {which}"])) * 1000
            for which in ("short", "long")
        )
        yield Repeat(engine, what, short, long)


def main() -> None:
    """Measure every engine and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--postgres", metavar="URL", default="")
    parser.add_argument("--releases", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=500)
    arguments = parser.parse_args()
    table = Table("engine", "operation", "10 releases, ms", "many, ms", "ratio")
    for engine in ("sqlite", "postgres") if arguments.postgres else ("sqlite",):
        with prepared(engine, arguments.postgres) as place:
            for row in repeats(engine, place, arguments.releases, arguments.rounds):
                table.add_row(
                    *(row.engine, row.what, f"{row.short_ms:.3f}"),
                    *(f"{row.long_ms:.3f}", f"{row.ratio:.2f}"),
                )
    Console(width=80).print(table)


if __name__ == "__main__":
    main()
