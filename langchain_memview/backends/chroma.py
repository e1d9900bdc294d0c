"""Raw memories in a Chroma directory on this machine, read by id and never by search.

Every content is one document under an id made of subject and position. No embedding
function is set, so Chroma downloads no model; each document carries the same
one-dimensional vector, which nothing ever queries.

Chroma keeps one set of files per directory, so this process opens one client per
directory and shares it. The files can be opened by another process as well; whoever
cannot open or read them within the time limit gets `MemoryUnavailableError`.
"""

import json
import threading
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import chromadb
from chromadb.config import Settings
from typing_extensions import override

from langchain_memview.core.backend import Backend
from langchain_memview.errors import MemoryUnavailableError

_OPENING_SECONDS = 8.0
_VECTOR = [0.0]

_clients: dict[Path, Any] = {}
_clients_lock = threading.Lock()

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
        self._collection = _within_time(
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
        found = _reachable(
            lambda: self._collection.get(ids=list(ids), include=["documents"])
        )
        return {
            ids[key]: text
            for key, text in zip(found["ids"], found["documents"], strict=True)
        }

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        _reachable(
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
        _reachable(lambda: self._collection.delete(where={"subject": subject}))


def _id(subject: str, position: int) -> str:
    # JSON keeps any two pairs apart, whatever characters a subject has.
    return json.dumps([subject, position])


def _client(directory: Path) -> Any:
    with _clients_lock:
        if directory not in _clients:
            _clients[directory] = chromadb.PersistentClient(
                str(directory), settings=Settings(anonymized_telemetry=False)
            )
        return _clients[directory]


def _within_time(open_: Callable[[], Answer]) -> Answer:
    # A daemon-like worker: a client that hangs on a lock must not hang its caller.
    worker = ThreadPoolExecutor(max_workers=1)
    try:
        return _reachable(worker.submit(open_).result, _OPENING_SECONDS)
    finally:
        worker.shutdown(wait=False, cancel_futures=True)


def _reachable(call: Callable[..., Answer], *arguments: float) -> Answer:
    """Return the call's answer, or raise one constant error, without a chain."""
    try:
        return call(*arguments)
    except Exception:  # noqa: BLE001 - Chroma's messages may quote a document
        pass
    raise MemoryUnavailableError(
        "the memory backend cannot be reached, so nothing is read, charged or "
        "released. Check that its directory exists, is writable and is not held by "
        "another process."
    )
