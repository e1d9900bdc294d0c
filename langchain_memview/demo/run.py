"""The meal planner's engine: one agent, memories and ledgers on disk, one turn a call.

The memories are in Chroma; conversation and ledgers are in one SQLite file, so what was
spent outlives the process. Every opened planner is a new thread of the same person: it
starts a new conversation, and goes on with the same ledgers.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langsmith import tracing_context
from typing_extensions import TypedDict

from langchain_memview.backends.chroma import ChromaBackend
from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.ledger import Balance
from langchain_memview.demo.policy import meal_policy
from langchain_memview.demo.turns import SlotLine, Turn
from langchain_memview.demo.user import ANA, remember_ana
from langchain_memview.errors import MemViewError
from langchain_memview.graph.middleware import MemViewMiddleware
from langchain_memview.graph.prompt import Placement
from langchain_memview.ledgers.from_checkpointer import ledger_from_checkpointer
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.memview import MemView
from langchain_memview.models.unavailable import ModelUnavailableError, first_line
from langchain_memview.testing.draws import seeded_memview

AUDIENCE = "meal-planner"

SYSTEM_PROMPT = (
    "You plan meals for an app. Suggest one dish and one alternative in at most four "
    "sentences, with the figures that matter. Do not guess anything about the user."
)


class _Context(TypedDict):
    user_id: str


class MealPlanner:
    """Asks an agent about meals for Ana, and tells what its model was given.

    Args:
        memview: The trusted interface that holds Ana's memories.
        model: Any chat model.
        saver: Keeps the conversation.
        placement: Where the views stand in the prompt.
    """

    def __init__(
        self,
        memview: MemView,
        model: BaseChatModel,
        saver: SqliteSaver,
        placement: Placement = "system",
    ) -> None:
        self._memview = memview
        self._config: Any = {"configurable": {"thread_id": uuid4().hex}}
        self._agent = create_agent(
            model,
            system_prompt=SYSTEM_PROMPT,
            middleware=[
                MemViewMiddleware(memview, audience=AUDIENCE, placement=placement)
            ],
            context_schema=_Context,
            checkpointer=saver,
        )

    @property
    def balances(self) -> Mapping[str, Balance]:
        """Return spent and cap of every attribute, in nats."""
        return self._memview.balances(ANA)

    def ask(self, question: str) -> Turn:
        """Return the turn of this question; its charges stay, whatever happens next.

        Args:
            question: What the app asks. Public.

        Raises:
            ModelUnavailableError: The chat model does not answer.
            MemViewError: Memories or ledger cannot be reached; nothing was released.
            sqlite3.Error: The conversation cannot be written.
        """
        try:
            # The demo sends nothing anywhere, even where tracing is switched on.
            with tracing_context(enabled=False):
                state = self._agent.invoke(
                    {"messages": [HumanMessage(question)]},
                    self._config,
                    context={"user_id": ANA},
                )
        except (MemViewError, sqlite3.Error):
            raise
        except Exception as error:  # noqa: BLE001 - every provider has its own errors
            raise ModelUnavailableError(
                f"the chat model does not answer ({first_line(error)}). Check that it "
                "can be reached and that its key is valid, or use --model embedded."
            ) from None
        answer = state["messages"][-1].text
        return Turn(question, self._released(), answer, self.balances)

    def _released(self) -> tuple[SlotLine, ...]:
        """Return the slots of the last operation; a turn without slots is no record."""
        operation = self._agent.get_state(self._config).values["memview"]["operation"]
        return tuple(
            SlotLine.of(self._memview.policy, release)
            for record in self._memview.history(ANA)
            if record.operation.id == operation
            for release in record.slots
        )


@contextmanager
def open_planner(
    directory: Path | None,
    model: BaseChatModel,
    seed: int | None,
    placement: Placement = "system",
) -> Iterator[MealPlanner]:
    """Return a planner on this directory for the length of a `with` block.

    Args:
        directory: Where memories, conversation and ledgers are kept, made if missing;
            None takes a temporary one, which is removed at the end.
        model: The chat model.
        seed: Seed of the draws, which then are not private; None for real coins.
        placement: Where the views stand in the prompt.

    Raises:
        MemViewError: The memories or the ledger in the directory cannot be used.
        OSError: The directory cannot be made.
        sqlite3.Error: The conversation in it cannot be opened.
    """
    place = nullcontext(directory) if directory else TemporaryDirectory()
    with place as name:
        home = Path(name)
        home.mkdir(parents=True, exist_ok=True)
        file = home / "planner.sqlite"
        with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
            saver = SqliteSaver(connection)
            ledger = ledger_from_checkpointer(saver)
            try:
                memview = _memview(ChromaBackend(home / "memories"), ledger, seed)
                remember_ana(memview)
                yield MealPlanner(memview, model, saver, placement)
            finally:
                if isinstance(ledger, SqliteLedger):
                    ledger.close()


def _memview(backend: Backend, ledger: LedgerStore, seed: int | None) -> MemView:
    if seed is None:
        return MemView(meal_policy(), backend, ledger=ledger)
    return seeded_memview(meal_policy(), backend, ledger=ledger, seed=seed)
