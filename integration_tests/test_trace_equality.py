"""With the draws taken out of the game, two adjacent memories look the same everywhere.

The draw is a fixed sequence that ignores the scores. Whatever then still differs
between M and M' (a prompt, an answer, a log line, a checkpoint, the number or order of
model calls) has leaked by the control flow (C4, C6). Ids and times, which differ between
any two runs, are replaced before the comparison. The twin leaks and must be noticed.
"""

import gc
import logging
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.choice import Choice
from langchain_memview.scorers import EmbeddingScorer
from langchain_memview.testing.draws import memview_with
from langchain_memview.testing.embeddings import WordEmbeddings

ROOT = Path(__file__).parents[1]
POLICY = mv.load_policy(ROOT / "examples" / "meal_policy.yaml")

# They agree off I_a = {1, 2, 3} of type-2 diabetes, and differ there in every way:
# evidence, nothing, other length, other scores, text that looks like code.
COMMON = {4: "Owes 9,000 on two credit cards.", 5: "Pays the minimum.", 6: "Commutes."}
STORE = COMMON | {1: "Has type-2 diabetes, takes metformin.", 2: "Counts carbs."}
OTHER = COMMON | {3: "x" * 5000 + "{placeholder} %s \x00 <b>pasta</b>"}

QUESTIONS = (
    "A healthy lunch?",
    "Plan an affordable dinner for tonight.",
    "Good morning!",
    "A quick weeknight snack, cheap please",
    "What should I cook?",
    "How do I get more energy?",
)


@tool
def pantry() -> str:
    """Say what is in the pantry."""
    return "rice, beans"


class Recorder(BaseChatModel):
    """Calls a tool first, then answers; keeps what it was given."""

    prompts: list[list[BaseMessage]]

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
        if isinstance(messages[-1], HumanMessage):
            calls = [{"name": "pantry", "args": {}, "id": f"c{len(self.prompts)}"}]
            answer = AIMessage("", tool_calls=calls)
        else:
            answer = AIMessage(f"Rice and beans. {len(messages[0].text)}")
        return ChatResult(generations=[ChatGeneration(message=answer)])


class Leak(AgentMiddleware[Any, Any]):
    """Says more often 'hm' when there is more memory: the twin's leak."""

    def __init__(self, memories: dict[int, str]) -> None:
        super().__init__()
        self.memories = memories

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if len(self.memories) > 4:
            logging.getLogger("leak").info("hm")
        return None


def observed(
    memories: dict[int, str],
    directory: Path,
    caplog: Any,
    *layers: Any,
    policy: mv.Policy = POLICY,
    scorer: Any = None,
    placement: Any = "system",
) -> dict[str, str]:
    """Return everything that can be observed of a dialogue, by channel."""
    numbers = count()

    def draw(choice: Choice) -> int:
        return next(numbers) * 7 % len(choice.probabilities())

    directory.mkdir()
    # What other tests left behind says so when it is collected, but not in here.
    gc.collect()
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    connection = sqlite3.connect(directory / "g.sqlite", check_same_thread=False)
    saver = SqliteSaver(connection)
    memview = memview_with(
        draw,
        policy,
        InMemoryBackend({"ana": memories}),
        ledger=mv.ledger_from_checkpointer(saver),
        scorer=scorer,
    )
    memview.prepare()
    model = Recorder(prompts=[])
    agent = create_agent(
        model,
        [pantry],
        system_prompt="You plan meals.",
        middleware=[
            mv.MemViewMiddleware(memview, audience="app", placement=placement),
            *layers,
        ],
        checkpointer=saver,
    )
    outputs = [
        agent.invoke(
            {"messages": [HumanMessage(question, id=f"q{number}")]},
            {"configurable": {"thread_id": "t"}},
            context={"user_id": "ana"},
        )
        for number, question in enumerate(QUESTIONS)
    ]
    found = {
        "prompts": repr(model.prompts),
        "model calls": str(len(model.prompts)),
        "outputs": repr(outputs),
        "checkpoints": repr(_checkpoints(saver)),
        "logs": "\n".join(record.getMessage() for record in caplog.records),
        "history": repr(memview.history("ana")),
        "balances": repr(memview.balances("ana")),
    }
    connection.close()
    return {channel: _comparable(text) for channel, text in found.items()}


def _checkpoints(saver: SqliteSaver) -> list[Any]:
    return [
        (saved.checkpoint["channel_values"], saved.metadata, saved.pending_writes)
        for saved in saver.list({"configurable": {"thread_id": "t"}})
    ]


def _comparable(text: str) -> str:
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uuid>", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "<time>", text)
    return re.sub(r"/[^' ]*/(mine|yours)/", "<directory>/", text)


BUDGETS = [
    POLICY.budget,
    mv.OnlineBudget(3, fallback="latest"),
    mv.StandingBudget(),
    mv.StandingBudget(mv.TurnEpochs(turns=2, planned=2)),
]


@pytest.mark.parametrize("budget", BUDGETS, ids=["online", "latest", "once", "epochs"])
def test_adjacent_memories_give_the_same_prompts_outputs_logs_and_checkpoints(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, budget: Any
):
    used = replace(POLICY, budget=budget)
    # Some libraries log their first use.
    observed(STORE, tmp_path / "first", caplog, policy=used)
    mine = observed(STORE, tmp_path / "mine", caplog, policy=used)
    yours = observed(OTHER, tmp_path / "yours", caplog, policy=used)
    assert mine == yours
    assert mine["model calls"] == str(2 * len(QUESTIONS))
    assert re.search(r"'food': '(?!generic)", mine["checkpoints"])
    assert "selected" in mine["history"]
    assert {channel for channel, text in mine.items() if not text} <= {"logs"}


class Picky(WordEmbeddings):
    """Fails for long texts: which memories it embeds depends on what they say."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any(len(text) > 1000 for text in texts):
            raise RuntimeError(f"too long: {texts}")
        return super().embed_documents(texts)


@pytest.mark.parametrize("placement", ["system", "user"])
def test_so_they_do_where_embeddings_support_views(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, placement: str
) -> None:
    used = replace(POLICY, scorer=mv.EmbeddingScore("words", "0.3", 9, "0.2"))

    def dialogue(memories: dict[int, str], name: str) -> dict[str, str]:
        return observed(
            memories,
            tmp_path / name,
            caplog,
            policy=used,
            scorer=EmbeddingScorer.of(used, Picky()),
            placement=placement,
        )

    dialogue(STORE, "first")
    mine, yours = dialogue(STORE, "mine"), dialogue(OTHER, "yours")
    assert mine == yours
    assert re.search(r"'food': '(?!generic)", mine["checkpoints"])
    assert "selected" in mine["history"]


def test_the_comparison_above_notices_one_more_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    mine = observed(STORE, tmp_path / "mine", caplog, Leak(STORE))
    yours = observed(OTHER, tmp_path / "yours", caplog, Leak(OTHER))
    assert {channel for channel in mine if mine[channel] != yours[channel]} == {"logs"}
