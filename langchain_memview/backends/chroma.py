"""Raw memories in a Chroma directory on this machine, read by id and never by search.

Every content is one document under an id made of subject and position. No embedding
function is set, so Chroma downloads no model. With a scorer that prepares memories each
document carries what was prepared as its vector, a zero vector as long as it waits;
without one all carry the same one-dimensional vector. Nothing ever queries them.

A collection of your own, embedded by whatever function, is a backend too: say which
document is at which position of a subject (`id_of`), and over which positions.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from langchain_memview.backends.chroma_collection import ChromaCollection
from langchain_memview.backends.chroma_erasure import erase
from langchain_memview.core.backend import PreparedBackend
from langchain_memview.core.preparation import Numbers, Preparation
from langchain_memview.errors import WiringError

_PAGE = 1000
PREPARED_BY = "memview:prepared_by"
_AT = "memview:at"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


class ChromaBackend(PreparedBackend):
    """Keeps raw memories in a Chroma collection on disk.

    Args:
        directory: Where Chroma keeps its files; made when it does not exist.
        collection: Name of the collection. One collection serves one layout.
        id_of: Subject and position to the id of a document, for a collection that
            another program wrote; no two may have the same.
        positions: Every position that `id_of` is meant for; with it only.

    Raises:
        MemoryUnavailableError: The directory cannot be opened in time.
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
        self._collection = ChromaCollection(Path(directory).resolve(), collection)
        self._size = self._collection.read(_dimension)

    @override
    def __repr__(self) -> str:
        return f"ChromaBackend({str(self._collection.directory)!r})"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        ids = {self._id(subject, position): position for position in positions}
        if not ids:
            return {}
        found = self._collection.read(
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
    def written(self, subject: str, positions: Set[int]) -> Sequence[int]:
        ids = {self._id(subject, position): position for position in positions}
        if not ids:
            return ()
        found = self._collection.read(
            lambda collection: collection.get(ids=list(ids), include=["metadatas"])
        )
        places = zip(found["ids"], found["metadatas"], strict=True)
        # Written before there was a time, or by another program: then it is oldest.
        ages = {ids[key]: (place or {}).get(_AT, 0) for key, place in places}
        return sorted(ages, key=lambda position: (ages[position], position))

    @override
    def forget(self, subject: str, positions: Set[int] | None = None) -> Set[int]:
        named = self._positions if positions is None else positions
        ids = {self._id(subject, position): position for position in named}

        def held(collection: Any) -> dict[str, int]:
            """Return id and position of what there is to erase."""
            found = collection.get(ids=list(ids), include=[])["ids"] if ids else ()
            places = {key: ids[key] for key in found}
            if positions is None:
                written = collection.get(
                    where={"subject": subject}, include=["metadatas"]
                )
                for key, place in zip(
                    written["ids"], written["metadatas"], strict=True
                ):
                    places.setdefault(key, place.get("position", 0))
            return places

        gone = erase(self._collection, held)
        return frozenset(gone.values())

    @override
    def prepared_by(self) -> Preparation | None:
        metadata = self._collection.read(lambda collection: collection.metadata)
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
            self._collection.write(
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
        self._collection.write(
            lambda collection: collection.upsert(
                ids=[self._id(subject, position)],
                documents=[text],
                embeddings=[vector],
                metadatas=[
                    {"subject": subject, "position": position, _AT: time.time_ns()}
                ],
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

        self._collection.write(put)

    @override
    def read_prepared(self, subject: str, positions: Set[int]) -> Mapping[int, Numbers]:
        ids = {self._id(subject, position): position for position in positions}
        if not ids:
            return {}
        found = self._collection.read(
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
            found = self._collection.read(
                partial(_page, offset=start, include=include),
            )
            if not found["ids"]:
                return
            yield found
            start += len(found["ids"])


def _id(subject: str, position: int) -> str:
    # JSON keeps any two pairs apart, whatever characters a subject has.
    return json.dumps([subject, position], ensure_ascii=False)


def _dimension(collection: Any) -> int:
    """Return how many numbers the vectors have; 0 if there has never been one."""
    first = collection.get(limit=1, include=["embeddings"])["embeddings"]
    # An emptied collection has none and still takes no others.
    return len(first[0]) if len(first) else collection.get_model().dimension or 0


def _page(collection: Any, offset: int, include: list[str]) -> Any:
    return collection.get(limit=_PAGE, offset=offset, include=include)
