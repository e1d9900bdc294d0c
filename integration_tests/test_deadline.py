"""A deadline in real graphs: agents and nodes wait, and the state says nothing of it."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.policy import Policy

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
    mv.OnlineBudget(3),
)
DEADLINE = 0.1
CONTEXT = {"user_id": "ana"}
THREAD: Any = {"configurable": {"thread_id": "t"}}
QUESTION = {"messages": [HumanMessage("dinner?", id="q1")]}


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "g.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


@pytest.fixture
def memview(saver: SqliteSaver) -> mv.MemView:
    return mv.MemView(
        POLICY,
        InMemoryBackend({"ana": {1: "Owes 9,000."}}),
        ledger=mv.ledger_from_checkpointer(saver),
        deadline=DEADLINE,
    )


def agent(memview: mv.MemView, saver: SqliteSaver | None = None) -> Any:
    return create_agent(
        FakeListChatModel(responses=["Soup."]),
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
        checkpointer=saver,
    )


def with_node(memview: mv.MemView, saver: SqliteSaver | None = None) -> Any:
    return (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile(checkpointer=saver)
    )


@pytest.mark.parametrize("build", [agent, with_node])
def test_a_graph_waits_for_the_deadline_and_keeps_no_time_in_its_state(
    memview: mv.MemView, saver: SqliteSaver, build: Any
) -> None:
    graph = build(memview, saver)
    began = time.monotonic()
    graph.invoke(QUESTION, THREAD, context=CONTEXT)
    assert time.monotonic() - began >= DEADLINE
    state = graph.get_state(THREAD).values["memview"]
    assert state.keys() == {"operation", "views", "outcomes", "balances"}
    assert memview.history("ana")[0].slots[0].outcome == "selected"


@pytest.mark.parametrize("build", [agent, with_node])
async def test_a_graph_that_is_awaited_waits_too(
    memview: mv.MemView, build: Any
) -> None:
    graph = build(memview)
    began = time.monotonic()
    await graph.ainvoke(QUESTION, context=CONTEXT)
    assert time.monotonic() - began >= DEADLINE
