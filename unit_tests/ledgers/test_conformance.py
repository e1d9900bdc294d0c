"""Every ledger store of the package keeps the same promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import (
    LedgerConformance,
    account,
    answer,
    charged,
    operation,
    spent,
)

# All code points, lone surrogates included, and what separates or quotes.
NAMES = st.text(
    st.sampled_from("a1\\\"',:[]%_ \x00\ud83d\ude00😀é") | st.characters(), max_size=4
)


class TestInMemoryLedger(LedgerConformance):
    @pytest.fixture
    def ledger(self) -> LedgerStore:
        return InMemoryLedger()


class TestSqliteLedger(LedgerConformance):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[LedgerStore]:
        store = SqliteLedger(tmp_path / "ledger.sqlite")
        yield store
        store.close()

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        mine=st.tuples(NAMES, NAMES, st.none() | NAMES),
        yours=st.tuples(NAMES, NAMES, st.none() | NAMES),
    )
    def test_two_different_accounts_never_share_a_ledger(
        self,
        ledger: LedgerStore,
        mine: tuple[str, str, str | None],
        yours: tuple[str, str, str | None],
    ) -> None:
        assume(mine != yours)
        own, other = (
            account(subject, lineage=lineage, audience=audience)
            for subject, lineage, audience in (mine, yours)
        )
        assert own.key != other.key
        before = spent(ledger.ledger(other))
        ledger.transact(own, operation("t1"), answer(charged("health")))
        assert spent(ledger.ledger(own))["health"] == 1
        assert spent(ledger.ledger(other)) == before
