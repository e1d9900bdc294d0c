"""What `latency` asks: MemView, and what people use for memories today, each set up once.

A group stores the memories of a shape and yields names and searches. A search takes the
number of a round, asks for one person or user, and returns nothing that is looked at.
The alternatives return the ten closest memories; `Chroma, by id` fetches what MemView
reads, without a search.
"""

import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.documents import Document
from langgraph.store.base import BaseStore, IndexConfig, PutOp

from langchain_memview.backends.chroma import ChromaBackend
from langchain_memview.backends.in_memory import InMemoryBackend
from langchain_memview.bench.latency_texts import DIMENSION, HashedTexts, Shape
from langchain_memview.bench.overhead import POLICY, QUERY
from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.scoring import Scorer
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.memview import MemView
from langchain_memview.scorers.default import default_scorer
from langchain_memview.scorers.embedding import EmbeddingScorer

Search = Callable[[int], object]
Named = Iterator[tuple[str, Search]]

CLOSEST = 10
_AT_ONCE = 1000
_STRIDE = 7919  # a prime, so that the rounds go through the people in no order

Item = TypeVar("Item")


@dataclass(frozen=True)
class Setting:
    """Where a group stores its memories.

    Attributes:
        shape: The memories.
        directory: For what is on disk.
        stack: What closes it again.
    """

    shape: Shape
    directory: Path
    stack: ExitStack


Group = Callable[[Setting], Named]


def memview_in_memory(setting: Setting) -> Named:
    """Yield MemView with memories and ledger in this process."""
    shape = setting.shape
    scorer = _embedding_scorer()
    backend = InMemoryBackend()
    for person, position, text in shape.places():
        backend.write_prepared(person, position, text, scorer.prepare(text))
    yield "MemView, embeddings", _turns(shape, backend, scorer, InMemoryLedger())
    yield (
        "MemView, cues",
        _turns(shape, backend, default_scorer(POLICY), InMemoryLedger()),
    )


def chroma(setting: Setting) -> Named:
    """Yield Chroma's own search and fetch, and MemView over the same collection."""
    import chromadb
    from chromadb.api.types import Where
    from chromadb.config import Settings

    shape, directory = setting.shape, setting.directory
    client = chromadb.PersistentClient(
        str(directory), settings=Settings(anonymized_telemetry=False)
    )
    collection = client.create_collection("memories", embedding_function=None)
    embeddings = HashedTexts()
    users = (user for user, _ in shape.texts())
    for some in _chunks(zip(users, shape.places(), strict=True)):
        texts = [text for _, (_, _, text) in some]
        vectors: list[Sequence[float]] = [*embeddings.embed_documents(texts)]
        collection.add(
            ids=[_id(person, position) for _, (person, position, _) in some],
            documents=texts,
            embeddings=vectors,
            metadatas=[{"user": user} for user, _ in some],
        )
    vector: list[Sequence[float]] = [embeddings.embed_query(QUERY)]

    def query(number: int) -> object:
        where: Where | None = (
            {"user": _user(shape, number)} if shape.users > 1 else None
        )
        return collection.query(query_embeddings=vector, n_results=CLOSEST, where=where)

    def by_id(number: int) -> object:
        person = _person(shape, number)
        return collection.get([_id(person, p + 1) for p in range(shape.positions)])

    yield "Chroma, query", query
    yield "Chroma, by id", by_id
    backend = ChromaBackend(
        directory, "memories", id_of=_id, positions=range(1, shape.positions + 1)
    )
    ledger = SqliteLedger(directory / "ledger.sqlite")
    ledger.setup()
    setting.stack.callback(ledger.close)
    yield (
        "MemView, embeddings in Chroma",
        _turns(shape, backend, _embedding_scorer(), InMemoryLedger()),
    )
    yield (
        "MemView, the same, ledger in SQLite",
        _turns(shape, backend, _embedding_scorer(), ledger),
    )


