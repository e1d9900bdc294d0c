"""Ledgers in a SQLite file, usually the checkpointer's own, through a second connection.

One operation is one `BEGIN IMMEDIATE` transaction with `synchronous=FULL`: known
operation → its record; otherwise read the balances, decide, write charges and record,
commit. A process that dies before the commit has released nothing and charged nothing;
one that dies after it finds the record again under the operation's id.

The database itself refuses spent > cap, a decrease of what was spent, a rise of a cap,
a change or removal of a release and a second release under one operation id. Rows are
chained by hashes. Subjects are stored as keyed hashes, one key per database, so that
erasing a subject's memory does not have to lose what was spent.
"""

import sqlite3
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
    after,
    injective,
    nothing_released,
    same_request,
)
from langchain_memview.core.ledger import Ledger
from langchain_memview.errors import (
    LedgerUnavailableError,
    WiringError,
)
from langchain_memview.ledgers.rows import keyed_hash
from langchain_memview.ledgers.sqlite_connection import Answer, SqliteConnection
from langchain_memview.ledgers.sqlite_rows import (
    append,
    erase,
    found,
    records,
    scrub,
    seen,
    under,
    version,
)
from langchain_memview.ledgers.sqlite_schema import prepared

_NO_FILE = ("", ":memory:")


class SqliteLedger(LedgerStore):
    """Keeps all accounts in tables `memview_*` of a SQLite database file.

    Args:
        path: The database file, or a function that returns it when the ledger is
            first used. `setup` makes the tables when they are missing.
        timeout: How long to wait for another process's transaction, in seconds.
    """

    def __init__(
        self, path: str | Path | Callable[[], str], timeout: float = 30.0
    ) -> None:
        if str(path) in _NO_FILE:
            raise WiringError(
                "a SqliteLedger needs a file: on ':memory:' what was spent would be "
                "forgotten with the process and the cap would not hold (C5). Name a "
                "file, or use InMemoryLedger() if losing the ledger is acceptable."
            )
        self._connection = SqliteConnection(path, timeout, self._prepare)
        self._key = b""

    @override
    def __repr__(self) -> str:
        return "SqliteLedger()"

    def setup(self) -> None:
        """Make the tables if they are missing; it may be called any number of times.

        Raises:
            LedgerUnavailableError: The file cannot be opened or written.
            LedgerVersionError: A newer version of the package wrote the ledger.
        """
        self._guarded(lambda _: None)

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        self._connection.close()

    @override
    def find(self, account: Account, operation: Operation) -> Record | None:
        known = self._guarded(
            lambda connection: found(connection, self._keyed(account.key), operation.id)
        )
        return same_request(known, operation) if known else None

    @override
    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        def work(connection: sqlite3.Connection) -> tuple[Record, Ledger]:
            key = self._keyed(account.key)
            known = found(connection, key, operation.id)
            before = seen(connection, key)
            ledger = under(connection, key, account, before)
            if known:
                return same_request(known, operation), ledger
            slots = tuple(decide(ledger))
            if not slots:
                return nothing_released(operation), ledger
            charged = after(ledger, slots)
            record = Record(before.sequence + 1, operation, slots, _now())
            subject = self._keyed(injective(account.subject))
            append(connection, (account, key, subject), before, (record, charged))
            return record, charged

        return self._committed(work)

    @override
    def ledger(self, account: Account) -> Ledger:
        # Read only: to look at a ledger under other terms must not change it.
        def read(connection: sqlite3.Connection) -> Ledger:
            key = self._keyed(account.key)
            return under(connection, key, account, seen(connection, key))

        return self._guarded(lambda connection: _in_snapshot(connection, read))

    @override
    def version(self, account: Account) -> str:
        return self._guarded(
            lambda connection: version(connection, self._keyed(account.key))
        )

    @override
    def history(self, account: Account) -> Sequence[Record]:
        return self._guarded(
            lambda connection: list(records(connection, self._keyed(account.key)))
        )

    @override
    def erase(self, subject: str, lineage: str, positions: Set[int] | None) -> int:
        count = self._committed(
            lambda connection: erase(
                connection, self._keyed(injective(subject)), lineage, positions
            )
        )
        self._guarded(scrub)
        return count

    @override
    def pseudonym(self, subject: str) -> str:
        return self._guarded(lambda _: self._keyed(injective(subject)))

    def _guarded(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return the work's answer, or raise one constant error if the database fails.

        It is raised outside the `except` block, so that no chain leads to the cause.
        """
        with suppress(sqlite3.Error, OSError):
            return self._connection.use(work)
        raise LedgerUnavailableError

    def _committed(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return the work's answer after its transaction has been committed."""
        return self._guarded(lambda connection: _in_transaction(connection, work))

    def _keyed(self, text: str) -> str:
        return keyed_hash(self._key, text)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._key = prepared(connection)


def _in_transaction(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Answer]
) -> Answer:
    connection.execute("BEGIN IMMEDIATE")
    try:
        answer = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        # A COMMIT that failed for want of room has rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answer


def _in_snapshot(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Answer]
) -> Answer:
    """Return the work's answer; all of its reads see one state of the database."""
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        connection.execute("ROLLBACK")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
