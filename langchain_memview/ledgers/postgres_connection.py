"""The connection or pool that a PostgreSQL ledger is given, for one caller at a time.

It usually belongs to a checkpointer, so it is left as it was found: no transaction open,
autocommit as before, usable after an error. A ledger's transaction must be one of the
server: inside a transaction of somebody else it could be undone after its view was
released, and inside a pipeline a view would leave before its commit. Both are refused.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString, Protocol, TypeAlias, TypeVar

from typing_extensions import override

from langchain_memview.errors import WiringError
from langchain_memview.ledgers.postgres_driver import psycopg, psycopg_pool

Answer = TypeVar("Answer")
Row: TypeAlias = tuple[Any, ...]
_Status = psycopg.pq.TransactionStatus
_WAIT_SECONDS = 30.0


class Lock(Protocol):
    """A `threading.Lock`, which is no type."""

    def acquire(self, *, timeout: float) -> bool:
        """Return whether it was acquired in time."""
        ...

    def release(self) -> None:
        """Let somebody else have it."""
        ...


class Session(Protocol):
    """Runs statements on one connection; each method is one round trip."""

    def batch(self, sql: LiteralString, *values: object) -> list[list[Row]]:
        """Return the rows of each of several statements, sent together.

        Their values become part of the text, which a server may log. Give it nothing
        that depends on a memory.
        """
        ...

    def run(self, sql: LiteralString, *values: object) -> list[Row]:
        """Return the rows of one query; its values are sent apart from its text."""
        ...

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            psycopg.Error: It cannot be committed, or it is not known whether it was.
        """
        ...


class Connections(Protocol):
    """Lends sessions."""

    def use(self, work: Callable[[Session], Answer]) -> Answer:
        """Return the work's answer; what it left uncommitted is rolled back.

        Raises:
            WiringError: The connection cannot be used here, or is in a transaction.
            psycopg.Error: The database failed.
        """
        ...


def refuse_fork(process: int) -> None:
    """Raise an error in any process but this one.

    Raises:
        WiringError: Parent and child would talk to the server on one connection.
    """
    if os.getpid() != process:
        raise WiringError(
            "a PostgreSQL connection cannot cross a fork. Open the connection or pool, "
            "and the ledger on it, in the process that uses them."
        )


class SyncConnections(Connections):
    """Lends a psycopg `Connection` or connections of a `ConnectionPool`.

    Args:
        source: The connection or pool.
        lock: Held while a single connection is used; a saver's own lock if it is a
            saver's connection.
    """

    def __init__(
        self,
        source: psycopg.Connection[Any] | psycopg_pool.ConnectionPool[Any],
        lock: Lock | None = None,
    ) -> None:
        self._source = source
        self._lock: Lock = lock or threading.Lock()
        self._process = os.getpid()

    @override
    def use(self, work: Callable[[Session], Answer]) -> Answer:
        refuse_fork(self._process)
        with self._lent() as connection:
            _refuse_shared(connection)
            autocommit = connection.autocommit
            try:
                # Off, psycopg would begin a transaction with terms of its own.
                if not autocommit:
                    connection.autocommit = True
                return work(SyncSession(connection))
            finally:
                roll_back(connection)
                if not autocommit and not connection.closed:
                    connection.autocommit = False

    @contextmanager
    def _lent(self) -> Iterator[psycopg.Connection[Any]]:
        if isinstance(self._source, psycopg.Connection):
            # Whoever holds it may wait for us: an error then, no deadlock.
            if not self._lock.acquire(timeout=_WAIT_SECONDS):
                raise psycopg.OperationalError
            try:
                yield self._source
            finally:
                self._lock.release()
            return
        lost = False
        try:
            with self._source.connection() as connection:
                try:
                    yield connection
                finally:
                    lost = connection.closed
        finally:
            if lost:
                # After a restart of the server its other connections are lost too.
                with suppress(psycopg.Error):
                    self._source.check()


def _refuse_shared(connection: psycopg.Connection[Any]) -> None:
    """Raise an error if somebody else is in a pipeline or transaction there.

    Raises:
        WiringError: Somebody is.
    """
    info = connection.info
    if (
        info.pipeline_status != psycopg.pq.PipelineStatus.OFF
        # A lost connection has no status; using it says so.
        or info.transaction_status not in (_Status.IDLE, _Status.UNKNOWN)
    ):
        raise WiringError(
            "the ledger's connection is inside a pipeline or a transaction of somebody "
            "else, so a view could be released before its charge is committed (C5). "
            "Use a pool or a connection of its own without pipeline mode; share a "
            "saver's connection by ledger_from_checkpointer(saver) only."
        )


def roll_back(connection: psycopg.Connection[Any]) -> None:
    """End the transaction that is open on the connection, if one is.

    On a lost connection there is nothing to do; the server has rolled back.
    """
    with suppress(psycopg.Error):
        if connection.info.transaction_status in (_Status.INTRANS, _Status.INERROR):
            connection.rollback()


class SyncSession(Session):
    """Runs statements on a connection in autocommit mode."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @override
    def batch(self, sql: LiteralString, *values: object) -> list[list[Row]]:
        results = []
        with psycopg.ClientCursor(
            self._connection, row_factory=psycopg.rows.tuple_row
        ) as cursor:
            cursor.execute(sql, values or None)
            more: bool | None = True
            while more:
                if cursor.description is not None:
                    results.append(cursor.fetchall())
                more = cursor.nextset()
        return results

    @override
    def run(self, sql: LiteralString, *values: object) -> list[Row]:
        with psycopg.Cursor(
            self._connection, row_factory=psycopg.rows.tuple_row
        ) as cursor:
            return cursor.execute(sql, values or None).fetchall()

    @override
    def commit(self) -> None:
        with psycopg.Cursor(self._connection) as cursor:
            cursor.execute("COMMIT", prepare=False)
            if cursor.statusmessage != "COMMIT":
                raise psycopg.OperationalError
