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
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
    after,
    nothing_released,
    same_request,
)
from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Balance, Ledger, recomputed
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerUnavailableError, LedgerVersionError
from langchain_memview.ledgers.rows import (
    FORMAT,
    GENESIS,
    chain_hash,
    charges_text,
    slots_of,
    text_hash,
    views_text,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memview_meta (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memview_account (
    account TEXT PRIMARY KEY, subject TEXT NOT NULL, lineage TEXT NOT NULL,
    audience TEXT, fingerprint TEXT NOT NULL,
    sequence INTEGER NOT NULL, head TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS memview_account_subject ON memview_account (subject);
CREATE TABLE IF NOT EXISTS memview_balance (
    account TEXT NOT NULL REFERENCES memview_account, attribute TEXT NOT NULL,
    spent INTEGER NOT NULL, cap INTEGER NOT NULL,
    PRIMARY KEY (account, attribute), CHECK (0 <= spent AND spent <= cap)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memview_release (
    account TEXT NOT NULL REFERENCES memview_account, sequence INTEGER NOT NULL,
    operation TEXT NOT NULL, request TEXT NOT NULL, audience TEXT NOT NULL,
    at TEXT NOT NULL, charges TEXT NOT NULL, views TEXT, views_hash TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (account, sequence), UNIQUE (account, operation)
);
CREATE TRIGGER IF NOT EXISTS memview_spent_never_decreases
BEFORE UPDATE ON memview_balance WHEN NEW.spent < OLD.spent
BEGIN SELECT RAISE(ABORT, 'memview: spent never decreases'); END;
CREATE TRIGGER IF NOT EXISTS memview_cap_never_rises
BEFORE UPDATE ON memview_balance
WHEN NEW.cap > OLD.cap AND NEW.cap > NEW.spent
BEGIN SELECT RAISE(ABORT, 'memview: a cap never rises'); END;
CREATE TRIGGER IF NOT EXISTS memview_balance_stays
BEFORE DELETE ON memview_balance
BEGIN SELECT RAISE(ABORT, 'memview: balances are kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_stays
BEFORE DELETE ON memview_release
BEGIN SELECT RAISE(ABORT, 'memview: releases are kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_is_fixed
BEFORE UPDATE ON memview_release
WHEN NEW.views IS NOT NULL OR NEW.account IS NOT OLD.account
  OR NEW.sequence IS NOT OLD.sequence OR NEW.operation IS NOT OLD.operation
  OR NEW.request IS NOT OLD.request OR NEW.audience IS NOT OLD.audience
  OR NEW.at IS NOT OLD.at OR NEW.charges IS NOT OLD.charges
  OR NEW.views_hash IS NOT OLD.views_hash OR NEW.previous IS NOT OLD.previous
  OR NEW.hash IS NOT OLD.hash
BEGIN SELECT RAISE(ABORT, 'memview: releases are append-only'); END;
"""

_COLUMNS = "sequence, operation, request, audience, at, charges, views"

Answer = TypeVar("Answer")


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
        self._path = path
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
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
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

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
            ledger = self._adopt(connection, key, account)
            known = self._find(connection, key, operation.id)
            if known:
                return same_request(known, operation), ledger
            slots = tuple(decide(ledger))
            if not slots:
                return nothing_released(operation), ledger
            charged = after(ledger, slots)
            self._write_balances(connection, key, ledger, charged)
            return self._append(connection, key, operation, slots), charged

        return self._committed(work)

    @override
    def ledger(self, account: Account) -> Ledger:
        return self._committed(
            lambda connection: self._adopt(
                connection, self._keyed(account.key), account
            )
        )

    @override
    def history(self, account: Account) -> Sequence[Record]:
        def read(connection: sqlite3.Connection) -> list[Record]:
            return list(self._records(connection, self._keyed(account.key)))

        return self._guarded(read)

    # -- one open connection per process -----------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        # A connection must not cross a fork; the child forgets it and opens its own.
        path = self._path() if callable(self._path) else self._path
        connection = sqlite3.connect(
            path,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            self._key = _prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _guarded(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return the work's answer, or raise one constant error if the database fails.

        It is raised outside the `except` block, so that no chain leads to the cause.
        """
        try:
            with self._lock:
                return work(self._open())
        except (sqlite3.Error, OSError):
            pass
        raise LedgerUnavailableError

    def _committed(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return the work's answer after its transaction has been committed."""
        return self._guarded(lambda connection: _in_transaction(connection, work))

    def _keyed(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

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

    def _adopt(
        self, connection: sqlite3.Connection, key: str, account: Account
    ) -> Ledger:
        """Return the account's ledger, opened or recounted if its terms are new."""
        known = connection.execute(
            "SELECT fingerprint FROM memview_account WHERE account = ?", (key,)
        ).fetchone()
        stored = Ledger(
            {
                name: Balance(from_ticks(spent), from_ticks(cap))
                for name, spent, cap in connection.execute(
                    "SELECT attribute, spent, cap FROM memview_balance"
                    " WHERE account = ?",
                    (key,),
                )
            }
        )
        if known and known[0] == account.fingerprint:
            return Ledger({name: stored.balances[name] for name in account.caps})
        charges = (
            (slot.read_set, slot.charged, slot.epsilon)
            for record in self._records(connection, key)
            for slot in record.slots
        )
        ledger = recomputed(charges, account.groups, account.caps, stored)
        connection.execute(
            "INSERT INTO memview_account VALUES (?, ?, ?, ?, ?, 0, ?)"
            " ON CONFLICT (account) DO UPDATE SET fingerprint = excluded.fingerprint",
            (
                key,
                self._keyed(json.dumps([account.subject])),
                account.lineage,
                account.audience,
                account.fingerprint,
                GENESIS,
            ),
        )
        self._write_balances(connection, key, Ledger({}), ledger)
        return ledger

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


def _prepare(connection: sqlite3.Connection) -> bytes:
    """Make missing tables and return the key of this database."""
    if _meta(connection, "format") is None:
        # One transaction: another process sees all of it, with one key, or nothing.
        connection.executescript(
            f"BEGIN IMMEDIATE;{_SCHEMA}"  # noqa: S608 - constants and hex digits
            f"INSERT OR IGNORE INTO memview_meta VALUES ('format', '{FORMAT}');"
            "INSERT OR IGNORE INTO memview_meta"
            f" VALUES ('key', '{secrets.token_hex(32)}');COMMIT;"
        )
    found = int(_meta(connection, "format") or 0)
    if found > FORMAT:
        raise LedgerVersionError(found=found, known=FORMAT)
    return bytes.fromhex(_meta(connection, "key") or "")


def _meta(connection: sqlite3.Connection, name: str) -> str | None:
    exists = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE name = 'memview_meta'"
    ).fetchone()
    if not exists:
        return None
    row = connection.execute(
        "SELECT value FROM memview_meta WHERE name = ?", (name,)
    ).fetchone()
    return str(row[0]) if row else None


def _record(row: tuple[int, str, str, str, str, str, str | None]) -> Record:
    sequence, operation, request, audience, at, charges, views = row
    return Record(
        sequence,
        Operation(operation, request, audience),
        slots_of(charges, views),
        at,
    )
