"""No memory text, score or probability in any channel of a graph; and the helper sees.

The twins at the end leak on purpose, one channel each, and must be caught.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

import langchain_memview as mv
from langchain_memview.backends import ChromaBackend, InMemoryBackend
from langchain_memview.core.policy import Policy
from langchain_memview.scorers import CueScorer
from langchain_memview.testing import aassert_no_canary, assert_no_canary

TEXT = "canary-7f3a owes nine thousand"
SCORE = 0.123456789
CANARIES = (TEXT, "canary-7f3a", str(SCORE))
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
        return [[SCORE, SCORE]]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "graph.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


def memview(backend: Any, ledger: Any, scorer: Any = None) -> mv.MemView:
    made = mv.MemView(POLICY, backend, ledger=ledger, scorer=scorer)
    made.remember("ana", TEXT, position=1)
    return made


def agent(view: mv.MemView, saver: Any) -> Any:
    return create_agent(
        FakeListChatModel(responses=["Soup."]),
        middleware=[mv.MemViewMiddleware(view, audience="app")],
        checkpointer=saver,
    )


SYNC_CHANNELS = {
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


def test_an_agent_shows_no_memory_and_no_score_in_any_channel(
    tmp_path: Path, saver: SqliteSaver
):
    view = memview(
        ChromaBackend(tmp_path / "chroma"), mv.ledger_from_checkpointer(saver), Scorer()
    )
    seen = assert_no_canary(
        agent(view, saver), QUESTION, THREAD, CANARIES, context=CONTEXT
    )
    assert {channel for channel, size in seen.items() if size} >= SYNC_CHANNELS
    assert len(view.history("ana")) == 9  # every run drew and was recorded


async def test_an_agent_shows_nothing_in_the_asynchronous_channels(tmp_path: Path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        view = memview(InMemoryBackend(), mv.ledger_from_checkpointer(saver), Scorer())
        seen = await aassert_no_canary(
            agent(view, saver), QUESTION, THREAD, CANARIES, context=CONTEXT
        )
    assert {"async events v2", "async output", "traces"} <= seen.keys()


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


def leaky(leak: Any) -> Any:
    class State(MessagesState):
        note: str

    return (
        StateGraph(State)
        .add_node("leak", leak)
        .add_edge(START, "leak")
        .compile(checkpointer=InMemorySaver())
    )


def _into_state(state: Any) -> Any:
    return {"note": TEXT}


def _into_an_error(state: Any) -> Any:
    raise ValueError(TEXT)


def _into_a_local_of_an_error(state: Any) -> Any:
    memory = TEXT  # noqa: F841 - the traceback holds it
    raise ValueError("constant text")


def _into_an_inner_runnable(state: Any) -> Any:
    RunnableLambda(str.upper).invoke(TEXT)
    return {"note": "fine"}


def _into_a_log(state: Any) -> Any:
    import logging

    logging.getLogger("somewhere.deep").debug("scoring %s", TEXT)
    return {"note": "fine"}


@pytest.mark.parametrize(
    ("leak", "channels"),
    [
        (_into_state, ["output", "state", "stream values", "saver", "traces"]),
        (_into_an_error, ["exceptions", "saver", "traces", "callbacks"]),
        (_into_a_local_of_an_error, ["exceptions"]),
        (_into_an_inner_runnable, ["callbacks", "traces", "console with set_debug"]),
        (_into_a_log, ["logs"]),
    ],
)
def test_the_helper_catches_a_leak_and_names_its_channels(leak: Any, channels: Any):
    with pytest.raises(AssertionError, match="private text was seen in") as caught:
        assert_no_canary(leaky(leak), QUESTION, THREAD, CANARIES)
    named = str(caught.value).partition(": ")[2].split(", ")
    assert set(channels) <= set(named)
    assert TEXT not in str(caught.value)
