"""The ledger on the connection of a LangGraph checkpointer, synchronous or not."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypedDict

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from langchain_memview import ledger_from_checkpointer
from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerUnavailableError, WiringError
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    if_admitted,
    in_threads,
    never,
    operation,
    spent,
)

SAVER = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


class State(TypedDict):
    turn: str


def graph(ledger: LedgerStore, saver: Any) -> Any:
    """Return a graph whose one node charges the ledger; also asynchronously."""

    def charge(state: State) -> dict[str, str]:
        decide = if_admitted("debt")
        record, _ = ledger.transact(account(), operation(state["turn"]), decide)
        return {"turn": record.slots[0].outcome}

    builder = StateGraph(State)
    builder.add_node("charge", charge)
    builder.add_edge(START, "charge")
    return builder.compile(checkpointer=saver)


def config(thread: int) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(thread)}}


@asynccontextmanager
async def async_saver(address: str, kind: str) -> AsyncIterator[AsyncPostgresSaver]:
    if kind == "connection":
        async with AsyncPostgresSaver.from_conn_string(address) as saver:
            yield saver
        return
    pool = AsyncConnectionPool(
        address, min_size=2, max_size=4, open=False, kwargs=SAVER
    )
    async with pool:
        yield AsyncPostgresSaver(pool)


KINDS = pytest.mark.parametrize("kind", ["connection", "pool"])


# -- synchronous -----------------------------------------------------------------------


@KINDS
def test_a_graph_and_its_ledger_share_the_saver_s_connection(
    address: str, kind: str
) -> None:
    def check(saver: PostgresSaver) -> None:
        saver.setup()
        ledger = ledger_from_checkpointer(saver)
        app = graph(ledger, saver)
        outcomes = app.batch(
            [{"turn": f"t{n}"} for n in range(9)], [config(n) for n in range(9)]
        )
        counts = sorted(state["turn"] for state in outcomes)
        assert counts == ["generic"] * 6 + ["selected"] * 3

        def broken(_: Ledger) -> list[SlotRelease]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ledger.transact(account(), operation("broken"), broken)
        assert app.get_state(config(0)).values["turn"] in ("generic", "selected")
        assert spent(ledger.ledger(account())) == {"health": 0, "debt": 3}

    if kind == "connection":
        with PostgresSaver.from_conn_string(address) as saver:
            check(saver)
    else:
        with ConnectionPool(
            address, min_size=2, max_size=4, open=True, kwargs=SAVER
        ) as pool:
            check(PostgresSaver(pool))


def test_a_saver_in_pipeline_mode_is_refused(address: str) -> None:
    with (
        PostgresSaver.from_conn_string(address, pipeline=True) as saver,
        pytest.raises(WiringError, match=r"Open it without `pipeline=True`"),
    ):
        ledger_from_checkpointer(saver)


async def test_an_asynchronous_saver_in_pipeline_mode_is_refused(address: str) -> None:
    async with AsyncPostgresSaver.from_conn_string(address, pipeline=True) as saver:
        with pytest.raises(WiringError, match=r"Open it without `pipeline=True`"):
            ledger_from_checkpointer(saver)


# -- asynchronous ----------------------------------------------------------------------


@KINDS
async def test_forty_concurrent_runs_charge_what_the_cap_allows(
    address: str, kind: str
) -> None:
    async with async_saver(address, kind) as saver:
        await saver.setup()
        ledger = ledger_from_checkpointer(saver)
        app = graph(ledger, saver)
        states = await asyncio.gather(
            *(app.ainvoke({"turn": f"t{n}"}, config(n)) for n in range(40))
        )
        counts = sorted(state["turn"] for state in states)
        assert counts == ["generic"] * 37 + ["selected"] * 3
        now = await asyncio.to_thread(ledger.ledger, account())
        assert spent(now) == {"health": 0, "debt": 3}


async def test_a_synchronous_call_on_the_saver_s_loop_is_refused(address: str) -> None:
    async with async_saver(address, "connection") as saver:
        ledger = ledger_from_checkpointer(saver)
        with pytest.raises(WiringError, match=r"memview\.aturn"):
            ledger.transact(account(), operation("t1"), never)


async def test_the_loop_goes_on_while_the_ledger_waits_and_while_it_decides(
    address: str,
) -> None:
    async with async_saver(address, "pool") as saver:
        ledger = ledger_from_checkpointer(saver)
        await asyncio.to_thread(
            ledger.transact, account(), operation("t1"), answer(charged("health"))
        )

        def slow(_: Ledger) -> list[SlotRelease]:
            time.sleep(0.3)
            return [charged("debt")]

        # The second finds that the first was faster, and decides again.
        work = asyncio.gather(
            asyncio.to_thread(ledger.transact, account(), operation("t2"), slow),
            asyncio.to_thread(ledger.transact, account(), operation("t3"), slow),
        )
        longest = await longest_pause_until(work)
        assert longest < 0.15
        now = await asyncio.to_thread(ledger.ledger, account())
        assert spent(now) == {"health": 1, "debt": 2}


async def longest_pause_until(work: "asyncio.Future[Any]") -> float:
    longest, last = 0.0, time.perf_counter()
    while not work.done():
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    await work
    return longest


@KINDS
async def test_a_caller_that_is_cancelled_can_have_its_recorded_release(
    address: str, kind: str
) -> None:
    """The thread that works for it cannot be stopped, so it charges and records."""
    async with async_saver(address, kind) as saver:
        await saver.setup()
        ledger = ledger_from_checkpointer(saver)
        inside, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(_: Ledger) -> list[SlotRelease]:
            loop.call_soon_threadsafe(inside.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10)
            return [charged("debt")]

        work = asyncio.create_task(
            asyncio.to_thread(ledger.transact, account(), operation("t1"), slow)
        )
        await inside.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        go_on.set()
        while not await asyncio.to_thread(ledger.history, account()):
            await asyncio.sleep(0.01)
        record, after = await asyncio.to_thread(
            ledger.transact, account(), operation("t1"), never
        )
        assert record.replayed
        assert spent(after) == {"health": 0, "debt": 1}
        assert await saver.aget_tuple(config(1)) is None


async def test_a_ledger_opened_beside_a_connection_logs_in_as_the_saver_does(
    address: str, cluster
) -> None:
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute("CREATE ROLE guest LOGIN PASSWORD 'secret-word'")
        schema = owner.execute("SELECT current_schema").fetchone()[0]
        owner.execute(f"GRANT ALL ON SCHEMA {schema} TO guest")
        owner.execute(f"ALTER ROLE guest SET search_path = {schema}")
    with cluster.passwords():
        guest = f"postgresql://guest:secret-word@/postgres?host={cluster.folder}"
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(guest.replace("secret-word", "another"))
        for kind in ("connection", "pool"):
            async with async_saver(guest, kind) as saver:
                ledger = ledger_from_checkpointer(saver)
                await asyncio.to_thread(
                    ledger.transact, account(), operation(kind), answer(charged("debt"))
                )
                assert "secret-word" not in repr(ledger)


async def test_a_pool_whose_address_comes_from_a_coroutine_is_refused() -> None:
    async def conninfo() -> str:
        return ""

    pool = AsyncConnectionPool(conninfo, open=False)
    with pytest.raises(WiringError, match=r"PostgresLedger\(ConnectionPool"):
        PostgresLedger(pool)


async def test_a_closed_connection_is_refused(address: str) -> None:
    async with async_saver(address, "connection") as saver:
        pass
    with pytest.raises(WiringError, match="closed"):
        ledger_from_checkpointer(saver)


async def test_a_restart_of_the_server_costs_one_error(cluster, address: str) -> None:
    pool = AsyncConnectionPool(address, open=False)
    ledger = PostgresLedger(pool)

    def work() -> None:
        together = threading.Barrier(3)

        def decide(_: Ledger) -> list[SlotRelease]:
            together.wait(10)
            return [charged("health")]

        in_threads(
            lambda n: ledger.transact(account(f"u{n}"), operation("t1"), decide), 3
        )
        cluster.stop()
        cluster.start()
        with pytest.raises(LedgerUnavailableError):
            ledger.transact(account("u0"), operation("t1"), never)
        for number in range(3):
            for _ in range(3):
                record, _ = ledger.transact(
                    account(f"u{number}"), operation("t1"), never
                )
                assert record.replayed

    await asyncio.to_thread(work)