def in_memory_store(setting: Setting) -> Named:
    """Yield the vector search of LangGraph's store, and LangMem's tool on it."""
    from langgraph.store.memory import InMemoryStore

    with warnings.catch_warnings():
        # It imports names that LangGraph has moved.
        warnings.simplefilter("ignore", DeprecationWarning)
        from langmem import create_search_memory_tool

    shape = setting.shape
    store = InMemoryStore(index=_index())
    _put(store, shape)
    yield "InMemoryStore, vector search", _searches(store, shape)
    tool = create_search_memory_tool(("memories", "{langgraph_user_id}"), store=store)

    def ask(number: int) -> object:
        user = f"u{_user(shape, number)}"
        return tool.invoke(
            {"query": QUERY, "limit": CLOSEST},
            {"configurable": {"langgraph_user_id": user}},
        )

    yield "LangMem, search tool", ask


def sqlite_store(setting: Setting) -> Named:
    """Yield the search of LangGraph's SQLite store, by vectors where this Python can."""
    from langgraph.store.sqlite import SqliteStore

    # Vectors are an extension of SQLite, and not every Python can load one.
    vectors = hasattr(sqlite3.Connection, "enable_load_extension")
    store = setting.stack.enter_context(
        SqliteStore.from_conn_string(
            str(setting.directory / "store.sqlite"), index=_index() if vectors else None
        )
    )
    store.setup()
    _put(store, setting.shape)
    name = "SqliteStore, vector search" if vectors else "SqliteStore, no vectors"
    yield name, _searches(store, setting.shape)


def classic(setting: Setting) -> Named:
    """Yield LangChain's classic vector-store memory."""
    from langchain_classic.memory import VectorStoreRetrieverMemory
    from langchain_core.vectorstores import InMemoryVectorStore

    shape = setting.shape
    vectors = InMemoryVectorStore(HashedTexts())
    for some in _chunks(shape.texts()):
        vectors.add_documents([Document(t, metadata={"user": u}) for u, t in some])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        memories = [
            VectorStoreRetrieverMemory(
                retriever=vectors.as_retriever(search_kwargs=_of(shape, user))
            )
            for user in range(shape.users)
        ]
    yield (
        "classic vector-store memory",
        lambda number: memories[_user(shape, number)].load_memory_variables(
            {"input": QUERY}
        ),
    )


GROUPS: tuple[Group, ...] = (
    memview_in_memory,
    chroma,
    in_memory_store,
    sqlite_store,
    classic,
)


def _turns(
    shape: Shape, backend: Backend, scorer: Scorer, ledger: LedgerStore
) -> Search:
    """Return fresh, admitted turns, person by person."""
    memview = MemView(POLICY, backend, ledger=ledger, scorer=scorer)
    numbers = count()
    return lambda number: memview.turn(
        QUERY,
        subject=_person(shape, number),
        audience="bench",
        operation=f"t{next(numbers)}",
    )


def _embedding_scorer() -> EmbeddingScorer:
    calibration = EmbeddingScore(HashedTexts.model_name, midpoint=0, slope=5)
    return EmbeddingScorer.of(POLICY, HashedTexts(), calibration=calibration)


def _searches(store: BaseStore, shape: Shape) -> Search:
    return lambda number: store.search(
        ("memories", f"u{_user(shape, number)}"), query=QUERY, limit=CLOSEST
    )


def _put(store: BaseStore, shape: Shape) -> None:
    for some in _chunks(shape.texts()):
        store.batch(
            PutOp(("memories", f"u{user}"), text.rpartition(" ")[2], {"text": text})
            for user, text in some
        )


def _index() -> IndexConfig:
    return {"dims": DIMENSION, "embed": HashedTexts(), "fields": ["text"]}


def _of(shape: Shape, user: int) -> dict[str, Any]:
    def own(document: Document) -> bool:
        return bool(document.metadata["user"] == user)

    return {"k": CLOSEST, **({"filter": own} if shape.users > 1 else {})}


def _user(shape: Shape, number: int) -> int:
    return number * _STRIDE % shape.users


def _person(shape: Shape, number: int) -> str:
    return f"u{number * _STRIDE % shape.people}"


def _id(person: str, position: int) -> str:
    return f"{person}-{position}"


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    return iter(lambda: list(islice(iterator, _AT_ONCE)), [])
