"""The connection or pool of an asynchronous checkpointer, used from other threads.

Such a connection answers on its event loop only, while `MemView` works in a thread and
calls its ledger synchronously there. So each round trip is a coroutine on the loop for
which the thread waits; the decision in between runs in the thread, and the loop is never
blocked. A second, synchronous pool made from the connection's parameters would be
simpler, but it would need the password, more connections than the server may allow, and
all that a subclass or a pool's `configure` does to a connection.

A task that is cancelled in mid-transaction ends as an error of the database: rolled
back, with nothing charged or released.
"""

import asyncio
import concurrent.futures
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, LiteralString, TypeVar

from typing_extensions import override

from langchain_memview.errors import WiringError
from langchain_memview.ledgers.postgres_connection import (
    Answer,
    Connections,
    Row,
    Session,
    committed,
    is_open,
    refuse_fork,
    refuse_shared,
)
from langchain_memview.ledgers.postgres_driver import psycopg, psycopg_pool

Result = TypeVar("Result")
_LOOK_SECONDS = 1.0


class LoopConnections(Connections):
    """Lends a psycopg `AsyncConnection` or connections of an `AsyncConnectionPool`.

    Args:
        source: The connection or pool.
        lock: Held while a single connection is used; a saver's own lock if it is a
            saver's connection.
        loop: The event loop on which the connection was opened; None for the running
            one.

    Raises:
        WiringError: No loop is given and none is running.
    """

    def __init__(
        self,
        source: psycopg.AsyncConnection[Any] | psycopg_pool.AsyncConnectionPool[Any],
        lock: asyncio.Lock | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        found = loop or _running_loop()
        if found is None:
            raise WiringError(
                "an asynchronous connection belongs to an event loop, and none is "
                "running here. Make the ledger inside a coroutine, where the "
                "connection or pool was opened."
            )
        self._source = source
        self._lock = lock or asyncio.Lock()
        self._loop = found
        self._process = os.getpid()

    @override
    def use(self, work: Callable[[Session], Answer]) -> Answer:
        refuse_fork(self._process)
        if _running_loop() is self._loop:
            raise WiringError(
                "an asynchronous connection answers only from its event loop, so a "
                "ledger on it cannot be used there by a synchronous call. Await the "
                "asynchronous method instead, such as `memview.aturn(...)`."
            )
        connection, autocommit = self.wait(self._taken)
        try:
            return work(_LoopSession(self, connection))
        finally:
            self.wait(lambda: self._given_back(connection, autocommit=autocommit))

    def wait(self, start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return what a coroutine returns on the loop.

        Raises:
            psycopg.Error: It failed, was cancelled, or the loop has ended.
        """
        if self._loop.is_running():
            future = asyncio.run_coroutine_threadsafe(start(), self._loop)
            with suppress(concurrent.futures.CancelledError):
                while True:
                    concurrent.futures.wait([future], _LOOK_SECONDS)
                    if future.done():
                        return future.result()
                    if not self._loop.is_running():
                        break
        raise psycopg.OperationalError

    async def _taken(self) -> tuple[psycopg.AsyncConnection[Any], bool]:
        """Return a connection in autocommit mode, and whether it was in it before."""
        if isinstance(self._source, psycopg.AsyncConnection):
            connection = self._source
            await self._lock.acquire()
        else:
            connection = await self._source.getconn()
        try:
            refuse_shared(connection)
            autocommit = connection.autocommit
            # Off, psycopg would begin a transaction with terms of its own.
            if not autocommit:
                await connection.set_autocommit(True)
        except BaseException:
            await self._released(connection)
            raise
        return connection, autocommit

    async def _given_back(
        self, connection: psycopg.AsyncConnection[Any], *, autocommit: bool
    ) -> None:
        try:
            with suppress(psycopg.Error):
                if is_open(connection):
                    await connection.rollback()
                if connection.autocommit != autocommit:
                    await connection.set_autocommit(autocommit)
        finally:
            await self._released(connection)

    async def _released(self, connection: psycopg.AsyncConnection[Any]) -> None:
        if isinstance(self._source, psycopg.AsyncConnection):
            self._lock.release()
            return
        lost = connection.closed
        with suppress(psycopg.Error):
            await self._source.putconn(connection)
            if lost:
                # After a restart of the server its other connections are lost too.
                await self._source.check()


class _LoopSession(Session):
    def __init__(
        self, loop: LoopConnections, connection: psycopg.AsyncConnection[Any]
    ) -> None:
        self._loop = loop
        self._connection = connection

    @override
    def batch(self, sql: LiteralString, *values: object) -> list[list[Row]]:
        return self._loop.wait(lambda: self._batch(sql, values))

    @override
    def run(self, sql: LiteralString, *values: object) -> list[Row]:
        return self._loop.wait(lambda: self._run(sql, values))

    @override
    def commit(self) -> None:
        self._loop.wait(self._commit)

    async def _batch(
        self, sql: LiteralString, values: tuple[object, ...]
    ) -> list[list[Row]]:
        results = []
        async with psycopg.AsyncClientCursor(
            self._connection, row_factory=psycopg.rows.tuple_row
        ) as cursor:
            await cursor.execute(sql, values or None)
            more: bool | None = True
            while more:
                if cursor.description is not None:
                    results.append(await cursor.fetchall())
                more = cursor.nextset()
        return results

    async def _run(self, sql: LiteralString, values: tuple[object, ...]) -> list[Row]:
        async with psycopg.AsyncCursor(
            self._connection, row_factory=psycopg.rows.tuple_row
        ) as cursor:
            await cursor.execute(sql, values or None)
            return await cursor.fetchall() if cursor.description is not None else []

    async def _commit(self) -> None:
        async with psycopg.AsyncCursor(self._connection) as cursor:
            await cursor.execute("COMMIT", prepare=False)
            committed(cursor.statusmessage)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
