"""The PostgreSQL ledger keeps every promise of a ledger, on each kind of connection."""

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


class TestBesideAnAsynchronousPool(LedgerConformance):
    @pytest.fixture
    def ledger(self, address: str) -> LedgerStore:
        return PostgresLedger(AsyncConnectionPool(address, open=False))
