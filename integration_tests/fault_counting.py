"""Counts what a ledger releases, and the table of the fault tests.

`MEMVIEW_FAULT_TABLE` names a file that gets a row of each checked case: case, engine,
fresh draws, replays, spent. `sort FILE | uniq -c` is the matrix.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
)
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease


class Counting(LedgerStore):
    """A ledger that counts the releases that were drawn and those that were replayed.

    A decision that the store discarded, because somebody else released meanwhile, was
    never released and is not counted. `World.check` compares with what is recorded, so
    that the store's word for it is not all there is.

    Args:
        ledger: The ledger behind it.
        said: Where each release is noted; share it to count over several ledgers.
        committed: Called after each transaction.
    """

    def __init__(
        self,
        ledger: LedgerStore,
        said: list[str],
        committed: Callable[[], None] = lambda: None,
    ) -> None:
        self.behind = ledger
        self._said = said
        self._committed = committed

    @override
    def find(self, account: Account, operation: Operation) -> Record | None:
        found = self.behind.find(account, operation)
        if found:
            self._said.append("replayed")
        return found

    @override
    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        decided: list[Sequence[SlotRelease]] = []

        def watched(ledger: Ledger) -> Sequence[SlotRelease]:
            decided.append(decide(ledger))
            return decided[-1]

        record, ledger = self.behind.transact(account, operation, watched)
        self._committed()
        if record.replayed or not decided:
            self._said.append("replayed")
        elif any(slot.charged for slot in decided[-1]):
            self._said.append("fresh")
        return record, ledger

    @override
    def ledger(self, account: Account) -> Ledger:
        return self.behind.ledger(account)

    @override
    def version(self, account: Account) -> str:
        return self.behind.version(account)

    @override
    def history(self, account: Account) -> Sequence[Record]:
        return self.behind.history(account)


def note(case: str, place: str, fresh: int, replayed: int, spent: object) -> None:
    """Append a row to the table that `MEMVIEW_FAULT_TABLE` names, if it does."""
    file = os.environ.get("MEMVIEW_FAULT_TABLE")
    if file:
        engine = "postgres" if on_postgres(place) else "sqlite"
        with Path(file).open("a", encoding="utf-8") as table:
            table.write(f"{case}\t{engine}\t{fresh}\t{replayed}\t{spent}\n")


def on_postgres(place: str) -> bool:
    """Return whether the place is a PostgreSQL address."""
    return place.startswith("postgresql:")
