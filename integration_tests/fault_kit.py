"""What the fault tests share: one question, its model and a world in each database.

A place is a SQLite file or a PostgreSQL address.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import aiosqlite
from fault_counting import Counting, note, on_postgres
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from pydantic import Field
from typing_extensions import override

import langchain_memview as mv
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.choice import Draw, fresh_draw
from langchain_memview.core.policy import Policy
from langchain_memview.testing.draws import memview_with

# Of many views, a second draw would hardly ever choose the one of the first.
OTHERS = {name: f"{name.upper()}." for name in "bcdefgh"}
VIEWS: dict[str, str | mv.View] = {
    "generic": "Any.",
    "a": mv.View("A.", ["owes"]),
    **OTHERS,
}
SENTENCES = {"generic": "- Any.", "a": "- A."} | {n: f"- {OTHERS[n]}" for n in OTHERS}
POLICY = Policy(
    "faults",
    {"debt": mv.ProtectedAttribute([1], cap=2)},
    [mv.Slot("food", when=["dinner", "lunch"], views=VIEWS, capacity=1)],
    mv.OnlineBudget(3),
)
CHARGE = Fraction(2, 3)
MEMORY = InMemoryBackend({"ana": {1: "Owes 9,000."}})
CONTEXT: Any = {"user_id": "ana"}


class Model(BaseChatModel):
    """Keeps its system messages and answers with them, or fails as it is told.

    Attributes:
        before: Called before each answer; what it raises is the model's error.
        prompts: Last line of each system message that the model was given.
    """

    before: Callable[[], None] = lambda: None
    prompts: list[str] = Field(default_factory=list)

    @property
    @override
    def _llm_type(self) -> str:
        return "fault"

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(messages[0].text.splitlines()[-1])
        self.before()
        answer = AIMessage(self.prompts[-1])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def failing(times: int) -> Callable[[], None]:
    """Return a function that raises an error as often as said, and then no more."""
    left = [ConnectionError("out of order")] * times

    def fail() -> None:
        if left:
            raise left.pop()

    return fail


@dataclass(frozen=True)
class World:
    """A real saver with a real ledger beside it, and the interface on both.

    Attributes:
        place: The SQLite file or PostgreSQL address.
        saver: The checkpointer.
        memview: The interface; its memory holds one text of ana.
        ledger: Its ledger, which counts.
        said: What the ledger counted, also over earlier worlds if it is theirs.
    """

    place: str
    saver: Any
    memview: mv.MemView
    ledger: Counting
    said: list[str]

    def agent(
        self, model: Model, outside: Sequence[Any] = (), inside: Sequence[Any] = ()
    ) -> Any:
        """Return an agent with other middlewares outside and inside of MemView's."""
        layers: list[AgentMiddleware[Any, Any]] = [
            *outside,
            mv.MemViewMiddleware(self.memview, audience="app"),
            *inside,
        ]
        return create_agent(model, middleware=layers, checkpointer=self.saver)

    def views(self) -> list[str]:
        """Return the name of every view that is recorded, oldest first."""
        return [record.slots[0].view for record in self.memview.history("ana")]

    def check(self, case: str, fresh: int, replayed: int, spent: Fraction) -> None:
        """Assert what was drawn, replayed and spent, exactly, and note it."""
        expected = (fresh, replayed, spent)
        found = (
            self.said.count("fresh"),
            self.said.count("replayed"),
            self.memview.balances("ana")["debt"].spent,
        )
        assert found == expected, f"{case}: {found}, not {expected}"
        drawn = [r for r in self.memview.history("ana") if r.slots[0].charged]
        assert len(drawn) == fresh, f"{case}: {len(drawn)} releases are recorded"
        note(case, self.place, *found)


def world_on(
    place: str,
    saver: Any,
    said: list[str] | None = None,
    *,
    draw: Draw = fresh_draw,
    committed: Callable[[], None] = lambda: None,
) -> World:
    """Return a world on an open saver.

    Args:
        place: Where the saver is.
        saver: The checkpointer.
        said: What was counted before, to count on.
        draw: Draws a view, inside the ledger's transaction.
        committed: Called after each of the ledger's transactions.
    """
    said = [] if said is None else said
    ledger = Counting(mv.ledger_from_checkpointer(saver), said, committed)
    memview = memview_with(draw, POLICY, MEMORY, ledger=ledger)
    return World(place, saver, memview, ledger, said)


@contextmanager
def opened(place: str, *, pooled: bool = False) -> Iterator[Any]:
    """Give an open saver; on PostgreSQL with one connection or a pool of them."""
    if on_postgres(place):
        one = PostgresSaver.from_conn_string(place)
        with _pooled(place) if pooled else one as saver:
            saver.setup()
            yield saver
        return
    with closing(sqlite3.connect(place, 30, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


@contextmanager
def _pooled(place: str) -> Iterator[PostgresSaver]:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(place, min_size=4, open=True, kwargs=options) as pool:
        pool.wait()
        yield PostgresSaver(pool)  # type: ignore[arg-type]


@asynccontextmanager
async def opened_async(place: str) -> AsyncIterator[Any]:
    """Give an open asynchronous saver."""
    if on_postgres(place):
        async with AsyncPostgresSaver.from_conn_string(place) as saver:
            await saver.setup()
            yield saver
        return
    async with aiosqlite.connect(place, timeout=30) as connection:
        yield AsyncSqliteSaver(connection)


def thread(name: object = "t") -> Any:
    """Return the configuration of a run in a thread."""
    return {"configurable": {"thread_id": name}}


def asked(text: str = "dinner?", id_: str = "q1") -> Any:
    """Return the input of a run that asks a question under a message id."""
    return {"messages": [HumanMessage(text, id=id_)]}
