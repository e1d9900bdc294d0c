"""Raw memories in a LangGraph store, read by namespace and key and never by search.

One item is one position: its namespace is the prefix and the subject, its key the
number of the position. The store's own index is left out (`index=False`), so that no
memory is sent to the store's embedding model; nothing expires.
"""

import json
import sqlite3
import threading
import time
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchOp
from typing_extensions import override

from langchain_memview.core.backend import PreparedBackend
from langchain_memview.core.preparation import Numbers, Preparation
from langchain_memview.errors import MemoryUnavailableError, WiringError

Answer = TypeVar("Answer")

_PREPARED = "memview:prepared"
_PAGE = 500


class LangGraphStoreBackend(PreparedBackend):
    """Keeps memories in a LangGraph `BaseStore`, which stays on the trusted side.

    Do not compile a graph with the same store: a node or tool could read it past
    MemView. `MemViewStore` is the store for graphs.

    Args:
        store: Any `BaseStore`. An asynchronous one is called from MemView's worker
            threads; turns of the synchronous kind cannot run on its event loop.
        prefix: First labels of every namespace; they belong to this backend alone.
    """

    def __init__(
        self, store: BaseStore, prefix: tuple[str, ...] = ("memview",)
    ) -> None:
        if not isinstance(store, BaseStore):
            raise WiringError(
                f"{type(store).__name__} is no LangGraph store. InMemoryStore() is one; "
                "SqliteStore and PostgresStore keep memories on disk."
            )
        if not prefix:
            raise WiringError(
                "the memories need a prefix of their own, such as ('memview',): without "
                "one, whatever else the store holds would be read as memories."
            )
        self._store = store
        self._prefix = tuple(prefix)
        self._writing = threading.Lock()

    @override
    def __repr__(self) -> str:
        return "LangGraphStoreBackend()"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        return {
            position: _text(value)
            for position, value in self._values(subject, positions).items()
        }

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        self.write_prepared(subject, position, text, None)

    @override
    def written(self, subject: str, positions: Set[int]) -> Sequence[int]:
        values = self._values(subject, positions)
        return sorted(values, key=lambda position: values[position]["at"])

    @override
    def forget(self, subject: str, positions: Set[int] | None = None) -> Set[int]:
        namespace = self._namespace(subject)
        if positions is None:
            keys = [item.key for item in self._items(namespace)]
            gone = {int(key) for key in keys}
        else:
            gone = set(self._values(subject, positions))
            keys = [str(position) for position in gone]
        # One at a time would be a transaction each; the store's rows are small.
        self._batch([PutOp(namespace, key, None) for key in keys])
        _answer(lambda: _rewrite(self._store))
        return gone

    @override
    def prepared_by(self) -> Preparation | None:
        (item,) = self._batch([GetOp(self._prefix, _PREPARED, refresh_ttl=False)])
        return None if item is None else _preparation(item.value)

    @override
    def prepare_for(self, preparation: Preparation) -> None:
        value = {
            "model": preparation.model,
            "size": preparation.size,
            "digest": preparation.digest,
            "probe": _packed(preparation.probe),
        }
        self._batch([PutOp(self._prefix, _PREPARED, value, index=False)])

    @override
    def write_prepared(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        with self._writing:
            self._put(subject, position, text, numbers, time.time_ns())

    @override
    def attach(self, subject: str, position: int, text: str, numbers: Numbers) -> None:
        with self._writing:
            value = self._values(subject, {position}).get(position)
            if value is not None and _text(value) == text:
                self._put(subject, position, text, numbers, value["at"])

    @override
    def read_prepared(self, subject: str, positions: Set[int]) -> Mapping[int, Numbers]:
        return {
            position: _unpacked(value["numbers"])
            for position, value in self._values(subject, positions).items()
            if value.get("numbers")
        }

    @override
    def unprepared(self) -> Iterable[tuple[str, int, str]]:
        return [
            (unquote(item.namespace[-1]), int(item.key), _text(item.value))
            for item in self._items(self._prefix)
            if _text(item.value) and not item.value.get("numbers")
        ]

    @override
    def sample(self) -> tuple[str, Numbers] | None:
        for item in self._items(self._prefix):
            if item.value.get("numbers"):
                return _text(item.value), _unpacked(item.value["numbers"])
        return None

    def _namespace(self, subject: str) -> tuple[str, ...]:
        # A label holds no point; a percent sign of the subject is escaped as well.
        return (*self._prefix, quote(subject, safe="").replace(".", "%2E"))

    def _put(
        self, subject: str, position: int, text: str, numbers: Numbers | None, at: int
    ) -> None:
        value = {
            # As JSON: PostgreSQL stores no NUL.
            "text": json.dumps(text, ensure_ascii=False),
            "numbers": None if numbers is None else _packed(numbers),
            "at": at,
        }
        put = PutOp(self._namespace(subject), str(position), value, index=False)
        self._batch([put])

    def _values(
        self, subject: str, positions: Set[int]
    ) -> Mapping[int, Mapping[str, Any]]:
        """Return the stored values of these positions; one request for all of them."""
        wanted = sorted(positions)
        namespace = self._namespace(subject)
        items = self._batch(
            [GetOp(namespace, str(p), refresh_ttl=False) for p in wanted]
        )
        found = zip(wanted, items, strict=True)
        return {p: item.value for p, item in found if item is not None}

    def _items(self, prefix: tuple[str, ...]) -> Iterator[Item]:
        """Yield every memory below the prefix, page by page."""
        depth = len(self._prefix) + 1
        for offset in range(0, 2**63, _PAGE):
            search = SearchOp(prefix, limit=_PAGE, offset=offset, refresh_ttl=False)
            (page,) = self._batch([search])
            yield from (item for item in page if len(item.namespace) == depth)
            if len(page) < _PAGE:
                return

    def _batch(self, operations: Sequence[Op]) -> list[Any]:
        if not operations:
            return []
        return _answer(lambda: self._store.batch(operations))


def _answer(call: Callable[[], Answer]) -> Answer:
    """Return the call's answer.

    Raises:
        MemoryUnavailableError: It failed; the text of its error may hold a memory.
    """
    with suppress(Exception):
        return call()
    raise MemoryUnavailableError("the store with the memories does not answer.")


def _rewrite(store: BaseStore) -> None:
    """Rewrite the file of a store on SQLite, whose free pages hold what was deleted."""
    connection = getattr(store, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        with store.lock:  # type: ignore[attr-defined] # that of a SqliteStore
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _text(value: Mapping[str, Any]) -> str:
    return str(json.loads(value["text"]))


def _packed(numbers: Numbers) -> str:
    return b64encode(array("f", numbers).tobytes()).decode()


def _unpacked(packed: str) -> Numbers:
    return array("f", b64decode(packed))


def _preparation(value: Mapping[str, Any]) -> Preparation:
    return Preparation(
        value["model"], value["size"], value["digest"], tuple(_unpacked(value["probe"]))
    )
