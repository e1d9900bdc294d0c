"""No memory text, score or probability in any channel of a graph.

That the helper would see them is shown in `test_canary_twins.py`.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache as LangChainCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tracers.context import collect_runs
from langgraph.cache.memory import InMemoryCache
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy

import langchain_memview as mv
from langchain_memview.backends import ChromaBackend, InMemoryBackend
from langchain_memview.core.mechanism import exponential_mechanism
from langchain_memview.core.policy import Policy
from langchain_memview.core.response import randomized_response
from langchain_memview.core.scoring import scores, sensitivity
from langchain_memview.scorers import (
    ChatModelScorer,
    CueScorer,
    EmbeddingScorer,
    LiveChatScorer,
)
from langchain_memview.testing import aassert_no_canary, assert_no_canary
from langchain_memview.testing.embeddings import WordEmbeddings
from langchain_memview.testing.ratings import StructuredChatModel

TEXT = "canary-7f3a owes nine thousand"
SCORE, OTHER_SCORE = 0.123456789, 0.876543219
QUESTION = {"messages": [("user", "Plan an affordable dinner.")]}
THREAD = {"configurable": {"thread_id": "t"}}
CONTEXT = {"user_id": "ana"}

POLICY = Policy(
    "meals",
    {"debt": mv.ProtectedAttribute([1], cap=2)},
    [
        mv.Slot(
            "food",
            when=["dinner"],
            views={"generic": "Any dish.", "cheap": mv.View("Cheap.", ["owes"])},
            capacity=1,
        )
    ],
    mv.OnlineBudget(100),
)


class Scorer(CueScorer):
    """Gives a private score that is easy to find again."""

    def support(self, slot: mv.Slot, contents: Any) -> Any:
        return [[SCORE, OTHER_SCORE]]


def private_numbers() -> list[str]:
    """Return what the scorer answers, the scores made of it, and the probabilities."""
    (slot,) = POLICY.slots
    u = scores(Scorer(), slot, "dinner", [TEXT])
    assert u == (Fraction(123, 1000), Fraction(877, 1000))
    mechanism = exponential_mechanism(POLICY.epsilon(slot), sensitivity(Scorer()))
    chances = mechanism.probabilities(u)
    exact = [str(number) for number in (*u, *chances)]
    return [
        *(str(SCORE), str(OTHER_SCORE)),
        *exact,
        *(repr(number) for number in u),
        *(str(float(chance)) for chance in chances),
        *(str(chance.numerator) for chance in chances),
    ]


CANARIES = (TEXT, "canary-7f3a", *private_numbers())


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "graph.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


def memview(
    backend: Any, ledger: Any, scorer: Any = None, policy: Policy = POLICY
) -> mv.MemView:
    made = mv.MemView(policy, backend, ledger=ledger, scorer=scorer)
    made.remember("ana", TEXT, position=1)
    return made


def agent(view: mv.MemView, saver: Any) -> Any:
    return create_agent(
        FakeListChatModel(responses=["Soup."]),
        middleware=[mv.MemViewMiddleware(view, audience="app")],
        checkpointer=saver,
    )


SYNC_CHANNELS = {
    *("pending writes", "pickles", "representations"),
    "callbacks",
    "console with set_debug",
    "events v3",
    "history",
    "output",
    "saver",
    "saver rows",
    "state",
    "stream values",
    "stream updates",
    "stream messages",
    "stream debug",
    "stream tasks",
    "stream checkpoints",
    "traces",
}


IN_EITHER = {
    *("callbacks", "console with set_debug", "pickles", "representations", "traces"),
}
ASYNC_CHANNELS = IN_EITHER.union(
    ["async events v2"], (f"async {name}" for name in SYNC_CHANNELS - IN_EITHER)
)


def metrics(view: mv.MemView) -> Any:
    """What an operator may count: overruns, amounts, recorded releases."""
    return {
        "metrics": lambda: (
            view.overruns,
            dict(view.balances("ana")),
            view.history("ana"),
        )
    }


def test_an_agent_shows_no_memory_and_no_score_in_any_channel(
    tmp_path: Path, saver: SqliteSaver
):
    view = memview(
        ChromaBackend(tmp_path / "chroma"), mv.ledger_from_checkpointer(saver), Scorer()
    )
    seen = assert_no_canary(
        agent(view, saver),
        QUESTION,
        THREAD,
        CANARIES,
        context=CONTEXT,
        more=metrics(view),
    )
    shown = {channel for channel, size in seen.items() if size}
    assert shown >= SYNC_CHANNELS | {"metrics"}
    assert len(view.history("ana")) == 9  # every run drew and was recorded


@pytest.mark.parametrize("opened", [False, True])
def test_an_agent_with_standing_releases_shows_nothing_either(
    saver: SqliteSaver, *, opened: bool
):
    standing = replace(POLICY, budget=mv.StandingBudget())
    ledger = mv.ledger_from_checkpointer(saver)
    view = memview(InMemoryBackend(), ledger, Scorer(), standing)
    if opened:
        view.open("ana")
    law = randomized_response(Fraction(2), 2).probabilities(1)
    canaries = (*CANARIES, *map(str, law), *(str(float(p)) for p in law))
    seen = assert_no_canary(
        agent(view, saver),
        QUESTION,
        THREAD,
        canaries,
        context=CONTEXT,
        more=metrics(view),
    )
    assert {channel for channel, size in seen.items() if size} >= SYNC_CHANNELS
    assert len(view.history("ana")) == 1


async def test_an_agent_shows_nothing_in_the_asynchronous_channels(tmp_path: Path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        view = memview(InMemoryBackend(), mv.ledger_from_checkpointer(saver), Scorer())
        seen = await aassert_no_canary(
            agent(view, saver), QUESTION, THREAD, CANARIES, context=CONTEXT
        )
    assert {channel for channel, size in seen.items() if size} >= ASYNC_CHANNELS


def test_a_graph_with_a_node_shows_nothing_either(saver: SqliteSaver):
    view = memview(InMemoryBackend(), mv.ledger_from_checkpointer(saver), Scorer())
    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(view, audience="app"))
        .add_edge(START, "memview")
        .compile(checkpointer=saver)
    )
    seen = assert_no_canary(graph, QUESTION, THREAD, CANARIES, context=CONTEXT)
    shown = SYNC_CHANNELS - {"stream messages"}  # no model, so no message
    assert {channel for channel, size in seen.items() if size} >= shown


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_cached_answer_holds_nothing_private(kind: str):
    view = memview(InMemoryBackend(), mv.InMemoryLedger(), Scorer())

    def answer(state: mv.MemViewState) -> Any:
        text = mv.views_message(POLICY, state).text
        return {"messages": [("ai", f"As told: {text}")]}

    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(view, audience="app"))
        .add_node("answer", answer, cache_policy=CachePolicy())
        .add_edge(START, "memview")
        .add_edge("memview", "answer")
        .compile(
            cache=InMemoryCache() if kind == "memory" else SqliteCache(path=":memory:")
        )
    )
    seen = assert_no_canary(graph, QUESTION, THREAD, CANARIES, context=CONTEXT)
    assert seen["node cache"] > 0
    seen = await aassert_no_canary(graph, QUESTION, THREAD, CANARIES, context=CONTEXT)
    assert seen["node cache"] > 0


def test_a_deadline_shows_nothing_and_changes_no_channel(saver: SqliteSaver):
    view = mv.MemView(
        POLICY,
        InMemoryBackend({"ana": {1: TEXT}}),
        ledger=mv.ledger_from_checkpointer(saver),
        scorer=Scorer(),
        deadline=0.01,
    )
    seen = assert_no_canary(
        agent(view, saver),
        QUESTION,
        THREAD,
        CANARIES,
        context=CONTEXT,
        more=metrics(view),
    )
    assert {channel for channel, size in seen.items() if size} >= SYNC_CHANNELS


class FailingScorer(CueScorer):
    """Raises an error that quotes the memory."""

    def support(self, slot: mv.Slot, contents: Any) -> Any:
        raise ValueError(f"cannot score {contents}")


class BrokenLedger(mv.InMemoryLedger):
    """Cannot be reached in the middle of a turn, when memory has been read."""

    def transact(self, account: Any, operation: Any, decide: Any) -> Any:
        raise mv.LedgerError("the ledger cannot be read or written")


class FailingBackend(InMemoryBackend):
    """Raises an error that quotes the memory."""

    def read(self, subject: str, positions: Any) -> Any:
        raise ValueError(f"cannot decode {super().read(subject, positions)}")


@pytest.mark.parametrize(
    ("backend", "ledger", "scorer"),
    [
        (InMemoryBackend, mv.InMemoryLedger, FailingScorer),
        (FailingBackend, mv.InMemoryLedger, CueScorer),
        (InMemoryBackend, BrokenLedger, CueScorer),
    ],
)
def test_a_failure_shows_nothing_not_even_in_its_traceback(
    saver: SqliteSaver, backend: Any, ledger: Any, scorer: Any
):
    view = memview(backend(), ledger(), scorer())
    seen = assert_no_canary(
        agent(view, saver), QUESTION, THREAD, CANARIES, context=CONTEXT
    )
    assert ("exceptions" in seen) == (ledger is BrokenLedger)
    assert ("pending errors" in seen) == (ledger is BrokenLedger)


@pytest.mark.parametrize(
    ("backend", "ledger", "scorer"),
    [
        (InMemoryBackend, mv.InMemoryLedger, FailingScorer),
        (FailingBackend, mv.InMemoryLedger, CueScorer),
        (InMemoryBackend, BrokenLedger, CueScorer),
    ],
)
async def test_a_failure_shows_nothing_in_the_asynchronous_channels(
    tmp_path: Path, backend: Any, ledger: Any, scorer: Any
):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        view = memview(backend(), ledger(), scorer())
        seen = await aassert_no_canary(
            agent(view, saver), QUESTION, THREAD, CANARIES, context=CONTEXT
        )
    assert ("exceptions" in seen) == (ledger is BrokenLedger)
    assert ("async pending errors" in seen) == (ledger is BrokenLedger)


def test_a_score_and_a_probability_would_be_seen():
    """As the interface computes them, not only as the scorer gave them."""
    for number in private_numbers():

        def leak(state: Any, number: str = number) -> Any:
            return {"memview": {"operation": f"drawn with {number}"}}

        graph = (
            StateGraph(mv.MemViewState)
            .add_node("leak", leak)
            .add_edge(START, "leak")
            .compile()
        )
        with pytest.raises(AssertionError, match="output"):
            assert_no_canary(graph, QUESTION, THREAD, CANARIES)


def rated_by_a_model(messages: Any) -> dict[str, float]:
    """Rate with numbers that are easy to find again; the prompt holds the memory."""
    assert TEXT in messages[1].text
    return {"statement_1": SCORE}


@pytest.mark.parametrize("when", ["written", "asked"])
def test_a_chat_model_that_rates_memories_is_heard_by_nobody(
    when: str, saver: SqliteSaver
) -> None:
    model = StructuredChatModel(reply=rated_by_a_model)
    scorer, deadline = ChatModelScorer.of(POLICY, model), None
    if when == "asked":
        scorer, deadline = LiveChatScorer.of(model, seconds=1.0), 1.1

    def build() -> Any:
        made = mv.MemView(
            POLICY,
            InMemoryBackend(),
            ledger=mv.InMemoryLedger(),
            scorer=scorer,
            deadline=deadline,
        )
        made.remember("ana", TEXT, position=1)
        return agent(made, saver)

    cache = LangChainCache()
    set_llm_cache(cache)
    try:
        with collect_runs() as runs:
            graph = build()
        assert_no_canary(
            graph,
            QUESTION,
            THREAD,
            CANARIES,
            context=CONTEXT,
            more={
                "cache": lambda: cache._cache,
                "runs of the writing": lambda: runs.traced_runs,
            },
        )
    finally:
        set_llm_cache(None)


class Refusing(WordEmbeddings):
    """Quotes the memory when it refuses it, as a service's error may."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("canary" in text for text in texts):
            raise RuntimeError(f"cannot embed {texts}")
        return super().embed_documents(texts)


@pytest.mark.parametrize(
    "model", [WordEmbeddings(64), Refusing(64)], ids=["up", "down"]
)
def test_an_embedded_memory_and_its_vector_are_seen_nowhere(
    model: WordEmbeddings, saver: SqliteSaver, tmp_path: Path
) -> None:
    policy = replace(POLICY, scorer=mv.EmbeddingScore("words", "0.3", 9, "0.2"))
    view = mv.MemView(
        policy,
        ChromaBackend(tmp_path / "memories"),
        ledger=mv.InMemoryLedger(),
        scorer=EmbeddingScorer.of(policy, model),
    )
    # Seven words: each number of the unit vector is 1/√7, which nothing else is.
    text = f"{TEXT} to a bank"
    view.remember("ana", text, position=1)
    vector = WordEmbeddings(64).embed_query(text)
    length = sum(value * value for value in vector) ** 0.5
    numbers = {repr(value / length)[:7] for value in vector if value}
    assert all(len(number) == 7 for number in numbers)
    assert_no_canary(
        agent(view, saver),
        QUESTION,
        THREAD,
        (text, "canary-7f3a", *numbers),
        context=CONTEXT,
        more={"waiting": view.prepare},
    )
