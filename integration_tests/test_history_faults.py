"""Rewound, forked, edited and deleted threads: none draws again or gives budget back."""

from fractions import Fraction
from typing import Any

import pytest
from fault_kit import CHARGE, CONTEXT, SENTENCES, Model, World, asked, thread
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite

import langchain_memview as mv
from langchain_memview.errors import OperationConflictError

SELECTING = "MemViewMiddleware.before_agent"
SPENT_NOTHING: Any = {
    "operation": "",
    "views": {"food": "generic"},
    "outcomes": {},
    "balances": {"debt": {"spent": "0", "cap": "2"}},
}


def before(agent: Any, node: str) -> Any:
    """Return the configuration of the newest checkpoint that goes on with a node."""
    return next(
        state.config
        for state in agent.get_state_history(thread())
        if state.next == (node,)
    )


def run(graph: Any, given: Any, config: Any = None) -> Any:
    return graph.invoke(given, config or thread(), context=CONTEXT)


def test_every_checkpoint_that_is_run_again_replays_the_release(world: World) -> None:
    model = Model()
    agent = world.agent(model)
    run(agent, asked())
    history = list(agent.get_state_history(thread()))
    assert [state.next for state in history] == [
        (),
        ("model",),
        (SELECTING,),
        ("__start__",),
    ]
    for state in history[1:]:
        run(agent, None, state.config)
    # From the model on, it is not selected again.
    assert model.prompts == [SENTENCES[view] for view in world.views()] * 4
    world.check("time travel to each of 3 checkpoints", 1, 2, CHARGE)


def test_a_fork_replays_its_question_and_pays_for_another(world: World) -> None:
    agent = world.agent(Model())
    run(agent, asked())
    old = before(agent, SELECTING)
    same = agent.update_state(old, {"messages": [("ai", "Hello!")]})
    run(agent, None, same)
    world.check("fork, update_state, same question", 1, 1, CHARGE)
    other = agent.update_state(old, asked("lunch?", "q2"))
    run(agent, None, other)
    world.check("fork, update_state, another question", 2, 1, 2 * CHARGE)
    run(agent, asked("lunch?", "q3"), old)
    world.check("fork, another question as input", 3, 1, 3 * CHARGE)
    run(agent, asked("lunch?", "q4"), old)
    world.check("fork, another question, cap spent", 3, 1, 3 * CHARGE)


def test_a_fork_that_rewrites_its_question_is_refused(world: World) -> None:
    agent = world.agent(Model())
    run(agent, asked())
    rewritten = agent.update_state(before(agent, SELECTING), asked("lunch?", "q1"))
    with pytest.raises(OperationConflictError, match="another query"):
        run(agent, None, rewritten)
    world.check("fork, same message id, other text", 1, 0, CHARGE)


def test_an_update_of_the_state_gives_no_budget_back(world: World) -> None:
    agent = world.agent(Model())
    run(agent, asked())
    nothing: list[Any] = [SPENT_NOTHING, {}, None]
    for planted in nothing:
        agent.update_state(thread(), {"memview": planted})
        run(agent, asked())
    world.check("update_state, same question", 1, 3, CHARGE)
    for number in range(3):
        agent.update_state(thread(), {"memview": SPENT_NOTHING})
        run(agent, asked(id_=f"r{number}"))
    balance = agent.get_state(thread()).values["memview"]["balances"]["debt"]
    assert balance == {"spent": "2", "cap": "2"}
    world.check("update_state, 3 other questions, cap of 3", 3, 3, 3 * CHARGE)


def test_new_threads_share_the_cap(world: World) -> None:
    agent = world.agent(Model())
    for name in "abcd":
        run(agent, asked(), thread(name))
    assert world.views()[3] == "generic"
    world.check("new thread_id, 4 threads, cap of 3", 3, 0, 3 * CHARGE)


def test_a_deleted_thread_is_remembered(world: World) -> None:
    model = Model()
    agent = world.agent(model)
    run(agent, asked())
    world.saver.delete_thread("t")
    assert not agent.get_state(thread()).values
    run(agent, asked())
    assert model.prompts == [SENTENCES[view] for view in world.views()] * 2
    world.check("delete_thread, same question", 1, 1, CHARGE)
    world.saver.delete_thread("t")
    run(agent, asked(id_="q2"))
    world.check("delete_thread, another question", 2, 1, 2 * CHARGE)


def overwriting(text: str, id_: str) -> Any:
    return {
        "messages": Overwrite([HumanMessage(text, id=id_)]),
        "memview": SPENT_NOTHING,
    }


@pytest.mark.parametrize("surface", ["middleware", "node"])
def test_what_a_caller_overwrites_gives_no_budget_back(
    world: World, surface: str
) -> None:
    builder = StateGraph(mv.MemViewState)
    builder.add_node("memview", mv.memview_node(world.memview, audience="app"))
    builder.add_edge(START, "memview")
    node = builder.compile(checkpointer=world.saver)
    graph = {"middleware": world.agent(Model()), "node": node}[surface]
    run(graph, asked())
    run(graph, overwriting("dinner?", "q1"))
    run(graph, {"memview": Overwrite(SPENT_NOTHING)})
    world.check(f"Overwrite from input, same question, {surface}", 1, 2, CHARGE)
    for number in range(3):
        run(graph, overwriting("lunch?", f"r{number}"))
    held = graph.get_state(thread()).values["memview"]
    assert Fraction(held["balances"]["debt"]["spent"]) == 2
    case = f"Overwrite from input, 3 other questions, {surface}"
    world.check(case, 3, 2, 3 * CHARGE)
