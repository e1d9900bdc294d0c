"""MemView in real agents: savers, tool loops, prompts, state and refusals."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.runtime import Runtime

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.policy import Policy
from langchain_memview.errors import OperationConflictError, SubjectError, WiringError
from langchain_memview.graph.turn import subject_of

FOOD = {"generic": "Any dish.", "cheap": mv.View("Cheap dishes.", ["owes"])}
POLICY = Policy(
    "meals",
    {"debt": mv.ProtectedAttribute([1], cap=2)},
    [mv.Slot("food", when=["dinner", "lunch"], views=FOOD, capacity=1)],
    mv.OnlineBudget(3),
)
CHARGE = Fraction(2, 3)
BACKEND = InMemoryBackend({"ana": {1: "Owes 9,000."}})
CONTEXT = {"user_id": "ana"}


class Recorder(BaseChatModel):
    """Makes some tool calls, then answers; keeps its prompts."""

    prompts: list[list[BaseMessage]]
    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(messages)
        done = sum(message.type == "tool" for message in messages)
        answer = AIMessage("Soup.")
        if done < self.calls:
            call = {"name": "pantry", "args": {}, "id": f"c{len(self.prompts)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def pantry() -> str:
    """Say what is in the pantry."""
    return "rice"


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "g.sqlite", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


def build(ledger: Any, saver: Any = None, **model: Any) -> Any:
    memview = mv.MemView(POLICY, BACKEND, ledger=ledger)
    recorder = Recorder(**{"prompts": []} | model)
    agent = create_agent(
        recorder,
        [pantry],
        system_prompt="You plan meals.",
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
        checkpointer=saver,
    )
    return SimpleNamespace(agent=agent, memview=memview, prompts=recorder.prompts)


def ask(
    built: Any, text: str = "dinner?", thread: Any = "t", id_: str | None = None
) -> Any:
    return built.agent.invoke(
        {"messages": [HumanMessage(text, id=id_)]},
        {"configurable": {"thread_id": thread}},
        context=CONTEXT,
    )


def spent(built: Any) -> Fraction:
    return built.memview.balances("ana")["debt"].spent


def test_a_loop_of_three_model_calls_is_one_release_seen_by_all_of_them(
    saver: SqliteSaver,
):
    built = build(mv.ledger_from_checkpointer(saver), saver, calls=2)
    out = ask(built)
    assert len(built.prompts) == 3
    assert spent(built) == CHARGE
    assert len({prompt[0].text for prompt in built.prompts}) == 1
    system = built.prompts[0][0].text
    assert system.startswith("You plan meals.\n\n")
    assert ("- Any dish." in system) != ("- Cheap dishes." in system)
    assert set(out) == {"messages"}


@pytest.mark.parametrize("kind", ["none", "memory", "sqlite"])
def test_every_kind_of_saver_works(kind: str, saver: SqliteSaver):
    used = {"none": None, "memory": InMemorySaver(), "sqlite": saver}[kind]
    ledger = (
        mv.InMemoryLedger()
        if used is None
        else mv.ledger_from_checkpointer(used, allow_ephemeral=True)
    )
    built = build(ledger, used)
    for number in range(4):
        assert ask(built, id_=f"q{number}")["messages"][-1].text == "Soup."
    assert spent(built) == 2


async def test_an_asynchronous_saver_works_and_refuses_a_blocking_call(tmp_path: Path):
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "g.sqlite")) as saver:
        built = build(mv.ledger_from_checkpointer(saver), saver)
        with pytest.raises(WiringError, match=r"Await .* instead"):
            built.memview.balances("ana")
        await built.agent.ainvoke(
            {"messages": [("user", "dinner?")]},
            {"configurable": {"thread_id": "t"}},
            context=CONTEXT,
        )
        assert spent(built) == CHARGE


async def test_an_asynchronous_saver_in_memory_is_refused_on_first_use():
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        built = build(mv.ledger_from_checkpointer(saver), saver)
        with pytest.raises(WiringError, match="':memory:'"):
            await built.memview.aturn(
                "dinner", subject="ana", audience="app", operation="t"
            )


class ThirdPartySaver:
    """A saver of a kind that the package does not know."""


def test_a_checkpointer_without_a_lasting_ledger_is_refused_clearly():
    with pytest.raises(WiringError, match="allow_ephemeral=True"):
        mv.ledger_from_checkpointer(InMemorySaver())
    with pytest.raises(WiringError, match=r"ThirdPartySaver keeps .* Two choices"):
        mv.ledger_from_checkpointer(ThirdPartySaver())
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    saver = SqliteSaver(connection)
    with pytest.raises(WiringError, match="allow_ephemeral=True"):
        mv.ledger_from_checkpointer(saver)
    assert mv.ledger_from_checkpointer(saver, allow_ephemeral=True)
    connection.close()
    with pytest.raises(WiringError, match="cannot be located"):
        mv.ledger_from_checkpointer(saver)


def test_views_follow_a_system_prompt_of_content_blocks(saver: SqliteSaver):
    memview = mv.MemView(POLICY, BACKEND, ledger=mv.InMemoryLedger())
    model = Recorder(prompts=[])
    blocks = [{"type": "text", "text": "You plan meals."}]
    agent = create_agent(
        model,
        system_prompt=SystemMessage(content=blocks),
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
    )
    agent.invoke({"messages": [("user", "dinner?")]}, context=CONTEXT)
    content = model.prompts[0][0].content
    assert content[0] == blocks[0]
    assert content[1]["text"].startswith("How to answer")


def test_a_question_that_activates_nothing_gives_a_neutral_prompt(saver: SqliteSaver):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    ask(built, "Good morning!")
    assert "answer in general terms" in built.prompts[0][0].text
    assert spent(built) == 0


def test_the_state_is_small_plain_json_of_constant_size(saver: SqliteSaver):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    sizes = []
    for number in range(30):
        ask(built, id_=f"q{number}")
        state = built.agent.get_state({"configurable": {"thread_id": "t"}})
        sizes.append(len(json.dumps(state.values["memview"])))
    assert max(sizes) < 1000
    assert sizes[-1] == sizes[3]


def test_what_is_planted_in_the_state_never_reaches_a_prompt(saver: SqliteSaver):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    ask(built)
    config = {"configurable": {"thread_id": "t"}}
    for planted in (
        {"views": {"food": "planted", "pets": "cheap"}},
        {"views": {"food": ["cheap"]}},
        {"views": "cheap"},
        "cheap",
        None,
    ):
        state = built.agent.update_state(config, {"memview": planted})
        # From there on the model node runs without a new selection.
        built.agent.invoke(None, state, context=CONTEXT)
    prompts = "".join(prompt[0].text for prompt in built.prompts[1:])
    assert "planted" not in prompts
    assert "Cheap" not in prompts


def test_a_message_id_that_comes_back_with_another_text_is_refused(saver: SqliteSaver):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    ask(built, id_="q1")
    with pytest.raises(OperationConflictError, match="another query"):
        ask(built, "lunch?", id_="q1")
    assert spent(built) == CHARGE


@pytest.mark.parametrize("thread", [0, 1])
def test_a_thread_may_be_a_number(saver: SqliteSaver, thread: Any):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    ask(built, thread=thread)
    assert built.memview.balances("ana")["debt"].spent == CHARGE


@pytest.mark.parametrize("thread", [None, "", "  ", False])
def test_a_thread_without_a_name_is_refused(saver: SqliteSaver, thread: Any):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    with pytest.raises(SubjectError, match="would share one thread"):
        ask(built, thread=thread)
    assert spent(built) == 0


@pytest.mark.parametrize("context", [None, {}, {"user_id": None}, {"user_id": " "}])
def test_a_run_without_a_subject_is_refused(saver: SqliteSaver, context: Any):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    with pytest.raises(SubjectError, match="names no subject"):
        built.agent.invoke(
            {"messages": [("user", "dinner?")]},
            {"configurable": {"thread_id": "t"}},
            context=context,
        )


def test_the_authenticated_user_wins_over_the_context():
    server = SimpleNamespace(user=SimpleNamespace(identity="ana"))
    runtime = Runtime(context={"user_id": "mallory"})
    assert subject_of(runtime, "user_id") == "mallory"
    served = SimpleNamespace(context={"user_id": "mallory"}, server_info=server)
    assert subject_of(served, "user_id") == "ana"  # type: ignore[arg-type]
    server.user.identity = None
    with pytest.raises(SubjectError, match="authenticated user"):
        subject_of(served, "user_id")  # type: ignore[arg-type]
    objects = Runtime(context=SimpleNamespace(user_id="ana"))
    assert subject_of(objects, "user_id") == "ana"


def test_langchain_refuses_two_middlewares_when_the_agent_is_built():
    memview = mv.MemView(POLICY, BACKEND, ledger=mv.InMemoryLedger())
    layers = [mv.MemViewMiddleware(memview, audience="app") for _ in range(2)]
    with pytest.raises(AssertionError, match="remove duplicate middleware"):
        create_agent(Recorder(prompts=[]), middleware=layers)


def test_a_question_of_content_blocks_and_a_state_without_one_are_routed(
    saver: SqliteSaver,
):
    built = build(mv.ledger_from_checkpointer(saver), saver)
    blocks = [{"type": "text", "text": "What's for dinner?"}]
    built.agent.invoke(
        {"messages": [HumanMessage(content=blocks)]},
        {"configurable": {"thread_id": "t"}},
        context=CONTEXT,
    )
    assert spent(built) == CHARGE
    built.agent.invoke(
        {"messages": [AIMessage("Hello!")]},
        {"configurable": {"thread_id": "u"}},
        context=CONTEXT,
    )
    assert spent(built) == CHARGE


def test_strict_msgpack_keeps_the_state_as_it_is(tmp_path: Path):
    code = (
        "import sqlite3, sys, warnings; warnings.simplefilter('error', UserWarning)\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_agent import *\n"
        "saver = SqliteSaver(sqlite3.connect(sys.argv[1], check_same_thread=False))\n"
        "built = build(mv.ledger_from_checkpointer(saver), saver)\n"
        "ask(built); ask(built)\n"
        "state = built.agent.get_state({'configurable': {'thread_id': 't'}})\n"
        "print(state.values['memview']['balances'], spent(built))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "g.sqlite")],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout.strip() == "{'debt': {'spent': '4/3', 'cap': '2'}} 4/3"
    assert "unregistered" not in found.stderr


def test_the_questions_of_a_thread_count_its_epochs(saver: SqliteSaver):
    epochs = mv.TurnEpochs(turns=2, planned=2)
    policy = replace(POLICY, budget=mv.StandingBudget(epochs))
    memview = mv.MemView(
        policy,
        InMemoryBackend({"ana": {1: "Owes 9,000."}}),
        ledger=mv.ledger_from_checkpointer(saver),
    )
    agent = create_agent(
        FakeListChatModel(responses=["Soup."]),
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
        checkpointer=saver,
    )
    outcomes = []
    for number in range(5):
        agent.invoke(
            {"messages": [HumanMessage("dinner?", id=f"q{number}")]},
            {"configurable": {"thread_id": "t"}},
            context={"user_id": "ana"},
        )
        outcomes.append(len(memview.history("ana")))
    assert outcomes == [1, 1, 2, 2, 2]
