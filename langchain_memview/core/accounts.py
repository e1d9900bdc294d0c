"""The account ledger as the interface sees it: one atomic step per operation.

An account is a subject under a policy lineage, shared by all threads and, unless the
policy's scope says otherwise, by all audiences. A `LedgerStore` keeps accounts and does
in one transaction: known operation → its record; otherwise read the ledger, let the
interface decide (check, charge, draw), write record and charges, commit. Only then does
a record leave it. Implementations are in `ledgers`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from typing_extensions import override

from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.policy import Policy
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import OperationConflictError

_encode = json.JSONEncoder(ensure_ascii=False).encode


def injective(*parts: str | None) -> str:
    """Return a text that differs for any two different sequences of parts."""
    # Not escaped to ASCII: an escape of two surrogates is that of one character.
    return _encode(parts)


def hashed(*parts: str | None) -> str:
    """Return 64 hex digits that identify a sequence of parts."""
    plain = injective(*parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(plain).hexdigest()


@dataclass(frozen=True)
class Account:
    """Whose ledger it is and under which terms.

    Attributes:
        subject: The person whose memory it is.
        lineage: Name and layout hash of the policy.
        audience: The application, where the policy's scope is `audience`; else None.
        fingerprint: Hash of the whole policy; another one means changed terms.
        caps: Cap of every attribute, in nats.
        groups: Group of positions of every attribute.
    """

    subject: str
    lineage: str
    audience: str | None
    fingerprint: str
    caps: Mapping[str, Fraction]
    groups: Mapping[str, frozenset[int]]

    @classmethod
    def of(cls, policy: Policy, subject: str, audience: str) -> "Account":
        """Return the account of a subject under a policy, seen by an audience."""
        shared = policy.scope == "subject"
        return cls(
            subject,
            policy.lineage,
            None if shared else audience,
            policy.fingerprint,
            policy.caps,
            policy.groups,
        )

    @override
    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash((self.key, self.fingerprint))

    @cached_property
    def key(self) -> str:
        """Return a text that differs for any two different accounts."""
        return injective(self.subject, self.lineage, self.audience)


@dataclass(frozen=True)
class Operation:
    """One request to release views.

    Attributes:
        id: Chosen by the caller; a repeated id replays what was recorded under it.
        request: Hash of the public parameters; a repeated id must repeat them.
        audience: The application that will see the views.
    """

    id: str
    request: str
    audience: str

    @classmethod
    def of(cls, operation: str, audience: str, *public: str) -> "Operation":
        """Return an operation whose request hash covers the given public values."""
        return cls(operation, hashed(audience, *public), audience)


@dataclass(frozen=True)
class Record:
    """A recorded release.

    Attributes:
        sequence: 1, 2, … within the account.
        operation: The operation under which it was released.
        slots: What each slot released.
        at: Time of the commit, ISO 8601 in UTC; empty where the store keeps no time.
        replayed: True when the record was there before the call that returned it.
    """

    sequence: int
    operation: Operation
    slots: tuple[SlotRelease, ...]
    at: str = ""
    replayed: bool = False


Decide = Callable[[Ledger], Sequence[SlotRelease]]
"""Given the current ledger, checks, charges and draws."""


class LedgerStore(Protocol):
    """Keeps the ledgers and the recorded releases of all accounts."""

    def find(self, account: Account, operation: Operation) -> Record | None:
        """Return what was recorded under the operation's id, or None.

        Raises:
            OperationConflictError: The id was recorded for another request.
            LedgerUnavailableError: The ledger cannot be read.
        """
        ...

    def transact(
        self, account: Account, operation: Operation, decide: Decide
    ) -> tuple[Record, Ledger]:
        """Return the record of the operation and the ledger after it, atomically.

        Args:
            account: Whose ledger is charged.
            operation: The request; a known id replays its record without a draw.
            decide: Called with the current ledger; what it returns is charged and
                recorded before anybody sees it. If the ledger changes in between, that
                is discarded and `decide` is called again.

        Raises:
            OperationConflictError: The id was recorded for another request.
            LedgerUnavailableError: The ledger cannot be read or written; nothing was
                released and nothing was charged.
        """
        ...

    def ledger(self, account: Account) -> Ledger:
        """Return the current ledger of the account.

        Raises:
            LedgerUnavailableError: The ledger cannot be read.
        """
        ...

    def version(self, account: Account) -> str:
        """Return a text that changes with everything that is written to the account.

        Raises:
            LedgerUnavailableError: The ledger cannot be read.
        """
        ...

    def history(self, account: Account) -> Sequence[Record]:
        """Return the recorded releases of the account, oldest first.

        Raises:
            LedgerUnavailableError: The ledger cannot be read.
        """
        ...

    def erase(self, subject: str, lineage: str, positions: Set[int] | None) -> int:
        """Return how many releases have lost what they showed; every charge stays.

        Done again, it goes on where it was interrupted. An erased view has the name
        `""`, and nothing of it is left in the store's own files.

        Args:
            subject: Whose accounts they are, of all audiences.
            lineage: Whose positions are meant.
            positions: Releases that read one of them; None for all of the subject,
                under any lineage.

        Raises:
            LedgerUnavailableError: The ledger cannot be written; some may be left.
        """
        ...

    def pseudonym(self, subject: str) -> str:
        """Return the keyed hash under which the ledger knows the subject, in hex digits.

        Raises:
            LedgerUnavailableError: The ledger cannot be read.
        """
        ...


def same_request(record: Record, operation: Operation) -> Record:
    """Return the record, marked as replayed.

    Raises:
        OperationConflictError: It was recorded for another request.
    """
    if record.operation.request != operation.request:
        raise OperationConflictError(operation.id)
    return Record(
        record.sequence, record.operation, record.slots, record.at, replayed=True
    )


def concerns(slots: Sequence[SlotRelease], positions: Set[int] | None) -> bool:
    """Return whether a release read one of the positions; None stands for all."""
    return positions is None or any(positions & set(s.read_set) for s in slots)


def without_views(record: Record) -> Record:
    """Return the record as it is after its views were erased."""
    return replace(record, slots=tuple(replace(s, view="") for s in record.slots))


def nothing_released(operation: Operation) -> Record:
    """Return the record of a turn that activated no slot; stores do not keep it."""
    return Record(0, operation, ())


def after(ledger: Ledger, slots: Sequence[SlotRelease]) -> Ledger:
    """Return the ledger after the charges of these slot releases.

    Raises:
        LedgerOverdrawnError: Together they would pass a cap (C5); the store must then
            abandon the transaction.
        ValueError: A charge is negative or no whole number of ticks.
    """
    for slot in slots:
        for charge in (slot.epsilon, *slot.shares):
            if charge != from_ticks(to_ticks(charge)):
                # Stored, it would be rounded down, and the sum would miss the rest.
                raise ValueError(f"a charge of {charge} is no whole number of ticks")
        ledger = ledger.charge_each(slot.charges)
    return ledger
