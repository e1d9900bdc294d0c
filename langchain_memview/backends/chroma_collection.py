"""A collection in a Chroma directory, used with a time limit and opened anew on failure.

Chroma keeps one set of files per directory, so this process opens one client per
directory and shares it. The files can be opened by another process as well. Chroma waits
for another process's transaction without an end, so every call runs in a thread of its
own, and whoever has no answer within the time limit gets `MemoryUnavailableError`.

A write that fails, on a full disk for example, can leave Chroma with an open transaction
for which its own next write waits. So after any failure the client is closed, and the
next call opens a new one.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import chromadb
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings

from langchain_memview.backends.file_locks import wait_for_other_processes
from langchain_memview.errors import MemoryUnavailableError

_SECONDS = 8.0
_LONG_SECONDS = 600.0
_WAIT_SECONDS = 7.0

_collections: dict[tuple[Path, str], Any] = {}
# One lock per directory: an opening that hangs holds up no other directory.
_opening: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ChromaCollection:
    """A collection, opened when it is used.

    Attributes:
        directory: Where Chroma keeps its files, as an absolute path.
        name: Name of the collection.
    """

    directory: Path
    name: str

    def read(self, use: Callable[[Any], Answer]) -> Answer:
        """Return what the function makes of Chroma's collection.

        Raises:
            MemoryUnavailableError: It failed, or took longer than 8 seconds.
        """
        return _answer(lambda: self._used(use, _deadline()))

    def write(self, use: Callable[[Any], Answer]) -> Answer:
        """Return the same of a function that writes; other processes finish first.

        Raises:
            MemoryUnavailableError: It failed, or took longer than 8 seconds.
        """
        until = _deadline()

        def work() -> Answer:
            _wait(self.directory, until)
            return self._used(use, until)

        return _answer(work)

    def long_write(self, use: Callable[["ChromaCollection"], Answer]) -> Answer:
        """Return what the function makes of this collection, which it may reopen.

        Raises:
            MemoryUnavailableError: It failed, or took longer than 10 minutes.
        """
        return _answer(lambda: use(self), _LONG_SECONDS)

    def opened(self) -> Any:
        """Return Chroma's collection, to be used inside `long_write` only."""
        until = _deadline()
        _wait(self.directory, until)
        return _opened(self.directory, self.name, until)

    def reopened(self) -> Any:
        """Return the same from a new client, which reads its configuration again."""
        _closed(self.directory)
        return self.opened()

    def _used(self, use: Callable[[Any], Answer], until: float) -> Answer:
        collection = _opened(self.directory, self.name, until)
        try:
            return use(collection)
        except BaseException:
            _closed(self.directory)
            raise


def _deadline() -> float:
    return time.monotonic() + _WAIT_SECONDS


def _wait(directory: Path, until: float) -> None:
    wait_for_other_processes(directory / "chroma.sqlite3", until)


def _opened(directory: Path, name: str, until: float) -> Any:
    key = (directory, name)
    with _opening[directory]:
        if key not in _collections:
            _wait(directory, until)
            try:
                client = chromadb.PersistentClient(
                    str(directory), settings=Settings(anonymized_telemetry=False)
                )
                _collections[key] = client.get_or_create_collection(
                    name, embedding_function=None
                )
            except BaseException:
                _close(directory)
                raise
        return _collections[key]


def _closed(directory: Path) -> None:
    with _opening[directory]:
        _close(directory)


def _close(directory: Path) -> None:
    for key in [key for key in _collections if key[0] == directory]:
        del _collections[key]
    # Chroma keeps its own reference, also of what it could not start, and would
    # give it out again.
    kept = SharedSystemClient._identifier_to_system  # noqa: SLF001
    system = kept.pop(str(directory), None)
    with suppress(Exception):
        if system is not None:
            system.stop()


def _answer(call: Callable[[], Answer], seconds: float | None = None) -> Answer:
    """Return the call's answer, or raise one constant error, without a chain.

    The thread is a daemon: one that never comes back must not keep the process alive.
    """
    future: Future[Answer] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            future.set_exception(error)

    threading.Thread(target=work, name="memview-chroma", daemon=True).start()
    # Chroma's messages may quote a document, so nothing of them is passed on.
    with suppress(Exception):
        return future.result(_SECONDS if seconds is None else seconds)
    raise _unreachable()


def _unreachable() -> MemoryUnavailableError:
    return MemoryUnavailableError(
        "the memory backend cannot be reached, so nothing is read, charged or "
        "released. Check that its directory exists, is writable and is not held by "
        "another process."
    )
