"""The connection or pool that a PostgreSQL ledger is given, for one caller at a time.

It usually belongs to a checkpointer, so it is left as it was found: no transaction open,
autocommit as before, usable after an error. A ledger's transaction must be one of the
server: inside a transaction of somebody else it could be undone after its view was
released, and inside a pipeline a view would leave before its commit. Both are refused.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, LiteralString, Protocol, TypeAlias, TypeVar

from typing_extensions import override

from langchain_memview.errors import WiringError
from langchain_memview.ledgers.postgres_driver import psycopg, psycopg_pool

Answer = TypeVar("Answer")
Row: TypeAlias = tuple[Any, ...]
_Status = psycopg.pq.TransactionStatus


class Session(Protocol):
    """Runs statements on one connection; each method is one round trip."""

    def batch(self, sql: LiteralString, *values: object) -> list[list[Row]]:
        """Return the rows of each of several statements, sent together.

        Their values become part of the text, which a server may log. Give it nothing
        that depends on a memory.
        """
        ...

    def run(self, sql: LiteralString, *values: object) -> list[Row]:
        """Return the rows of one statement; its values are sent apart from its text."""
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


def refuse_shared(connection: psycopg.Connection[Any] | Any) -> None:
    """Raise an error if the connection is in a pipeline or transaction.

    Raises:
        WiringError: It is.
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


def is_open(connection: psycopg.Connection[Any] | Any) -> bool:
    """Return whether a transaction is open on the connection."""
    return connection.info.transaction_status in (_Status.INTRANS, _Status.INERROR)


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


def committed(status: str | None) -> None:
    """Raise an error unless this is what the server says to a COMMIT that worked.

    Raises:
        psycopg.Error: The server rolled back instead.
    """
    if status != "COMMIT":
        raise psycopg.OperationalError


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
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._source = source
        self._lock = lock or threading.Lock()
        self._process = os.getpid()

    @override
    def use(self, work: Callable[[Session], Answer]) -> Answer:
        refuse_fork(self._process)
        with self._lent() as connection:
            refuse_shared(connection)
            autocommit = connection.autocommit
            try:
                # Off, psycopg would begin a transaction with terms of its own.
                if not autocommit:
                    connection.autocommit = True
                return work(_SyncSession(connection))
            finally:
                _restore(connection, autocommit=autocommit)

    @contextmanager
    def _lent(self) -> Iterator[psycopg.Connection[Any]]:
        if isinstance(self._source, psycopg.Connection):
            with self._lock:
                yield self._source
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


def _restore(connection: psycopg.Connection[Any], *, autocommit: bool) -> None:
    # On a lost connection there is nothing to restore; the server has rolled back.
    with suppress(psycopg.Error):
        if is_open(connection):
            connection.rollback()
        if connection.autocommit != autocommit:
            connection.autocommit = autocommit


class _SyncSession(Session):
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
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description is not None else []

    @override
    def commit(self) -> None:
        with psycopg.Cursor(self._connection) as cursor:
            cursor.execute("COMMIT", prepare=False)
            committed(cursor.statusmessage)
