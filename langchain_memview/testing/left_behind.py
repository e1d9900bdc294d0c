"""What a graph leaves behind: checkpoints, pending writes, rows, cache entries, pickles.

Whoever reads the database, the cache or a task queue later sees these, long after the
run. What is found is recorded by channel, as text that a test can search.
"""

import pickle  # noqa: TID251 - nothing is unpickled; others may pickle what they hold
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph

from langchain_memview.testing.listening import Channels

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def add_saved(channels: Channels, saver: Any) -> None:
    """Record all that a saver holds: checkpoints, pending writes, a database's rows.

    Args:
        channels: Where it is recorded.
        saver: A checkpointer.
    """
    for saved in saver.list(None):
        _add_checkpoint(channels, "saver", saved)
    connection = getattr(saver, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        _add_database(channels, "saver rows", connection)


async def aadd_saved(channels: Channels, saver: Any) -> None:
    """Record what `add_saved` does, for an asynchronous saver.

    Args:
        channels: Where it is recorded.
        saver: A checkpointer.
    """
    async for saved in saver.alist(None):
        _add_checkpoint(channels, "async saver", saved)
    fetch = getattr(getattr(saver, "conn", None), "execute_fetchall", None)
    if fetch is not None:  # that of aiosqlite
        for (table,) in await fetch(_TABLES):
            _add_leaves(channels, "async saver rows", await fetch(_all_of(table)))


def add_cached(channels: Channels, cache: object) -> None:
    """Record every entry of a node cache, expired ones too, with its key.

    Args:
        channels: Where it is recorded.
        cache: LangGraph's `InMemoryCache` or `SqliteCache`; of another one, its
            attributes.
    """
    for held in vars(cache).values():
        if isinstance(held, sqlite3.Connection):
            _add_database(channels, "node cache", held)
        else:
            _add_leaves(channels, "node cache", held)


def add_parts(
    channels: Channels, graph: CompiledStateGraph[Any, Any, Any, Any]
) -> None:
    """Record how a graph, its nodes and its middlewares look and how they are pickled.

    Args:
        channels: Where it is recorded.
        graph: A compiled graph.
    """
    for part in _parts(graph):
        channels.add("representations", repr(part))
        channels.add("representations", str(part))
        add_pickle(channels, part)


def add_pickle(channels: Channels, value: object) -> None:
    """Record the bytes of a pickled value, or why it cannot be pickled.

    Args:
        channels: Where it is recorded.
        value: Anything that a task queue or a cache might pickle.
    """
    try:
        channels.add("pickles", pickle.dumps(value))
    except Exception as error:  # noqa: BLE001 - most parts of a graph refuse
        channels.add("pickles", error)
        channels.keep("pickles", error)


def _parts(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Iterator[object]:
    yield from (graph, graph.get_graph())
    for node in graph.nodes.values():
        yield from (node, node.bound)
        # A method is pickled and shown with its owner, such as a middleware.
        yield getattr(node.bound, "func", None)
        yield getattr(node.bound, "afunc", None)


def _add_checkpoint(channels: Channels, name: str, saved: CheckpointTuple) -> None:
    channels.add(name, saved)
    for _task, channel, value in saved.pending_writes or ():
        error = "pending errors" if channel == "__error__" else "pending writes"
        channels.add(name.replace("saver", error), value)


def _add_database(
    channels: Channels, name: str, connection: sqlite3.Connection
) -> None:
    for (table,) in connection.execute(_TABLES).fetchall():
        _add_leaves(channels, name, connection.execute(_all_of(table)))


def _all_of(table: str) -> str:
    return f'SELECT * FROM "{table}"'  # noqa: S608 - the database's own name


def _add_leaves(channels: Channels, name: str, value: object) -> None:
    """Record what containers hold piece by piece, so that bytes stay readable."""
    if isinstance(value, Mapping):
        value = value.items()
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        channels.add(name, value)
        return
    for part in value:
        _add_leaves(channels, name, part)
