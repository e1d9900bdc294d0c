"""Synchronous connections beside an asynchronous checkpointer's, to the same database.

`MemView` works in a thread and calls its ledger synchronously there, while a connection
of an `AsyncPostgresSaver` answers on its event loop only. The ledger does not borrow it:
the saver holds it while it serialises in a thread of the loop's executor, and as soon as
all threads of that executor wait for the connection, neither side goes on. So the ledger
opens up to four connections of its own, from the parameters of the saver's connection or
pool, and the loop and the saver never wait for it. What a `configure` function or a `SET`
does to a connection is not repeated on these; a password is read when one is opened and
kept nowhere else.
"""

import asyncio
import inspect
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from typing_extensions import override

from langchain_memview.errors import WiringError
from langchain_memview.ledgers.postgres_connection import (
    Answer,
    Connections,
    Session,
    SyncSession,
    refuse_fork,
    roll_back,
)
from langchain_memview.ledgers.postgres_driver import psycopg, psycopg_pool

_CONNECTIONS = 4
_CONNECT_SECONDS = 10
_WAIT_SECONDS = 30.0
_NOT_PARAMETERS = {
    "autocommit",
    "context",
    "cursor_factory",
    "prepare_threshold",
    "row_factory",
}


class OwnConnections(Connections):
    """Lends connections of its own, each to one caller at a time.

    Args:
        source: The asynchronous connection or pool whose database it is.
        loop: The event loop of the source; None if it is not known.

    Raises:
        WiringError: The connection is closed, or the parameters of the pool's
            connections come from a coroutine.
    """

    def __init__(
        self,
        source: psycopg.AsyncConnection[Any] | psycopg_pool.AsyncConnectionPool[Any],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._parameters = _parameters(source)
        self._loop = loop
        self._process = os.getpid()
        self._room = threading.BoundedSemaphore(_CONNECTIONS)
        self._spare: list[psycopg.Connection[Any]] = []
        weakref.finalize(self, _close, self._spare, self._process)

    @override
    def use(self, work: Callable[[Session], Answer]) -> Answer:
        refuse_fork(self._process)
        if self._loop is not None and _running_loop() is self._loop:
            raise WiringError(
                "a ledger of an asynchronous checkpointer would block its event loop, "
                "so it cannot be used there by a synchronous call. Await the "
                "asynchronous method instead, such as `memview.aturn(...)`."
            )
        with self._lent() as connection:
            return work(SyncSession(connection))

    @contextmanager
    def _lent(self) -> Iterator[psycopg.Connection[Any]]:
        if not self._room.acquire(timeout=_WAIT_SECONDS):
            raise psycopg.OperationalError
        try:
            connection = self._opened()
            try:
                yield connection
            finally:
                self._take_back(connection)
        finally:
            self._room.release()

    def _opened(self) -> psycopg.Connection[Any]:
        with suppress(IndexError):
            return self._spare.pop()
        conninfo, parameters = self._parameters()
        parameters.setdefault("connect_timeout", _CONNECT_SECONDS)
        return psycopg.connect(conninfo, autocommit=True, **parameters)

    def _take_back(self, connection: psycopg.Connection[Any]) -> None:
        roll_back(connection)
        if connection.closed:
            # After a restart of the server the others are lost too.
            _close(self._spare, self._process)
        else:
            self._spare.append(connection)


def _parameters(
    source: psycopg.AsyncConnection[Any] | psycopg_pool.AsyncConnectionPool[Any],
) -> Callable[[], tuple[str, dict[str, Any]]]:
    """Return a function that gives address and parameters of a new connection."""
    if isinstance(source, psycopg.AsyncConnection):
        if source.closed:
            raise WiringError("the ledger's connection is closed; give it an open one.")
        info = source.info
        found = info.get_parameters()
        return lambda: ("", {**found, "password": info.password or None})
    conninfo, given = source.conninfo, source.kwargs
    if inspect.iscoroutinefunction(conninfo) or inspect.iscoroutinefunction(given):
        raise WiringError(
            "the parameters of this pool's connections come from a coroutine, so no "
            "ledger can be opened beside it. Give the ledger a pool of its own: "
            "PostgresLedger(ConnectionPool(...))."
        )

    def parameters() -> tuple[str, dict[str, Any]]:
        address: Any = conninfo() if callable(conninfo) else conninfo
        named: Any = given() if callable(given) else given
        return address or "", {
            name: value
            for name, value in (named or {}).items()
            if name not in _NOT_PARAMETERS
        }

    return parameters


def _close(spare: list[psycopg.Connection[Any]], process: int) -> None:
    # Closed in a forked child, a connection would end that of the parent.
    while spare and os.getpid() == process:
        with suppress(psycopg.Error, IndexError):
            spare.pop().close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
