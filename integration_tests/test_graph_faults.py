"""What makes a graph run MemView's node again: one draw, one charge, the same view."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fault_kit import CHARGE, CONTEXT, World, asked, failing, opened, thread, world_on
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt

import langchain_memview as mv

Seen = list[str]


def node(world: World) -> Any:
    return mv.memview_node(world.memview, audience="app")


def noting(world: World, seen: Seen, then: Callable[[], None] = lambda: None) -> Any:
    """Return a node that selects, notes the view and goes on to do something else."""
    select = node(world)

    def run(state: Any) -> Any:
        update = select.invoke(state)
        seen.append(update["memview"]["views"]["food"])
        then()
        return update

    return run


def compiled(world: World, run: Any, **options: Any) -> Any:
    """Return a graph of one node on the world's saver."""
    builder = StateGraph(mv.MemViewState).add_node("run", run, **options)
    return builder.add_edge(START, "run").compile(checkpointer=world.saver)


def retried(attempts: int) -> RetryPolicy:
    return RetryPolicy(
        max_attempts=attempts, initial_interval=0.01, retry_on=ConnectionError
    )


def test_a_node_that_is_retried_replays_its_release(world: World) -> None:
    seen: Seen = []
    run = noting(world, seen, failing(2))
    graph = compiled(world, run, retry_policy=retried(3))
    graph.invoke(asked(), thread(), context=CONTEXT)
    assert seen == world.views() * 3
    world.check("RetryPolicy, 3 attempts", 1, 2, CHARGE)


def test_two_interrupts_in_the_node_s_function_are_one_release(world: World) -> None:
    seen: Seen = []

    def twice() -> None:
        interrupt("first")
        interrupt("second")

    graph = compiled(world, noting(world, seen, twice))
    graph.invoke(asked(), thread(), context=CONTEXT)
    graph.invoke(Command(resume="yes"), thread(), context=CONTEXT)
    out = graph.invoke(Command(resume="yes"), thread(), context=CONTEXT)
    assert out["memview"]["outcomes"] == {"food": "replayed"}
    assert seen == world.views() * 3
    world.check("two interrupts in one node", 1, 2, CHARGE)


@pytest.mark.parametrize("own", [None, True, False])
def test_a_subgraph_under_a_retried_parent_is_one_release(
    world: World, own: Any
) -> None:
    """Whether it inherits the checkpointer, has its own memory there, or has none."""
    inner = StateGraph(mv.MemViewState)
    inner.add_node("memview", node(world)).add_edge(START, "memview")
    subgraph = inner.compile(checkpointer=own)
    seen: Seen = []
    fail = failing(1)

    def parent(state: Any) -> Any:
        out = subgraph.invoke(state, context=CONTEXT)
        seen.append(out["memview"]["views"]["food"])
        fail()
        return {"memview": out["memview"]}

    graph = compiled(world, parent, retry_policy=retried(2))
    graph.invoke(asked(), thread(), context=CONTEXT)
    assert seen == world.views() * 2
    case = f"subgraph under retried parent, checkpointer={own}"
    world.check(case, 1, 1, CHARGE)


# With a pool, all branches ask the database at once.


@pytest.fixture
def pooled(place: str) -> Iterator[World]:
    with opened(place, pooled=True) as saver:
        yield world_on(place, saver)


def fan_out(world: World, questions: list[Any]) -> Seen:
    """Return the views that parallel branches get, one for each question."""
    seen: Seen = []
    select = noting(world, seen)

    def branch(state: Any) -> Any:
        select(state)
        return {}

    graph = (
        StateGraph(mv.MemViewState)
        .add_node("branch", branch)
        .add_conditional_edges(START, lambda _: [Send("branch", q) for q in questions])
        .compile(checkpointer=world.saver)
    )
    graph.invoke(asked(), thread(), context=CONTEXT)
    return seen


def test_a_fan_out_of_three_to_one_question_is_one_release(pooled: World) -> None:
    assert fan_out(pooled, [asked()] * 3) == pooled.views() * 3
    pooled.check("Send fan-out of 3", 1, 2, CHARGE)


def test_a_fan_out_of_four_to_four_questions_stops_at_the_cap_of_three(
    pooled: World,
) -> None:
    seen = fan_out(pooled, [asked(id_=f"q{number}") for number in range(4)])
    assert sorted(seen) == sorted(pooled.views())
    pooled.check("Send fan-out of 4 questions, cap of 3", 3, 0, 3 * CHARGE)
