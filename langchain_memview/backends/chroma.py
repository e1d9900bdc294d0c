"""Raw memories in a Chroma directory on this machine, read by id and never by search.

Every content is one document under an id made of subject and position. No embedding
function is set, so Chroma downloads no model; each document carries the same
one-dimensional vector, which nothing ever queries.

Chroma keeps one set of files per directory, so this process opens one client per
directory and shares it. The files can be opened by another process as well. Chroma waits
for another process's transaction without an end, so every call runs in a thread of its
own, and whoever has no answer within the time limit gets `MemoryUnavailableError`.
"""

import json
import threading
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
from langchain_memview.errors import MemoryUnavailableError

_SECONDS = 8.0
_WAIT_SECONDS = 7.0
_VECTOR = [0.0]

_clients: dict[Path, Any] = {}
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
    """

    def __init__(self, directory: str | Path, collection: str = "memview") -> None:
        self._directory = Path(directory).resolve()
        self._collection = self._write_call(
            lambda: _client(self._directory).get_or_create_collection(
                collection, embedding_function=None
            )
        )

    @override
    def __repr__(self) -> str:
        return f"ChromaBackend({str(self._directory)!r})"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        ids = {_id(subject, position): position for position in positions}
        if not ids:
            return {}
        found = _answer(
            lambda: self._collection.get(ids=list(ids), include=["documents"])
        )
        return {
            ids[key]: text
            for key, text in zip(found["ids"], found["documents"], strict=True)
        }

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        self._write_call(
            lambda: self._collection.upsert(
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
        self._write_call(lambda: self._collection.delete(where={"subject": subject}))

    def _write_call(self, call: Callable[[], Answer]) -> Answer:
        def work() -> Answer:
            wait_for_other_processes(self._directory / "chroma.sqlite3", _WAIT_SECONDS)
            return call()

        return _answer(work)


def _id(subject: str, position: int) -> str:
    # JSON keeps any two pairs apart, whatever characters a subject has.
    return json.dumps([subject, position], ensure_ascii=False)


def _client(directory: Path) -> Any:
    with _opening[directory]:
        if directory not in _clients:
            _clients[directory] = _opened(str(directory))
        return _clients[directory]


def _opened(directory: str) -> Any:
    try:
        return chromadb.PersistentClient(
            directory, settings=Settings(anonymized_telemetry=False)
        )
    except BaseException:
        # Chroma remembers what it could not start, and would never try again.
        SharedSystemClient._identifier_to_system.pop(directory, None)  # noqa: SLF001
        raise


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
