"""Which checkpointers have a ledger, and what those that have none are told."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.errors import WiringError
from langchain_memview.ledgers import InMemoryLedger, ledger_from_checkpointer
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    operation,
    spent,
)


def test_the_ledger_of_a_saver_is_in_the_saver_s_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        ledger = ledger_from_checkpointer(SqliteSaver(connection))
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        rows = connection.execute("SELECT operation FROM memview_release").fetchall()
        assert rows == [("t1",)]


async def test_the_ledger_of_an_asynchronous_saver_is_in_the_saver_s_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        ledger = ledger_from_checkpointer(saver)
        await asyncio.to_thread(
            ledger.transact, account(), operation("t1"), answer(charged("health"))
        )
        assert spent(ledger.ledger(account())) == {"health": 1, "debt": 0}
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT operation FROM memview_release").fetchall()
    assert rows == [("t1",)]


async def test_a_blocking_call_in_the_saver_s_own_loop_says_what_to_await(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "agent.sqlite")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        ledger = ledger_from_checkpointer(saver)
        with pytest.raises(WiringError, match=r"Await .*memview.aturn"):
            ledger.ledger(account())


async def test_a_saver_whose_connection_is_closed_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "agent.sqlite")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        ledger = ledger_from_checkpointer(saver)
    with pytest.raises(WiringError, match="while the checkpointer is open"):
        await asyncio.to_thread(ledger.ledger, account())


def test_a_saver_whose_loop_has_ended_is_refused(tmp_path: Path) -> None:
    async def build() -> LedgerStore:
        path = str(tmp_path / "agent.sqlite")
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            return ledger_from_checkpointer(saver)

    ledger = asyncio.run(build())
    with pytest.raises(WiringError, match="event loop that has ended"):
        ledger.ledger(account())


def test_a_closed_connection_or_one_of_another_thread_is_refused(
    tmp_path: Path,
) -> None:
    connection = sqlite3.connect(tmp_path / "agent.sqlite")
    saver = SqliteSaver(connection)
    errors: list[str] = []

    def build() -> None:
        with pytest.raises(WiringError) as caught:
            ledger_from_checkpointer(saver)
        errors.append(str(caught.value))

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    connection.close()
    build()
    assert len(errors) == 2
    assert all("check_same_thread=False" in error for error in errors)


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_saver_that_keeps_nothing_needs_to_be_allowed(path: str) -> None:
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        for saver in (SqliteSaver(connection), InMemorySaver()):
            with pytest.raises(WiringError, match="allow_ephemeral=True"):
                ledger_from_checkpointer(saver)
            ledger = ledger_from_checkpointer(saver, allow_ephemeral=True)
            assert isinstance(ledger, InMemoryLedger)


def test_a_saver_of_another_kind_is_told_the_two_choices() -> None:
    impostor = type("SqliteSaver", (), {})()
    with pytest.raises(WiringError, match="cannot be located"):
        ledger_from_checkpointer(impostor)
    for saver in (None, object(), "ledger.sqlite"):
        with pytest.raises(WiringError, match=r"Two choices.*SqliteLedger\('"):
            ledger_from_checkpointer(saver)
