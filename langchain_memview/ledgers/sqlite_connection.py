"""The one connection of this process to a SQLite file, closed when it cannot be trusted.

A connection must not cross a fork: the child would believe that it holds the parent's
file locks. So every connection is closed before a fork, after the transaction that runs
on it, and both processes open their own when they next need one. After an error of the
database it is closed as well; a transaction that could not be rolled back ends there.
"""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PRIMARY_CODE = 0xFF

_connections: "weakref.WeakSet[SqliteConnection]" = weakref.WeakSet()
_fork = threading.Lock()
_paused: "list[SqliteConnection]" = []


class SqliteConnection:
    """Opens a file on first use and gives its connection to one caller at a time.

    Args:
        path: The database file, or a function that returns it on first use.
        timeout: How long to wait for another process's transaction, in seconds.
        prepare: Called with every newly opened connection.
    """

    def __init__(
        self,
        path: str | Path | Callable[[], str],
        timeout: float,
        prepare: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._path = path
        self._timeout = timeout
        self._prepare = prepare
        # Reentrant: a fork inside the work must fail, not wait for itself.
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        with _fork:
            _connections.add(self)

    def use(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Return the work's answer; no other thread uses the connection meanwhile.

        Raises:
            sqlite3.Error: The database failed; the connection has been closed.
            OSError: As for `sqlite3.Error`.
        """
        # Located outside the lock: the function may wait for an event loop.
        if callable(self._path):
            self._path = self._path()
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened(self._path)
                return work(self._connection)
            except (sqlite3.Error, OSError):
                self._drop()
                raise

    def close(self) -> None:
        """Close the connection after the work that runs on it."""
        with self._lock:
            self._drop()

    def pause(self) -> None:
        """Close the connection and keep everybody from it until `resume`."""
        self._lock.acquire()
        self._drop()

    def resume(self) -> None:
        """Let the connection be opened again after `pause`."""
        self._lock.release()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _opened(self, path: str | Path) -> sqlite3.Connection:
        connection = sqlite3.connect(
            path,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        # SQLite does not wait here by itself when another process does the same.
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                code = error.sqlite_errorcode & _PRIMARY_CODE
                if code not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return


def _before_fork() -> None:
    _fork.acquire()
    _paused.extend(_connections)
    for connection in _paused:
        connection.pause()


def _after_fork() -> None:
    for connection in _paused:
        connection.resume()
    _paused.clear()
    _fork.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
