"""`LANGGRAPH_STRICT_MSGPACK=true`, as it is for all tests in this folder.

The state needs no type of the package: what a checkpoint holds is read back by a
serializer that allows none. The twins put one in and must be noticed.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
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
THREAD: Any = {"configurable": {"thread_id": "t"}}
QUESTION = {"messages": [("user", "dinner?")]}


@dataclass
class Foreign:
    """A type that no state names."""

    text: str


class LooseState(mv.MemViewState):
    """A state whose annotation says nothing about what comes back."""

    note: Any


def agent(memview: mv.MemView, saver: Any) -> Any:
    return create_agent(
        FakeListChatModel(responses=["Soup."]),
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
        checkpointer=saver,
    )


def with_node(memview: mv.MemView, saver: Any) -> Any:
    return (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile(checkpointer=saver)
    )


def with_a_foreign_type(memview: mv.MemView, saver: Any) -> Any:
    return (
        StateGraph(LooseState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_node("note", lambda state: {"note": Foreign("x")})
        .add_edge(START, "memview")
        .add_edge("memview", "note")
        .compile(checkpointer=saver)
    )


def test_the_tests_and_their_workers_run_strictly() -> None:
    assert _msgpack.STRICT_MSGPACK_ENABLED
    code = "from langgraph.checkpoint.serde import _msgpack as m; print(m.STRICT_MSGPACK_ENABLED)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "True\n"


def dialogue(build: Callable[..., Any], file: Path) -> Any:
    """Return the state after two questions, read back by a new connection."""
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    memview = mv.MemView(
        POLICY,
        InMemoryBackend({"ana": {1: "Owes 9,000."}}),
        ledger=mv.ledger_from_checkpointer(saver),
    )
    graph = build(memview, saver)
    for _ in range(2):
        graph.invoke(QUESTION, THREAD, context={"user_id": "ana"})
    held = graph.get_state(THREAD).values["memview"]
    connection.close()
    connection = sqlite3.connect(file, check_same_thread=False)
    # Not through the graph, which allows the types that its schema names.
    bare = SqliteSaver(
        connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None)
    )
    newest, *_ = bare.list(THREAD)
    last = newest.checkpoint["channel_values"]
    connection.close()
    assert last["memview"] == held
    return last


@pytest.mark.parametrize("build", [agent, with_node])
def test_a_checkpoint_holds_no_type_that_must_be_allowed(
    tmp_path: Path, build: Any
) -> None:
    last = dialogue(build, tmp_path / "g.sqlite")
    assert last["memview"]["balances"] == {"debt": {"spent": "4/3", "cap": "2"}}


def test_a_foreign_type_comes_back_as_a_dictionary_and_is_noticed(
    tmp_path: Path, foreign_types: list[str]
) -> None:
    last = dialogue(with_a_foreign_type, tmp_path / "g.sqlite")
    assert last["note"] == {"text": "x"}
    assert any(f"{__name__}.Foreign" in kind for kind in foreign_types)
    foreign_types.clear()
