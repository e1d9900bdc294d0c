"""The canary helper sees: one graph for each channel leaks there on purpose.

The list of channels is complete: what the helper searches and no twin leaks into fails
the last test.
"""

import logging
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import CachePolicy, interrupt
from typing_extensions import override

from langchain_memview.testing import aassert_no_canary, assert_no_canary

TEXT = "canary-7f3a owes nine thousand"
SCORE = 0.123456789
CANARIES = (TEXT, str(SCORE))
QUESTION = {"messages": [("user", "Plan a dinner.")]}
THREAD = {"configurable": {"thread_id": "t"}}
FINE = {"note": "fine"}


class State(MessagesState):
    note: str


def into_the_state(state: Any) -> Any:
    return {"note": TEXT}


def a_number_into_the_state(state: Any) -> Any:
    return {"note": SCORE}


def into_the_custom_stream(state: Any) -> Any:
    get_stream_writer()(TEXT)
    return FINE


def into_a_model(state: Any) -> Any:
    FakeListChatModel(responses=[TEXT]).invoke("anything")
    return FINE


def into_an_inner_runnable(state: Any) -> Any:
    RunnableLambda(str.upper).invoke(TEXT)
    return FINE


def into_an_interrupt(state: Any) -> Any:
    interrupt(TEXT)


def into_an_error(state: Any) -> Any:
    raise ValueError(TEXT)


def into_a_local_of_an_error(state: Any) -> Any:
    memory = TEXT  # noqa: F841 - the traceback holds it
    raise ValueError("constant text")


def into_the_cause_of_an_error(state: Any) -> Any:
    raise ValueError("constant text") from KeyError(TEXT)


def into_the_context_of_an_error(state: Any) -> Any:
    try:
        raise KeyError(TEXT)
    except KeyError:
        raise ValueError("constant text") from None


def into_a_note_of_an_error(state: Any) -> Any:
    error = ValueError("constant text")
    error.add_note(TEXT)
    raise error


def into_an_error_that_is_caught(state: Any) -> Any:
    try:
        RunnableLambda(into_a_local_of_an_error).invoke("anything")
    except ValueError:
        return FINE


def into_a_log(state: Any) -> Any:
    logging.getLogger("somewhere.deep").debug("scoring %s", TEXT)
    return FINE


def into_a_log_s_extra(state: Any) -> Any:
    logging.getLogger("somewhere.deep").debug("scored", extra={"memory": TEXT})
    return FINE


def into_a_log_that_keeps_to_itself(state: Any) -> Any:
    logging.getLogger("somewhere.apart").debug("scoring %s", TEXT)
    return FINE


def into_a_logged_traceback(state: Any) -> Any:
    try:
        into_a_local_of_an_error(state)
    except ValueError:
        logging.getLogger("somewhere.deep").exception("failed")
    return FINE


def into_the_console(state: Any) -> Any:
    print(TEXT)  # noqa: T201 - the leak
    return FINE


class Node:
    """A node that can be pickled, with whatever it holds."""

    def __init__(self, held: object) -> None:
        self.held = held

    @override
    def __repr__(self) -> str:
        return "Node()"

    def __call__(self, state: Any) -> Any:
        return FINE


class NumberNode(Node):
    """A node that holds a score; a pickle keeps it in binary."""


class Method(Node):
    """The owner of a node's function, as a middleware is."""

    def run(self, state: Any) -> Any:
        return FINE

    async def arun(self, state: Any) -> Any:
        return FINE


class Shown:
    """A node that holds nothing and shows a memory."""

    @override
    def __repr__(self) -> str:
        return TEXT

    def __call__(self, state: Any) -> Any:
        return FINE


class Refusing(Node):
    """A node that quotes a memory to say why it cannot be pickled."""

    @override
    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle {TEXT}")


EVERYWHERE = {
    *("stream values", "stream updates", "stream debug", "stream tasks"),
    *("stream checkpoints", "events v3", "output", "state", "history", "saver"),
    *("saver rows", "pending writes", "callbacks", "traces", "pickles"),
    "console with set_debug",
}

LEAKS: list[tuple[Any, set[str]]] = [
    (into_the_state, EVERYWHERE),
    (a_number_into_the_state, EVERYWHERE),
    (into_the_custom_stream, {"stream custom"}),
    (into_a_model, {"stream messages", "callbacks", "traces", "events v3"}),
    (into_an_inner_runnable, {"callbacks", "traces", "console with set_debug"}),
    (into_an_interrupt, {"stream updates", "state", "callbacks", "pending writes"}),
    (into_an_error, {"exceptions", "saver", "pending errors", "traces", "callbacks"}),
    (into_a_local_of_an_error, {"exceptions", "callbacks"}),
    (into_the_cause_of_an_error, {"exceptions", "callbacks"}),
    (into_the_context_of_an_error, {"exceptions", "callbacks"}),
    (into_a_note_of_an_error, {"exceptions", "callbacks"}),
    (into_an_error_that_is_caught, {"callbacks"}),
    (into_a_log, {"logs"}),
    (into_a_log_s_extra, {"logs"}),
    (into_a_log_that_keeps_to_itself, {"logs"}),
    (into_a_logged_traceback, {"logs"}),
    (into_the_console, {"console with set_debug"}),
    (Node(TEXT), {"pickles"}),
    (NumberNode([SCORE]), {"pickles"}),
    (Method(TEXT).run, {"pickles"}),
    # As a whole it cannot be pickled, its asynchronous half can.
    (RunnableLambda(lambda state: FINE, afunc=Method(TEXT).arun), {"pickles"}),
    (Refusing(None), {"pickles"}),
    (Shown(), {"representations"}),
]
ELSEWHERE = {"node cache", "metrics"}  # each has a test of its own


