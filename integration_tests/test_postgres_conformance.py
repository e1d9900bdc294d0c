"""The PostgreSQL ledger keeps every promise of a ledger, on each kind of connection."""

import asyncio
import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.testing.ledgers import LedgerConformance


class TestOnAConnection(LedgerConformance):
    @pytest.fixture
    def ledger(self, address: str) -> Iterator[LedgerStore]:
        with psycopg.connect(address) as connection:
            yield PostgresLedger(connection)


class TestOnAPool(LedgerConformance):
    @pytest.fixture
    def ledger(self, address: str) -> Iterator[LedgerStore]:
        with ConnectionPool(address, min_size=1, max_size=4) as pool:
            yield PostgresLedger(pool)


class TestOnAnAsynchronousPool(LedgerConformance):
    @pytest.fixture
    def ledger(self, address: str) -> Iterator[LedgerStore]:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        async def opened() -> tuple[AsyncConnectionPool, PostgresLedger]:
            pool = AsyncConnectionPool(address, min_size=1, max_size=4, open=False)
            await pool.open()
            return pool, PostgresLedger(pool)

        pool, ledger = asyncio.run_coroutine_threadsafe(opened(), loop).result(30)
        yield ledger
        asyncio.run_coroutine_threadsafe(pool.close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
