"""Raw memories in a Chroma directory on this machine, read by id and never by search.

Every content is one document under an id made of subject and position. No embedding
function is set, so Chroma downloads no model; each document carries the same
one-dimensional vector, which nothing ever queries.

Chroma keeps one set of files per directory, so this process opens one client per
directory and shares it. The files can be opened by another process as well. Chroma waits
for another process's transaction without an end, so every call runs in a thread of its
own, and whoever has no answer within the time limit gets `MemoryUnavailableError`.

A write that fails, on a full disk for example, can leave Chroma with an open transaction
for which its own next write waits. So after any failure the client is closed, and the
next call opens a new one.
"""

import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import chromadb
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from typing_extensions import override

from langchain_memview.backends.file_locks import wait_for_other_processes
from langchain_memview.core.backend import Backend
from langchain_memview.errors import MemoryUnavailableError, WiringError

_SECONDS = 8.0
_WAIT_SECONDS = 7.0
_VECTOR = [0.0]
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")

_collections: dict[tuple[Path, str], Any] = {}
# One lock per directory: an opening that hangs holds up no other directory.
_opening: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)

Answer = TypeVar("Answer")


class ChromaBackend(Backend):
    """Keeps raw memories in a Chroma collection on disk.

    Args:
        directory: Where Chroma keeps its files; made when it does not exist.
        collection: Name of the collection. One collection serves one layout.

    Raises:
        MemoryUnavailableError: The directory cannot be opened within 10 seconds.
        WiringError: Chroma does not allow the name of the collection.
    """

    def __init__(self, directory: str | Path, collection: str = "memview") -> None:
        self._directory = Path(directory).resolve()
        self._name = collection
        if not _NAME.fullmatch(collection):
            raise WiringError(
                f"Chroma does not allow {collection!r} as the name of a collection. Use 3 "
                "to 512 letters, digits, dots, dashes or underscores, with a letter or "
                "digit at both ends."
            )
        self._call(lambda _: None)

    @override
    def __repr__(self) -> str:
        return f"ChromaBackend({str(self._directory)!r})"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        ids = {_id(subject, position): position for position in positions}
        if not ids:
            return {}
        found = self._call(
            lambda collection: collection.get(ids=list(ids), include=["documents"])
        )
        return {
            ids[key]: text
            for key, text in zip(found["ids"], found["documents"], strict=True)
        }

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        self._write_call(
            lambda collection: collection.upsert(
                ids=[_id(subject, position)],
                documents=[text],
                embeddings=[_VECTOR],
                metadatas=[{"subject": subject, "position": position}],
            )
        )

    @override
    def written(self, subject: str, positions: Set[int]) -> Set[int]:
        return frozenset(self.read(subject, positions))

    @override
    def forget(self, subject: str) -> None:
        self._write_call(
            lambda collection: collection.delete(where={"subject": subject})
        )

    def _write_call(self, use: Callable[[Any], Answer]) -> Answer:
        return self._call(use, wait=_wait)

    def _call(
        self,
        use: Callable[[Any], Answer],
        wait: Callable[[Path, float], None] = lambda _, __: None,
    ) -> Answer:
        until = time.monotonic() + _WAIT_SECONDS

        def work() -> Answer:
            wait(self._directory, until)
            collection = _opened(self._directory, self._name, until)
            try:
                return use(collection)
            except BaseException:
                _closed(self._directory)
                raise

        return _answer(work)


def _id(subject: str, position: int) -> str:
    # JSON keeps any two pairs apart, whatever characters a subject has.
    return json.dumps([subject, position], ensure_ascii=False)


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


def _answer(call: Callable[[], Answer]) -> Answer:
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
        return future.result(_SECONDS)
    raise _unreachable()


def _unreachable() -> MemoryUnavailableError:
    return MemoryUnavailableError(
        "the memory backend cannot be reached, so nothing is read, charged or "
        "released. Check that its directory exists, is writable and is not held by "
        "another process."
    )
