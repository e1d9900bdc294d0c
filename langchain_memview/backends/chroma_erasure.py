"""Erases documents of a Chroma collection, down to the bytes of its files.

A deleted document stays in three places: in the queue of writes until Chroma has synced
its index, which it does every thousand writes; in the index itself, where a deleted
vector is only marked; and in free pages of the database. So the vectors are overwritten
with noise first, Chroma is told to sync after every second write while that is done,
and the database is rewritten at the end.

A client that another process has open keeps what it has in memory.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from langchain_memview.backends.chroma_collection import ChromaCollection

_PAGE = 500
_AT_ONCE = {"sync_threshold": 2, "batch_size": 2}
_USUAL = {"sync_threshold": 1000, "batch_size": 100}
_MARK = "memview:erasing"
_LOCK_SECONDS = 30.0

_databases: dict[Path, tuple[int, sqlite3.Connection]] = {}


def erase(
    collection: ChromaCollection, held: Callable[[Any], Mapping[str, int]]
) -> Mapping[str, int]:
    """Return what was erased, as `held` gave it: id to position.

    It may be repeated, also after an interruption: then there is less to erase, and the
    files are cleaned all the same.

    Args:
        collection: Where.
        held: Given Chroma's collection, what there is to erase.

    Raises:
        MemoryUnavailableError: Chroma or its database did not answer; some may be left.
    """
    return collection.long_write(lambda open_: _erased(open_, held))


def _erased(
    collection: ChromaCollection, held: Callable[[Any], Mapping[str, int]]
) -> Mapping[str, int]:
    # One that is open has not heard of what was written since.
    before = collection.reopened()
    if before.get_model().dimension is None:
        return {}  # nothing has ever been written
    places = held(before)
    usual = _hnsw(before)
    before.modify(configuration={"hnsw": _AT_ONCE})
    # The index has read its configuration when it was opened.
    inside = collection.reopened()
    size = inside.get_model().dimension
    ids = list(places)
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        if size > 1:
            inside.update(ids=page, embeddings=_noise(len(page), size))
        inside.delete(ids=page)
    # Two more writes, after which everything before them has been synced.
    inside.upsert(ids=[_MARK], embeddings=_noise(1, size))
    inside.delete(ids=[_MARK])
    inside.modify(configuration={"hnsw": usual})
    collection.reopened()
    _rewrite(collection.directory / "chroma.sqlite3")
    return places


def _hnsw(collection: Any) -> Mapping[str, int]:
    found = (collection.configuration or {}).get("hnsw") or {}
    # What an interrupted erasure has left is not what the owner wants.
    if found.get("sync_threshold") in (None, _AT_ONCE["sync_threshold"]):
        return _USUAL
    return {name: found.get(name, usual) for name, usual in _USUAL.items()}


def _noise(count: int, size: int) -> Sequence[Sequence[float]]:
    # Any numbers will do that differ: an index of equal vectors is slow.
    raw = np.frombuffer(os.urandom(count * size), np.int8).reshape(count, size)
    numbers: Sequence[Sequence[float]] = raw.astype(np.float32).tolist()
    return numbers


def _rewrite(path: Path) -> None:
    """Rewrite the database without its free pages, and its index of words."""
    connection = _connection(path)
    connection.execute(
        "INSERT INTO embedding_fulltext_search(embedding_fulltext_search)"
        " VALUES ('optimize')"
    )
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _connection(path: Path) -> sqlite3.Connection:
    # Kept: to close it would drop the locks that Chroma's own SQLite has on the file.
    inode = path.stat().st_ino
    known = _databases.get(path)
    if known is None or known[0] != inode:
        connection = sqlite3.connect(
            path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        _databases[path] = known = (inode, connection)
    return known[1]
