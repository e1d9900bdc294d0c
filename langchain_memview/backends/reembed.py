"""Moves the memories of a Chroma collection to the vectors of another model.

Documents, ids and metadata are copied with new vectors into a collection beside the old
one, a page at a time. When both hold the same, the new one takes the old one's name and
the old one is deleted. An interrupted move goes on where it was; a memory that the model
does not embed is copied and waits.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from langchain_memview.backends.chroma import PREPARED_BY
from langchain_memview.core.preparation import Numbers, Preparation, sound
from langchain_memview.errors import MemoryUnavailableError, WiringError

_PAGE = 64
_PASSES = 5
_COMPLETE = "memview:complete"
_SUFFIX = "-reembedding"

Embed = Callable[[Sequence[str]], Sequence[Numbers]]
"""Returns the numbers of each text; may raise."""


@dataclass(frozen=True)
class Step:
    """How far a move is; counts only.

    Attributes:
        done: Memories that have been looked at.
        total: Memories in the collection.
        waiting: Memories that the model did not embed so far.
    """

    done: int
    total: int
    waiting: int


def reembed(
    directory: Path,
    collection: str,
    preparation: Preparation,
    embed: Embed,
    into: str = "",
) -> Iterator[Step]:
    """Yield the steps of moving a collection to another model.

    Nothing else may write to the collection meanwhile; agents that use it are to be
    started again afterwards, with the new model.

    Args:
        directory: Where Chroma keeps its files.
        collection: Name of the collection.
        preparation: The new model.
        embed: Gives its numbers for texts. What it is given is private.
        into: Name of a new collection instead; the old one then stays.

    Raises:
        MemoryUnavailableError: There is no such collection, or it cannot be read.
        WiringError: `into` exists and belongs to another model.
    """
    try:
        yield from _moved(directory, collection, preparation, embed, into)
        return
    except (MemoryUnavailableError, WiringError):
        raise
    except Exception:  # noqa: BLE001, S110 - its text may quote a memory
        pass
    raise MemoryUnavailableError(
        "the collection cannot be moved: Chroma did not answer. What is there already is "
        "kept; run the same command again."
    )


def _moved(
    directory: Path,
    collection: str,
    preparation: Preparation,
    embed: Embed,
    into: str,
) -> Iterator[Step]:
    client = _client(directory)
    names = {held.name for held in client.list_collections()}
    aside = into or collection + _SUFFIX
    if collection not in names:
        if into or not _is_complete(client, aside, names):
            raise MemoryUnavailableError(
                f"there is no collection {collection!r} in the directory; it has "
                f"{', '.join(sorted(names)) or 'none'}."
            )
        _opened(client, aside).modify(name=collection)
        return
    old = _opened(client, collection)
    new = _target(client, aside, names, preparation, replaceable=not into)
    yield from _copied(old, new, preparation, embed)
    if not into:
        new.modify(metadata={**_described(preparation), _COMPLETE: True})
        client.delete_collection(collection)
        new.modify(name=collection)


def _client(directory: Path) -> Any:
    if not (directory / "chroma.sqlite3").is_file():
        raise MemoryUnavailableError("the directory holds no Chroma database.")
    settings = Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(str(directory.resolve()), settings=settings)


def _opened(client: Any, name: str) -> Any:
    return client.get_collection(name, embedding_function=None)


def _is_complete(client: Any, name: str, names: set[str]) -> bool:
    return name in names and bool((_opened(client, name).metadata or {}).get(_COMPLETE))


def _described(preparation: Preparation) -> dict[str, Any]:
    return {PREPARED_BY: json.dumps(vars(preparation))}


def _target(
    client: Any,
    name: str,
    names: set[str],
    preparation: Preparation,
    *,
    replaceable: bool,
) -> Any:
    """Return the collection to copy into: the one of an interrupted move, or a new one."""
    if name in names:
        held = (_opened(client, name).metadata or {}).get(PREPARED_BY)
        if held and not Preparation(**json.loads(held)).differs(preparation):
            return _opened(client, name)
        if not replaceable:
            raise WiringError(
                f"the collection {name!r} exists and was not written for this model; "
                "choose another name."
            )
        client.delete_collection(name)
    return client.create_collection(
        name, embedding_function=None, metadata=_described(preparation)
    )


def _copied(
    old: Any, new: Any, preparation: Preparation, embed: Embed
) -> Iterator[Step]:
    """Copy until a whole pass finds nothing to do any more, but for what waits."""
    for _ in range(_PASSES):
        total, done, waiting, changed = old.count(), 0, 0, 0
        while done < total:
            page = old.get(limit=_PAGE, offset=done, include=["documents", "metadatas"])
            if not page["ids"]:
                break
            late, fresh = _copied_page(page, new, preparation, embed)
            done += len(page["ids"])
            waiting += late
            changed += fresh
            yield Step(done, total, waiting)
        if not changed and new.count() == old.count():
            return
    raise MemoryUnavailableError(
        "the collection is written to while it is moved; stop what writes to it, then "
        "run the same command again."
    )


def _copied_page(
    page: Any, new: Any, preparation: Preparation, embed: Embed
) -> tuple[int, int]:
    """Return how many memories of the page wait, and how many were written anew."""
    there = new.get(ids=page["ids"], include=["documents", "embeddings"])
    known = {
        key: (text, bool(vector.any()))
        for key, text, vector in zip(
            there["ids"], there["documents"], there["embeddings"], strict=True
        )
    }
    rows = [
        (key, text or "", place)
        for key, text, place in zip(
            page["ids"], page["documents"], page["metadatas"], strict=True
        )
        if known.get(key) not in ((text or "", True), ("", False))
    ]
    if not rows:
        return 0, 0
    texts = [text for _, text, _ in rows]
    vectors = _vectors(texts, preparation.size, embed)
    new.upsert(
        ids=[key for key, _, _ in rows],
        documents=texts,
        embeddings=vectors,
        metadatas=[place for _, _, place in rows],
    )
    waits = [bool(text) and not any(v) for text, v in zip(texts, vectors, strict=True)]
    same = [known.get(key) == (text, False) for key, text, _ in rows]
    return sum(waits), sum(not (w and s) for w, s in zip(waits, same, strict=True))


def _vectors(texts: Sequence[str], size: int, embed: Embed) -> list[list[float]]:
    """Return the numbers of every text, zeros where there are none."""
    some = [text for text in texts if text]
    with suppress(Exception):
        found = dict(zip(some, embed(some), strict=True))
        if all(sound(numbers, size) for numbers in found.values()):
            return [list(found.get(text, [0.0] * size)) for text in texts]
    # One of them is the reason; the others should not wait for it.
    return [_alone(text, size, embed) for text in texts]


def _alone(text: str, size: int, embed: Embed) -> list[float]:
    with suppress(Exception):
        (numbers,) = embed([text])
        if text and sound(numbers, size):
            return list(numbers)
    return [0.0] * size