def name(leak: Any) -> str:
    found: str = getattr(leak, "__qualname__", type(leak).__name__)
    return found


def leaky(leak: Any, saver: Any, **parts: Any) -> Any:
    return (
        StateGraph(State)
        .add_node("leak", leak, cache_policy=CachePolicy() if parts else None)
        .add_edge(START, "leak")
        .compile(checkpointer=saver, **parts)
    )


def named(caught: pytest.ExceptionInfo[AssertionError]) -> set[str]:
    message = str(caught.value)
    assert TEXT not in message
    return set(message.removeprefix("private text was seen in: ").split(", "))


@pytest.fixture(autouse=True)
def _a_logger_of_its_own() -> Any:
    logger = logging.getLogger("somewhere.apart")
    logger.propagate = False
    yield
    logger.propagate = True


def caught_in(graph: Any, **more: Any) -> set[str]:
    with pytest.raises(AssertionError, match="private text was seen in") as caught:
        assert_no_canary(graph, QUESTION, THREAD, CANARIES, **more)
    return named(caught)


async def acaught_in(graph: Any, **more: Any) -> set[str]:
    with pytest.raises(AssertionError, match="private text was seen in") as caught:
        await aassert_no_canary(graph, QUESTION, THREAD, CANARIES, **more)
    return named(caught)


@pytest.fixture
def saver(tmp_path: Path) -> Any:
    connection = sqlite3.connect(tmp_path / "g.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


@pytest.mark.parametrize(("leak", "channels"), LEAKS, ids=name)
def test_the_helper_names_the_channels_of_a_leak(
    leak: Any, channels: set[str], saver: Any
) -> None:
    assert channels <= caught_in(leaky(leak, saver))


@pytest.mark.parametrize(("leak", "channels"), LEAKS, ids=name)
async def test_so_does_the_asynchronous_one(
    leak: Any, channels: set[str], tmp_path: Path
) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        found = await acaught_in(leaky(leak, saver))
    assert awaited(channels) <= found


def awaited(channels: set[str]) -> set[str]:
    """Return what the asynchronous helper calls these channels."""
    same = {
        *("callbacks", "traces", "console with set_debug", "logs", "exceptions"),
        *("pickles", "representations", "node cache", "metrics"),
    }
    found = {c if c in same else f"async {c}" for c in channels}
    return found | ({"async events v2"} if "events v3" in channels else set())


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_an_entry_of_the_node_cache_is_seen(kind: str, tmp_path: Path) -> None:
    def cache() -> Any:
        return InMemoryCache() if kind == "memory" else SqliteCache(path=":memory:")

    for leak in (into_the_state, a_number_into_the_state):
        assert "node cache" in caught_in(leaky(leak, None, cache=cache()))
        assert "node cache" in await acaught_in(leaky(leak, None, cache=cache()))
    fine = cache()
    seen = assert_no_canary(
        leaky(Node(None), None, cache=fine), QUESTION, THREAD, CANARIES
    )
    assert seen["node cache"] > 0


async def test_a_metric_is_seen_and_what_it_shows_is_asked_after_the_runs() -> None:
    runs: list[object] = []

    def counting(state: Any) -> Any:
        runs.append(state)
        return FINE

    graph = leaky(counting, None)
    leak = {"metrics": lambda: {"last": TEXT if len(runs) > 5 else "", "n": len(runs)}}
    assert caught_in(graph, more=leak) == {"metrics"}
    runs.clear()
    assert await acaught_in(graph, more=leak) == {"metrics"}
    seen = assert_no_canary(
        graph, QUESTION, THREAD, CANARIES, more={"metrics": lambda: len(runs)}
    )
    assert seen["metrics"] > 0


@pytest.mark.parametrize("canaries", [(), [], TEXT, [TEXT, ""], [" "]])
async def test_without_a_canary_there_is_nothing_to_look_for(canaries: Any) -> None:
    graph = leaky(into_the_state, None)
    with pytest.raises(ValueError, match="texts that are not blank"):
        assert_no_canary(graph, QUESTION, THREAD, canaries)
    with pytest.raises(ValueError, match="texts that are not blank"):
        await aassert_no_canary(graph, QUESTION, THREAD, canaries)


async def test_every_channel_that_is_searched_has_a_twin(
    saver: Any, tmp_path: Path
) -> None:
    twins = ELSEWHERE.union(*(channels for _, channels in LEAKS))

    def build(with_saver: Any) -> Any:
        return leaky(Node(None), with_saver, cache=InMemoryCache())

    more: Mapping[str, Callable[[], object]] = {"metrics": lambda: 1}
    seen = assert_no_canary(build(saver), QUESTION, THREAD, CANARIES, more=more)
    # Errors and what goes with them are only there when something fails.
    assert seen.keys() | {"exceptions", "pending errors"} <= twins
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.sqlite")) as other:
        seen = await aassert_no_canary(
            build(other), QUESTION, THREAD, CANARIES, more=more
        )
    assert set(seen) <= awaited(twins)
