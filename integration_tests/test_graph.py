"""The node in a StateGraph: retries, interrupts, subgraphs, fan-out."""

import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt

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
CHARGE = Fraction(2, 3)
CONTEXT = {"user_id": "ana"}
CONFIG: Any = {"configurable": {"thread_id": "t"}}
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
    )


def spent(memview: mv.MemView) -> Fraction:
    return memview.balances("ana")["debt"].spent


def test_a_node_that_is_retried_replays_its_release(
    memview: mv.MemView, saver: SqliteSaver
):
    node = mv.memview_node(memview, audience="app")
    seen: list[str] = []

    def failing(state: Any) -> Any:
        seen.append(node.invoke(state)["memview"]["views"]["food"])
        if len(seen) < 3:
            raise ConnectionError("after the charge")
        return {}

    graph = (
        StateGraph(mv.MemViewState)
        .add_node(
            "memview",
            failing,
            retry_policy=RetryPolicy(
                max_attempts=3, initial_interval=0.01, retry_on=ConnectionError
            ),
        )
        .add_edge(START, "memview")
        .compile(checkpointer=saver)
    )
    graph.invoke(QUESTION, CONFIG, context=CONTEXT)
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert spent(memview) == CHARGE
    assert len(memview.history("ana")) == 1


def test_two_interrupts_in_the_node_s_function_are_one_release(
    memview: mv.MemView, saver: SqliteSaver
):
    node = mv.memview_node(memview, audience="app")

    def asking(state: Any) -> Any:
        update = node.invoke(state)
        interrupt("first")
        interrupt("second")
        return update

    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", asking)
        .add_edge(START, "memview")
        .compile(checkpointer=saver)
    )
    graph.invoke(QUESTION, CONFIG, context=CONTEXT)
    graph.invoke(Command(resume="yes"), CONFIG, context=CONTEXT)
    out = graph.invoke(Command(resume="yes"), CONFIG, context=CONTEXT)
    assert out["memview"]["outcomes"] == {"food": "replayed"}
    assert spent(memview) == CHARGE


def test_a_subgraph_under_a_retried_parent_is_one_release(
    memview: mv.MemView, saver: SqliteSaver
):
    inner = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile()
    )
    attempts: list[int] = []

    def parent(state: Any) -> Any:
        out = inner.invoke(state, context=CONTEXT)
        attempts.append(1)
        if len(attempts) < 2:
            raise ConnectionError("after the subgraph")
        return {"memview": out["memview"]}

    graph = (
        StateGraph(mv.MemViewState)
        .add_node(
            "parent",
            parent,
            retry_policy=RetryPolicy(
                max_attempts=2, initial_interval=0.01, retry_on=ConnectionError
            ),
        )
        .add_edge(START, "parent")
        .compile(checkpointer=saver)
    )
    graph.invoke(QUESTION, CONFIG, context=CONTEXT)
    assert len(attempts) == 2
    assert spent(memview) == CHARGE


def test_a_fan_out_of_three_to_one_question_is_one_release(
    memview: mv.MemView, saver: SqliteSaver
):
    node = mv.memview_node(memview, audience="app")
    seen: list[str] = []

    def branch(state: Any) -> Any:
        seen.append(node.invoke(state)["memview"]["views"]["food"])
        return {}

    graph = (
        StateGraph(mv.MemViewState)
        .add_node("branch", branch)
        .add_conditional_edges(START, lambda state: [Send("branch", state)] * 3)
        .compile(checkpointer=saver)
    )
    graph.invoke(QUESTION, CONFIG, context=CONTEXT)
    assert len(seen) == 3
    assert len(set(seen)) == 1
    assert spent(memview) == CHARGE


async def test_the_node_works_asynchronously_and_gives_the_prompt(memview: mv.MemView):
    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile()
    )
    out = await graph.ainvoke(QUESTION, context=CONTEXT)
    text = mv.views_message(POLICY, out).text
    assert text.splitlines()[1] in {"- Any dish.", "- Cheap."}
    assert mv.views_message(POLICY, {}).text.startswith("No personal guidance")
