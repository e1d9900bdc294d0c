"""Runs that are cancelled, lose their database or wait for it: charged once or not at all."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fault_counting import on_postgres
from fault_kit import (
    CHARGE,
    CONTEXT,
    SENTENCES,
    Model,
    World,
    asked,
    opened,
    opened_async,
    thread,
    world_on,
)
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy

import langchain_memview as mv
from langchain_memview.core.choice import Choice, Draw, fresh_draw
from langchain_memview.errors import LedgerUnavailableError

WORKER = Path(__file__).with_name("fault_worker.py")
BUSY_SECONDS = 5


def drawing(meanwhile: Callable[[], None]) -> Draw:
    """Return a draw that does something else before the ledger's transaction goes on."""

    def draw(choice: Choice) -> int:
        view = fresh_draw(choice)
        meanwhile()
        return view

    return draw


def close_ledger(world: World) -> None:
    world.ledger.behind.close()  # type: ignore[attr-defined]


@pytest.fixture
def lose(place: str, request: pytest.FixtureRequest) -> Callable[[World], None]:
    """Return a function that ends every connection to a world's database.

    A PostgreSQL server is killed and recovers; a file has no server, so its connections
    are closed wherever they are.
    """

    def restart(world: World) -> None:
        server = request.getfixturevalue("cluster")
        server.stop()
        server.start()

    def close(world: World) -> None:
        with world.saver.lock:  # or a thread that writes a checkpoint would crash
            world.saver.conn.close()
        close_ledger(world)

    return restart if on_postgres(place) else close


def ask(world: World, model: Model, text: str = "dinner?", message: str = "q1") -> None:
    world.agent(model).invoke(asked(text, message), thread(), context=CONTEXT)


# -- cancelled -------------------------------------------------------------------------


async def awaited(world: World, how: str) -> None:
    """Ask the question, in an agent's run of some durability or without an agent."""
    if how == "aturn":
        await world.memview.aturn(
            "dinner?", subject="ana", audience="app", operation="t1"
        )
        return
    durability: Any = how
    agent = world.agent(Model())
    await agent.ainvoke(asked(), thread(), context=CONTEXT, durability=durability)


@pytest.mark.parametrize("how", ["aturn", "exit", "async", "sync"])
async def test_a_call_that_is_cancelled_in_its_transaction_is_charged_once(
    place: str, how: str
) -> None:
    """Its thread cannot be stopped, so it commits; whoever asks again gets that view."""
    inside, go_on = threading.Event(), threading.Event()

    def held() -> None:
        inside.set()
        assert go_on.wait(30)

    async with opened_async(place) as saver:
        world = world_on(place, saver, draw=drawing(held))
        call = asyncio.create_task(awaited(world, how))
        assert await asyncio.to_thread(inside.wait, 30)
        assert not world.said
        call.cancel()
        # A run does not end before its checkpoints are written, which wait for us.
        asyncio.get_running_loop().call_later(0.2, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await call
        await awaited(world, how)
        await awaited(world, how)
        # Where nobody holds a lock, the cancelled one may be the last to come back.
        async with asyncio.timeout(30):
            while len(world.said) < 3:
                await asyncio.sleep(0.01)
        case = f"cancelled in mid-transaction, {how}"
        await asyncio.to_thread(world.check, case, 1, 2, CHARGE)


# -- lost ------------------------------------------------------------------------------


def test_a_database_lost_while_the_model_answers_has_the_release(
    place: str, lose: Callable[[World], None]
) -> None:
    with opened(place) as saver:
        world = world_on(place, saver)
        model = Model(before=lambda: lose(world))
        with pytest.raises(Exception, match=r"closed|terminat|connection"):
            ask(world, model)
    with opened(place) as saver:
        again = world_on(place, saver, world.said)
        second = Model()
        ask(again, second)
        assert model.prompts == second.prompts == [SENTENCES[v] for v in again.views()]
        again.check("database restart while the model answers", 1, 1, CHARGE)


def test_a_database_lost_in_the_transaction_has_charged_nothing(
    place: str, lose: Callable[[World], None]
) -> None:
    with opened(place) as saver:
        world = world_on(place, saver, draw=drawing(lambda: lose(world)))
        with pytest.raises(LedgerUnavailableError):
            world.memview.turn("dinner?", subject="ana", audience="app", operation="t1")
    with opened(place) as saver:
        again = world_on(place, saver, world.said)
        again.check("database restart in mid-transaction", 0, 0, 0 * CHARGE)
        for _ in range(2):
            again.memview.turn("dinner?", subject="ana", audience="app", operation="t1")
        again.check("database back, operation repeated twice", 1, 1, CHARGE)


def test_a_run_goes_on_after_its_database_was_lost(
    place: str, lose: Callable[[World], None]
) -> None:
    """With a pool, or a file, and a node that is retried once when the ledger is away."""
    left = [lose if on_postgres(place) else close_ledger]

    def once() -> None:
        if left:
            left.pop()(world)

    with opened(place, pooled=True) as saver:
        world = world_on(place, saver, draw=drawing(once))
        builder = StateGraph(mv.MemViewState)
        builder.add_node(
            "memview",
            mv.memview_node(world.memview, audience="app"),
            retry_policy=RetryPolicy(
                max_attempts=2, initial_interval=0.01, retry_on=LedgerUnavailableError
            ),
        )
        graph = builder.add_edge(START, "memview").compile(checkpointer=saver)
        out = graph.invoke(asked(), thread(), context=CONTEXT, durability="exit")
        assert [out["memview"]["views"]["food"]] == world.views()
        world.check("database restart in a run that goes on", 1, 0, CHARGE)


# -- busy ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ledger_that_another_process_holds_for_five_seconds_is_waited_for(
    place: str,
) -> None:
    with opened(place) as saver:
        world = world_on(place, saver)
        # Makes the saver's tables, so that it is the ledger that waits.
        ask(world, Model(), "Good morning!", "q0")
        with holder(place) as other:
            began = time.monotonic()
            ask(world, Model())
            assert time.monotonic() - began > BUSY_SECONDS - 1
            assert other.wait(30) == 0
        ask(world, Model())
        world.check("ledger busy for 5 s, asked twice", 1, 1, CHARGE)


@contextmanager
def holder(place: str) -> Iterator[subprocess.Popen[str]]:
    """Give a process that has begun to keep everybody else from the ledger."""
    with subprocess.Popen(
        [sys.executable, WORKER, place, str(BUSY_SECONDS)],
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other
