"""The node in a StateGraph, awaited; what makes it run again is in `test_graph_faults`."""

from typing import Any

import pytest
from fault_kit import CONTEXT, MEMORY, POLICY, SENTENCES, asked
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph

import langchain_memview as mv
from langchain_memview.errors import WiringError


async def test_the_node_works_asynchronously_and_gives_the_prompt() -> None:
    memview = mv.MemView(POLICY, MEMORY, ledger=mv.InMemoryLedger())
    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile()
    )
    out = await graph.ainvoke(asked(), context=CONTEXT)
    text = mv.views_message(POLICY, out).text
    assert text.splitlines()[1] in SENTENCES.values()
    assert mv.views_message(POLICY, {}).text.startswith("No personal guidance")


@pytest.fixture
async def state() -> Any:
    memview = mv.MemView(POLICY, MEMORY, ledger=mv.InMemoryLedger())
    graph = (
        StateGraph(mv.MemViewState)
        .add_node("memview", mv.memview_node(memview, audience="app"))
        .add_edge(START, "memview")
        .compile()
    )
    return await graph.ainvoke(asked(), context=CONTEXT)


def test_the_views_stand_at_the_end_of_the_last_question(state: Any) -> None:
    question = state["messages"][-1].text
    rule = SystemMessage("You cook.")
    system, shown = mv.messages_with_views(POLICY, state, rule)
    assert system is rule
    head, _, tail = shown.text.partition("\n\n")
    assert head == question
    assert tail.splitlines()[1] in SENTENCES.values()
    # Asked again, the same: the state's own messages stay as they are.
    assert mv.messages_with_views(POLICY, state)[0].text == shown.text
    assert state["messages"][-1].text == question


def test_the_views_can_stand_in_the_system_message(state: Any) -> None:
    system, shown = mv.messages_with_views(POLICY, state, placement="system")
    assert system == mv.views_message(POLICY, state)
    assert shown is state["messages"][-1]


def test_only_the_last_question_gets_the_views_and_blocks_get_one_more(
    state: Any,
) -> None:
    blocks = [{"type": "text", "text": "And dessert?"}]
    messages = [
        HumanMessage("Hello."),
        AIMessage("Yes?"),
        HumanMessage(blocks),
        AIMessage("x"),
    ]
    shown = mv.messages_with_views(POLICY, {**state, "messages": messages})
    assert [shown[0], shown[1], shown[3]] == [messages[0], messages[1], messages[3]]
    assert shown[2].content[0] == blocks[0]
    assert len(shown[2].content) == 2
    assert messages[2].content == blocks


def test_without_a_question_the_views_are_in_the_system_message(state: Any) -> None:
    (system, answer) = mv.messages_with_views(
        POLICY, {**state, "messages": [AIMessage("Welcome.")]}
    )
    assert system.text == mv.views_message(POLICY, state).text
    assert answer.text == "Welcome."


def test_another_placement_is_refused(state: Any) -> None:
    memview = mv.MemView(POLICY, MEMORY, ledger=mv.InMemoryLedger())
    with pytest.raises(WiringError, match="'system' or 'user', not 'top'"):
        mv.messages_with_views(POLICY, state, placement="top")
    with pytest.raises(WiringError, match="'system' or 'user', not 'top'"):
        mv.MemViewMiddleware(memview, audience="app", placement="top")


def test_a_tool_loop_gives_the_model_the_views_once_in_each_call() -> None:
    @tool
    def pantry() -> str:
        """Say what is in the pantry."""
        return "rice"

    prompts: list[Any] = []

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: Any, *rest: Any, **kwargs: Any) -> Any:
            prompts.append(messages)
            return super()._generate(messages, *rest, **kwargs)

    call = AIMessage("", tool_calls=[{"name": "pantry", "args": {}, "id": "1"}])
    memview = mv.MemView(POLICY, MEMORY, ledger=mv.InMemoryLedger())
    layer = mv.MemViewMiddleware(memview, audience="app", placement="user")
    agent = create_agent(
        Model(responses=[call, AIMessage("Soup.")]),
        [pantry],
        system_prompt="You cook.",
        middleware=[layer],
    )
    out = agent.invoke(asked(), context=CONTEXT)
    assert len(prompts) == 2
    for prompt in prompts:
        assert prompt[0].text == "You cook."
        assert prompt[1].text.count("How to answer this user") == 1
    assert prompts[0][1].text == prompts[1][1].text
    assert "How to answer" not in out["messages"][0].text
