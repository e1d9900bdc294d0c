"""Memories in LangGraph's own stores: in memory, in SQLite and in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from test_erasure_on_disk import found

import langchain_memview as mv
from langchain_memview.backends import LangGraphStoreBackend
from langchain_memview.core.backend import Backend
from langchain_memview.errors import MemoryUnavailableError, WiringError
from langchain_memview.testing.backends import PreparedBackendConformance

TEXT = "canary-9b2e takes metformin"


class TestInMemoryStore(PreparedBackendConformance):
    @pytest.fixture
    def backend(self) -> Backend:
        return LangGraphStoreBackend(InMemoryStore())


class TestSqliteStore(PreparedBackendConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
            yield LangGraphStoreBackend(store)


@pytest.mark.postgres
class TestPostgresStore(PreparedBackendConformance):
    @pytest.fixture
    def backend(self, address: str) -> Iterator[Backend]:
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(address) as store:
            store.setup()
            yield LangGraphStoreBackend(store)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        min_size=2,
        unique=True,
    )
)
def test_no_two_subjects_share_a_namespace(subjects: list[str]) -> None:
    backend = LangGraphStoreBackend(InMemoryStore())
    for subject in subjects:
        backend.write(subject, 1, f"of {subject}")
    for subject in subjects:
        assert backend.read(subject, {1}) == {1: f"of {subject}"}
    backend.forget(subjects[0])
    assert not backend.read(subjects[0], {1})
    for subject in subjects[1:]:
        assert backend.read(subject, {1}) == {1: f"of {subject}"}


def test_the_store_embeds_no_memory() -> None:
    seen: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[1.0] for _ in texts]

    store = InMemoryStore(index={"embed": embed, "dims": 1})
    LangGraphStoreBackend(store).write("ana", 1, TEXT)
    assert not seen


def test_what_is_forgotten_is_in_no_byte_of_the_store(tmp_path: Path) -> None:
    with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        backend = LangGraphStoreBackend(store)
        backend.write("ana", 1, TEXT)
        backend.write("ana", 700, TEXT)
        backend.write("bo", 1, "Bo likes jazz.")
        assert found(tmp_path, [TEXT])
        assert backend.forget("ana") == {1, 700}
        assert found(tmp_path, [TEXT, "Bo likes jazz."]) == {"Bo likes jazz."}


def test_more_than_a_page_is_forgotten(tmp_path: Path) -> None:
    with SqliteStore.from_conn_string(str(tmp_path / "store.sqlite")) as store:
        backend = LangGraphStoreBackend(store)
        for position in range(1200):
            backend.write("ana", position, TEXT)
        assert len(backend.forget("ana")) == 1200
        assert not backend.read("ana", set(range(1200)))


class Broken(InMemoryStore):
    def batch(self, ops: object) -> list[object]:
        raise ConnectionError(TEXT)


def test_a_store_that_is_down_says_nothing_of_what_it_holds() -> None:
    with pytest.raises(MemoryUnavailableError) as caught:
        LangGraphStoreBackend(Broken()).read("ana", {1})
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (({},), "is no LangGraph store"),
        ((InMemoryStore(), ()), "a prefix of their own"),
    ],
)
def test_what_cannot_hold_memories_is_refused(arguments: tuple, match: str) -> None:
    with pytest.raises(WiringError, match=match):
        LangGraphStoreBackend(*arguments)


async def test_an_asynchronous_store_serves_asynchronous_turns(tmp_path: Path) -> None:
    from langgraph.store.sqlite.aio import AsyncSqliteStore

    policy = mv.Policy(
        "meals",
        {"debt": mv.ProtectedAttribute([1], cap=2)},
        [
            mv.Slot(
                "food",
                when=["dinner"],
                capacity=1,
                views={"generic": "Any.", "cheap": mv.View("Cheap.", ["owes"])},
            )
        ],
        mv.OnlineBudget(3),
    )
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "s.sqlite")) as store:
        store_: BaseStore = store
        memview = mv.MemView(
            policy, LangGraphStoreBackend(store_), ledger=mv.InMemoryLedger()
        )
        release = await memview.aturn(
            "dinner", subject="ana", audience="app", operation="t1"
        )
        assert release.outcomes == {"food": "selected"}
