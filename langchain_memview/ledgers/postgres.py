"""Ledgers in a PostgreSQL database, usually on the checkpointer's own connection.

One operation is two round trips: read; write what was decided, in one transaction with
the account's advisory lock, on the condition that nobody has written since. If somebody
has, what was drawn is discarded and the operation begins again with the lock held from
the read to the commit, so it never loses twice. A process that dies before the commit
has released nothing and charged nothing; one that dies after it finds the record again
under the operation's id. The commit is on disk before the view leaves, also where the
server is set to `synchronous_commit = off`; a server with `fsync = off` keeps no promise.

Tables, rows, their chain and what the database itself refuses are those of
`ledgers.sqlite`. A drawn view is sent apart from the text of its statement, because a
server may log a statement that fails, and then the draw was never released.
"""

import asyncio
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

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
from langchain_memview.errors import LedgerUnavailableError, WiringError
from langchain_memview.ledgers.postgres_connection import (
    Answer,
    Connections,
    Lock,
    Session,
    SyncConnections,
)
from langchain_memview.ledgers.postgres_driver import psycopg, psycopg_pool
from langchain_memview.ledgers.postgres_own import OwnConnections
from langchain_memview.ledgers.postgres_rows import (
    Stored,
    appended,
    erase,
    found,
    opened,
    records,
    scrub,
    seen,
    version,
)
from langchain_memview.ledgers.postgres_schema import key_in, prepared
from langchain_memview.ledgers.rows import keyed_hash


class PostgresLedger(LedgerStore):
    """Keeps all accounts in tables `memview_*` of a PostgreSQL database.

    The first use makes the tables if they are missing, as `setup` does. A lost pooled
    connection is replaced by the pool, a lost single one is the caller's to replace.

    Args:
        source: A psycopg `Connection` or `ConnectionPool`. A single connection may be
            shared with a saver by `ledger_from_checkpointer` only. Beside an
            `AsyncConnection` or `AsyncConnectionPool` the ledger opens up to four
            connections of its own, see `ledgers.postgres_own`.
        lock: Given by `ledger_from_checkpointer`: the saver's lock.
        loop: Given by `ledger_from_checkpointer`: the saver's event loop.

    Raises:
        WiringError: The source is something else, or no connection can be opened
            beside it.
    """

    def __init__(
        self,
        source: "psycopg.Connection[Any] | psycopg_pool.ConnectionPool[Any]"
        " | psycopg.AsyncConnection[Any] | psycopg_pool.AsyncConnectionPool[Any]",
        *,
        lock: Lock | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._connections: Connections
        match source:
            case psycopg.Connection() | psycopg_pool.ConnectionPool():
                self._connections = SyncConnections(source, lock)
            case psycopg.AsyncConnection() | psycopg_pool.AsyncConnectionPool():
                self._connections = OwnConnections(source, loop)
            case _:
                raise WiringError(
                    f"a PostgresLedger needs a psycopg connection or pool, got "
                    f"{type(source).__name__}: PostgresLedger(ConnectionPool(url))."
                )
        self._key = b""

    @override
    def __repr__(self) -> str:
        return "PostgresLedger()"

    def setup(self) -> None:
        """Make the tables if they are missing; it may be called any number of times.

        Raises:
            LedgerUnavailableError: The database cannot be reached or written.
            LedgerVersionError: A newer version of the package wrote the ledger.
            WiringError: The connection cannot be used here.
        """
        self._guarded(lambda _: None)

    @override
    def find(self, account: Account, operation: Operation) -> Record | None:
        known = self._guarded(
            lambda session: found(session, self._keyed(account.key), operation.id)
        )
        return same_request(known, operation) if known else None

    @override
    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        def work(session: Session) -> tuple[Record, Ledger]:
            key = self._keyed(account.key)
            before = seen(session, key, operation.id)
            done = self._done(session, account, operation, decide, before)
            if done is None:
                # Somebody was faster. What was drawn is discarded, and the account is
                # ours from here on.
                before = opened(session, key, operation.id)
                done = self._done(session, account, operation, decide, before)
                session.commit()
            if done is None:
                raise psycopg.DatabaseError
            return done

        return self._guarded(work)

    def _done(
        self,
        session: Session,
        account: Account,
        operation: Operation,
        decide: Decide,
        before: Stored,
    ) -> tuple[Record, Ledger] | None:
        """Return the record and the ledger after it; None if `before` is outdated."""
        self._check(before)
        ledger = before.under(session, account)
        if before.record:
            return same_request(before.record, operation), ledger
        slots = tuple(decide(ledger))
        if not slots:
            return nothing_released(operation), ledger
        charged = after(ledger, slots)
        record = Record(before.sequence + 1, operation, slots, _now())
        subject = self._keyed(injective(account.subject))
        written = appended(session, account, subject, before, (record, charged))
        return (record, charged) if written else None

    @override
    def ledger(self, account: Account) -> Ledger:
        # Read only: to look at a ledger under other terms must not change it.
        def read(session: Session) -> Ledger:
            before = seen(session, self._keyed(account.key))
            self._check(before)
            return before.under(session, account)

        return self._guarded(read)

    @override
    def version(self, account: Account) -> str:
        return self._guarded(lambda session: version(session, self._keyed(account.key)))

    @override
    def history(self, account: Account) -> Sequence[Record]:
        return self._guarded(lambda session: records(session, self._keyed(account.key)))

    @override
    def erase(self, subject: str, lineage: str, positions: Set[int] | None) -> int:
        def work(session: Session) -> int:
            count = erase(session, self._keyed(injective(subject)), lineage, positions)
            scrub(session)
            return count

        return self._guarded(work)

    @override
    def pseudonym(self, subject: str) -> str:
        return self._guarded(lambda _: self._keyed(injective(subject)))

    def _guarded(self, work: Callable[[Session], Answer]) -> Answer:
        """Return the work's answer, or raise one constant error if the database fails.

        It is raised outside the `except` block, so that no chain leads to the cause.
        """
        with suppress(psycopg.Error, OSError):
            if not self._key:
                self._key = self._connections.use(prepared)
            return self._connections.use(work)
        raise LedgerUnavailableError

    def _check(self, before: Stored) -> None:
        """Raise an error if the ledger is no longer the one that was prepared."""
        if key_in(before.meta) != self._key:
            # Another ledger has taken its place: all accounts have other keys there.
            self._key = b""
            raise psycopg.DatabaseError

    def _keyed(self, text: str) -> str:
        return keyed_hash(self._key, text)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
