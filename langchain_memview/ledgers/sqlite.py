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

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
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
from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Balance, Ledger, recomputed
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import (
    LedgerUnavailableError,
    WiringError,
)
from langchain_memview.ledgers.rows import (
    GENESIS,
    chain_hash,
    charges_text,
    slots_of,
    text_hash,
    views_text,
)
from langchain_memview.ledgers.sqlite_connection import Answer, SqliteConnection
from langchain_memview.ledgers.sqlite_schema import prepared, undamaged

_COLUMNS = "sequence, operation, request, audience, at, charges, views"
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
        def read(connection: sqlite3.Connection) -> Record | None:
            return self._find(connection, self._keyed(account.key), operation.id)

        known = self._guarded(read)
        return same_request(known, operation) if known else None

    @override
    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        def work(connection: sqlite3.Connection) -> tuple[Record, Ledger]:
            key = self._keyed(account.key)
            known = self._find(connection, key, operation.id)
            stored, ledger = self._terms(connection, key, account)
            if known:
                return same_request(known, operation), ledger
            slots = tuple(decide(ledger))
            if not slots:
                return nothing_released(operation), ledger
            charged = after(ledger, slots)
            self._write_account(connection, key, account)
            self._write_balances(connection, key, stored, charged)
            return self._append(connection, key, operation, slots), charged

        return self._committed(work)

    @override
    def ledger(self, account: Account) -> Ledger:
        # Read only: to look at a ledger under other terms must not change it.
        def read(connection: sqlite3.Connection) -> Ledger:
            return self._terms(connection, self._keyed(account.key), account)[1]

        return self._guarded(lambda connection: _in_snapshot(connection, read))

    @override
    def history(self, account: Account) -> Sequence[Record]:
        def read(connection: sqlite3.Connection) -> list[Record]:
            return list(self._records(connection, self._keyed(account.key)))

        return self._guarded(read)

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
        plain = text.encode("utf-8", "surrogatepass")
        return hmac.new(self._key, plain, hashlib.sha256).hexdigest()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._key = prepared(connection)

    # -- rows -----------------------------------------------------------------------

    def _find(
        self, connection: sqlite3.Connection, key: str, operation: str
    ) -> Record | None:
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM memview_release"  # noqa: S608 - constants
            " WHERE account = ? AND operation = ?",
            (key, operation),
        ).fetchone()
        return _record(row) if row else None

    def _records(self, connection: sqlite3.Connection, key: str) -> Iterator[Record]:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM memview_release"  # noqa: S608 - constants
            " WHERE account = ? ORDER BY sequence",
            (key,),
        )
        return (_record(row) for row in rows)

    def _terms(
        self, connection: sqlite3.Connection, key: str, account: Account
    ) -> tuple[Ledger, Ledger]:
        """Return the stored ledger, and the account's: recounted if its terms are new."""
        known = connection.execute(
            "SELECT fingerprint FROM memview_account WHERE account = ?", (key,)
        ).fetchone()
        rows = connection.execute(
            "SELECT attribute, spent, cap FROM memview_balance WHERE account = ?",
            (key,),
        )
        with undamaged():
            stored = Ledger(
                {
                    name: Balance(from_ticks(spent), from_ticks(cap))
                    for name, spent, cap in rows
                }
            )
            if known and known[0] == account.fingerprint:
                return stored, stored.only(account.caps)
        charges = (
            (slot.read_set, slot.charged, slot.epsilon)
            for record in self._records(connection, key)
            for slot in record.slots
        )
        return stored, recomputed(charges, account.groups, account.caps, stored)

    def _write_account(
        self, connection: sqlite3.Connection, key: str, account: Account
    ) -> None:
        connection.execute(
            "INSERT INTO memview_account VALUES (?, ?, ?, ?, ?, 0, ?)"
            " ON CONFLICT (account) DO UPDATE SET fingerprint = excluded.fingerprint",
            (
                key,
                self._keyed(injective(account.subject)),
                _storable(account.lineage),
                None if account.audience is None else _storable(account.audience),
                account.fingerprint,
                GENESIS,
            ),
        )

    def _write_balances(
        self, connection: sqlite3.Connection, key: str, before: Ledger, now: Ledger
    ) -> None:
        changed = [
            (key, name, to_ticks(balance.spent), to_ticks(balance.cap))
            for name, balance in now.balances.items()
            if before.balances.get(name) != balance
        ]
        connection.executemany(
            "INSERT INTO memview_balance VALUES (?, ?, ?, ?)"
            " ON CONFLICT (account, attribute)"
            " DO UPDATE SET spent = excluded.spent, cap = excluded.cap",
            changed,
        )

    def _append(
        self,
        connection: sqlite3.Connection,
        key: str,
        operation: Operation,
        slots: tuple[SlotRelease, ...],
    ) -> Record:
        sequence, previous = connection.execute(
            "SELECT sequence + 1, head FROM memview_account WHERE account = ?", (key,)
        ).fetchone()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        charges, views = charges_text(slots), views_text(slots, secrets.token_hex(16))
        fields = (
            sequence,
            operation.id,
            operation.request,
            operation.audience,
            at,
            charges,
            text_hash(views),
        )
        head = chain_hash(previous, *fields)
        connection.execute(
            "INSERT INTO memview_release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, *fields[:6], views, fields[6], previous, head),
        )
        connection.execute(
            "UPDATE memview_account SET sequence = ?, head = ? WHERE account = ?",
            (sequence, head, key),
        )
        return Record(sequence, operation, slots, at)


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


def _storable(text: str) -> str:
    """Return a text as it can be stored for people to read: without lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _record(row: tuple[int, str, str, str, str, str, str | None]) -> Record:
    sequence, operation, request, audience, at, charges, views = row
    with undamaged():
        slots = slots_of(charges, views)
    return Record(sequence, Operation(operation, request, audience), slots, at)
