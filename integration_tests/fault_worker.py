"""One process of the fault tests: runs an agent and dies where it is told to.

It asks one question under a fixed message id; a process that finds the interrupted run
of an earlier one resumes it instead. What happened is written to a file as JSON.
"""

import json
import os
import signal
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.accounts import Account, Decide, Operation, Record
from langchain_memview.core.interface import fresh_draw
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.policy import Policy
from langchain_memview.testing.draws import memview_with

POLICY = Policy(
    "faults",
    {"debt": mv.ProtectedAttribute([1], cap=2)},
    [
        mv.Slot(
            "food",
            when=["dinner"],
            views={
                "generic": "Any.",
                "a": mv.View("A.", ["owes"]),
                "b": "B.",
                "c": "C.",
            },
            capacity=1,
        )
    ],
    mv.OnlineBudget(14),
)


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Model(BaseChatModel):
    """Answers with the system message that it was given, or dies."""

    dies: bool

    @property
    def _llm_type(self) -> str:
        return "fault"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.dies:
            die()
        answer = AIMessage(messages[0].text)
        return ChatResult(generations=[ChatGeneration(message=answer)])


class Counting:
    """A ledger that counts fresh draws and replays, and may die after a commit."""

    def __init__(self, ledger: Any, *, dies: bool) -> None:
        self._ledger = ledger
        self._dies = dies
        self.fresh = self.replayed = 0

    def find(self, account: Account, operation: Operation) -> Record | None:
        found = self._ledger.find(account, operation)
        self.replayed += found is not None
        return found

    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        record, ledger = self._ledger.transact(account, operation, decide)
        if self._dies:
            die()
        self.fresh += not record.replayed
        self.replayed += record.replayed
        return record, ledger

    def ledger(self, account: Account) -> Ledger:
        return self._ledger.ledger(account)

    def history(self, account: Account) -> Sequence[Record]:
        return self._ledger.history(account)


def main(file: str, durability: Any, point: str, report: str) -> None:
    """Run or resume the one question, and report what happened.

    Args:
        file: The checkpointer's SQLite file.
        durability: LangGraph's durability of the run.
        point: Where to die: before_commit, after_commit, in_model or none.
        report: The file for the report.
    """
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    ledger = Counting(mv.ledger_from_checkpointer(saver), dies=point == "after_commit")

    def draw(mechanism: Any, scores: Any, prior: Any) -> int:
        if point == "before_commit":
            die()
        return fresh_draw(mechanism, scores, prior)

    memview = memview_with(
        draw, POLICY, InMemoryBackend({"ana": {1: "Owes 9,000."}}), ledger=ledger
    )
    agent = create_agent(
        Model(dies=point == "in_model"),
        middleware=[mv.MemViewMiddleware(memview, audience="app")],
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    waiting = agent.get_state(config).next
    asked = {"messages": [HumanMessage("dinner?", id="q1")]}
    out = agent.invoke(
        None if waiting else asked,
        config,
        context={"user_id": "ana"},  # type: ignore[arg-type]
        durability=durability,
    )
    (record,) = memview.history("ana")
    spent = memview.balances("ana")["debt"].spent
    connection.close()
    Path(report).write_text(
        json.dumps(
            {
                "resumed": bool(waiting),
                "fresh": ledger.fresh,
                "replayed": ledger.replayed,
                "spent": str(spent),
                "recorded": record.slots[0].view,
                "prompt": out["messages"][-1].text.splitlines()[-1],
            }
        ),
        "utf-8",
    )
