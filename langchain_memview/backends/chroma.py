"""Raw memories in a Chroma directory on this machine, read by id and never by search.

Every content is one document under an id made of subject and position. No embedding
function is set, so Chroma downloads no model. With a scorer that prepares memories each
document carries what was prepared as its vector, a zero vector as long as it waits;
without one all carry the same one-dimensional vector. Nothing ever queries them.

A collection of your own, embedded by whatever function, is a backend too: say which
document is at which position of a subject (`id_of`), and over which positions.

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
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import chromadb
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from typing_extensions import override

from langchain_memview.backends.file_locks import wait_for_other_processes
from langchain_memview.core.backend import PreparedBackend
from langchain_memview.core.preparation import Numbers, Preparation
from langchain_memview.errors import MemoryUnavailableError, WiringError

_SECONDS = 8.0
_WAIT_SECONDS = 7.0
_PAGE = 1000
PREPARED_BY = "memview:prepared_by"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")

_collections: dict[tuple[Path, str], Any] = {}
# One lock per directory: an opening that hangs holds up no other directory.
_opening: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)

Answer = TypeVar("Answer")


class ChromaBackend(PreparedBackend):
    """Keeps raw memories in a Chroma collection on disk.

    Args:
        directory: Where Chroma keeps its files; made when it does not exist.
        collection: Name of the collection. One collection serves one layout.
        id_of: Subject and position to the id of a document, for a collection that
            another program wrote; no two may have the same.
        positions: Every position that `id_of` is meant for; with it only.

    Raises:
        MemoryUnavailableError: The directory cannot be opened within 10 seconds.
        WiringError: Chroma does not allow the name of the collection, or only one of
            `id_of` and `positions` is given.
    """

    def __init__(
        self,
        directory: str | Path,
        collection: str = "memview",
        *,
        id_of: Callable[[str, int], str] | None = None,
        positions: Collection[int] = (),
    ) -> None:
        self._directory = Path(directory).resolve()
        self._name = collection
        self._id = id_of or _id
        self._positions = tuple(positions)
        if (id_of is None) != (not self._positions):
            raise WiringError(
                "a collection of your own needs both id_of= and positions=, so that "
                "whatever a subject has can be found, and forgotten."
            )
        if not _NAME.fullmatch(collection):
            raise WiringError(
                f"Chroma does not allow {collection!r} as the name of a collection. Use 3 "
                "to 512 letters, digits, dots, dashes or underscores, with a letter or "
                "digit at both ends."
            )
        self._size = self._call(_dimension)

    @override
    def __repr__(self) -> str:
        return f"ChromaBackend({str(self._directory)!r})"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        ids = {self._id(subject, position): position for position in positions}
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
        self.write_prepared(subject, position, text, None)

    @override
    def written(self, subject: str, positions: Set[int]) -> Set[int]:
        return frozenset(self.read(subject, positions))

    @override
    def forget(self, subject: str) -> None:
        ids = [self._id(subject, position) for position in self._positions]

        def delete(collection: Any) -> None:
            collection.delete(where={"subject": subject})
            if ids:
                collection.delete(ids=ids)

        self._write_call(delete)

    @override
    def prepared_by(self) -> Preparation | None:
        metadata = self._call(lambda collection: collection.metadata)
        stored = (metadata or {}).get(PREPARED_BY)
        return None if stored is None else Preparation(**json.loads(stored))

    @override
    def prepare_for(self, preparation: Preparation) -> None:
        if self._size not in (0, preparation.size):
            raise WiringError(
                f"the collection holds vectors of {self._size} numbers and the scorer's "
                f"model gives {preparation.size}; move the memories: memview reembed "
                "DIRECTORY --model NAME."
            )
        # A collection of somebody else keeps what it says of itself.
        if not self._positions and self.prepared_by() is None:
            stored = json.dumps(vars(preparation))
            self._write_call(
                lambda collection: collection.modify(
                    # The distance is in the configuration, and Chroma refuses it here.
                    metadata={
                        **{
                            key: value
                            for key, value in (collection.metadata or {}).items()
                            if key != "hnsw:space"
                        },
                        PREPARED_BY: stored,
                    }
                )
            )
        self._size = preparation.size

    @override
    def write_prepared(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        vector = [0.0] * (self._size or 1) if numbers is None else list(numbers)
        self._write_call(
            lambda collection: collection.upsert(
                ids=[self._id(subject, position)],
                documents=[text],
                embeddings=[vector],
                metadatas=[{"subject": subject, "position": position}],
            )
        )
        self._size = self._size or len(vector)

    @override
    def attach(self, subject: str, position: int, text: str, numbers: Numbers) -> None:
        key = self._id(subject, position)

        def put(collection: Any) -> None:
            def is_the_same() -> bool:
                found = collection.get(ids=[key], include=["documents"])
                return bool(found["documents"] == [text])

            if is_the_same():
                collection.update(ids=[key], embeddings=[list(numbers)])
                # Chroma has no transaction over two calls. If another text was written
                # meanwhile, its numbers have to be made once more.
                if not is_the_same():
                    collection.update(ids=[key], embeddings=[[0.0] * len(numbers)])

        self._write_call(put)

    @override
    def read_prepared(self, subject: str, positions: Set[int]) -> Mapping[int, Numbers]:
        ids = {self._id(subject, position): position for position in positions}
        if not ids:
            return {}
        found = self._call(
            lambda collection: collection.get(ids=list(ids), include=["embeddings"])
        )
        return {
            ids[key]: vector
            for key, vector in zip(found["ids"], found["embeddings"], strict=True)
            if vector.any()
        }

    @override
    def unprepared(self) -> Iterator[tuple[str, int, str]]:
        for found in self._pages(["documents", "embeddings", "metadatas"]):
            yield from (
                (place["subject"], place["position"], text)
                for text, vector, place in zip(
                    found["documents"],
                    found["embeddings"],
                    found["metadatas"],
                    strict=True,
                )
                if text and place and not vector.any()
            )

    @override
    def sample(self) -> tuple[str, Numbers] | None:
        for found in self._pages(["documents", "embeddings"]):
            for text, vector in zip(
                found["documents"], found["embeddings"], strict=True
            ):
                if text and vector.any():
                    return text, vector
        return None

    def _pages(self, include: list[str]) -> Iterator[Any]:
        """Yield the whole collection, a page at a time."""
        start = 0
        while True:
            found = self._call(
                partial(_page, offset=start, include=include),
            )
            if not found["ids"]:
                return
            yield found
            start += len(found["ids"])

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


def _dimension(collection: Any) -> int:
    """Return how many numbers the vectors have; 0 for an empty collection."""
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    return len(first[0]) if len(first) else 0


def _page(collection: Any, offset: int, include: list[str]) -> Any:
    return collection.get(limit=_PAGE, offset=offset, include=include)


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
