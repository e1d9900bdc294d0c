"""A ledger in this process: ephemeral, so it must be asked for by name.

When the process ends, so does the memory of what was spent; a new process starts at
zero. Use it for tests, for examples and where the conversation itself is ephemeral.
"""

import secrets
import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    Record,
    after,
    concerns,
    injective,
    nothing_released,
    same_request,
    without_views,
)
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.recount import recomputed
from langchain_memview.ledgers.rows import keyed_hash


@dataclass
class _Entry:
    subject: str
    lineage: str
    fingerprint: str = ""
    stored: Ledger = field(default_factory=lambda: Ledger({}))
    """Balances of every attribute that any policy had, so that none is forgotten."""
    records: list[Record] = field(default_factory=list)
    by_operation: dict[str, Record] = field(default_factory=dict)

    def under(self, account: Account) -> Ledger:
        """Return the account's ledger: recounted if its terms are new."""
        if self.fingerprint == account.fingerprint:
            return self.stored.only(account.caps)
        releases = (slot for record in self.records for slot in record.slots)
        return recomputed(releases, account.groups, account.caps, self.stored)

    def erase(self, positions: Set[int] | None) -> int:
        """Return how many records have lost the names of their views."""
        count = 0
        for place, record in enumerate(self.records):
            if concerns(record.slots, positions) and any(s.view for s in record.slots):
                self.records[place] = without_views(record)
                self.by_operation[record.operation.id] = self.records[place]
                # What was remembered of the account under its version is outdated.
                self.fingerprint += "-"
                count += 1
        return count


class InMemoryLedger(LedgerStore):
    """Keeps all accounts in a dictionary under one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[str, _Entry] = {}
        self._key = secrets.token_bytes(32)

    @override
    def __repr__(self) -> str:
        return "InMemoryLedger()"

    @override
    def find(self, account: Account, operation: Operation) -> Record | None:
        with self._lock:
            known = self._entry(account).by_operation.get(operation.id)
        return same_request(known, operation) if known else None

    @override
    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        with self._lock:
            entry = self._entry(account)
            ledger = entry.under(account)
            known = entry.by_operation.get(operation.id)
            if known:
                return same_request(known, operation), ledger
            slots = tuple(decide(ledger))
            if not slots:
                return nothing_released(operation), ledger
            charged = after(ledger, slots)
            record = Record(len(entry.records) + 1, operation, slots)
            entry.records.append(record)
            entry.by_operation[operation.id] = record
            entry.fingerprint = account.fingerprint
            entry.stored = Ledger({**entry.stored.balances, **charged.balances})
            self._accounts[account.key] = entry
            return record, charged

    @override
    def ledger(self, account: Account) -> Ledger:
        with self._lock:
            return self._entry(account).under(account)

    @override
    def version(self, account: Account) -> str:
        with self._lock:
            entry = self._entry(account)
            return f"{len(entry.records)} {entry.fingerprint}"

    @override
    def history(self, account: Account) -> Sequence[Record]:
        with self._lock:
            return tuple(self._entry(account).records)

    @override
    def erase(self, subject: str, lineage: str, positions: Set[int] | None) -> int:
        count = 0
        with self._lock:
            for entry in self._accounts.values():
                if entry.subject != subject:
                    continue
                if positions is None or entry.lineage == lineage:
                    count += entry.erase(positions)
        return count

    @override
    def pseudonym(self, subject: str) -> str:
        return keyed_hash(self._key, injective(subject))

    def _entry(self, account: Account) -> _Entry:
        """Return what is kept of the account; nothing is kept before a release."""
        known = self._accounts.get(account.key)
        return known or _Entry(account.subject, account.lineage)
