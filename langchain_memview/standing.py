"""Standing releases kept in an account: found again without being drawn or written.

What an account has released does not change, so it is read from the ledger once and
remembered together with the account's version. A turn asks for the version alone; as
soon as any process has written to the account, everything is read again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache, partial

from typing_extensions import override

from langchain_memview.core.accounts import (
    Account,
    Decide,
    LedgerStore,
    Operation,
    hashed,
)
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.epochs import Moment, SubjectEpochs
from langchain_memview.core.facets import Facet
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.names import RESERVED
from langchain_memview.core.policy import Policy
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.standing import Journal, Read, StandingInterface
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.core.views import GENERIC
from langchain_memview.errors import EpochError, WiringError

_REMEMBERED = 65_536


def today() -> date:
    """Return the day in UTC, which is public."""
    return datetime.now(UTC).date()


class Journals:
    """Gives the journals of accounts and remembers what was read of them.

    Args:
        store: Keeps the accounts.
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self.known = lru_cache(_REMEMBERED)(self._known)
        self.ledger = lru_cache(_REMEMBERED)(self._ledger)

    def of(self, account: Account, audience: str) -> "AccountJournal":
        """Return the journal of an account, as it is now."""
        return AccountJournal(self, self._store, account, audience)

    def forgotten(self) -> None:
        """Keep nothing of what was read; views may have been erased."""
        self.known.cache_clear()
        self.ledger.cache_clear()

    def _known(self, account: Account, version: str, key: str) -> SlotRelease | None:
        del version
        record = self._store.find(account, _operation(key, ""))
        return record.slots[0] if record else None

    def _ledger(self, account: Account, version: str) -> Ledger:
        del version
        return self._store.ledger(account)


class AccountJournal(Journal):
    """The standing releases of one account during one turn."""

    def __init__(
        self, journals: Journals, store: LedgerStore, account: Account, audience: str
    ) -> None:
        self._journals = journals
        self._store = store
        self._account = account
        self._audience = audience
        self._version = store.version(account)

    @override
    def known(self, key: str) -> SlotRelease | None:
        return self._journals.known(self._account, self._version, key)

    @override
    def record(self, key: str, decide: Decide) -> SlotRelease | None:
        operation = _operation(key, self._audience)
        record, _ = self._store.transact(self._account, operation, decide)
        self._version = self._store.version(self._account)
        return record.slots[0] if record.slots else None

    @override
    def ledger(self) -> Ledger:
        return self._journals.ledger(self._account, self._version)


def _operation(key: str, audience: str) -> Operation:
    # Whatever the policy says today, the release stays what it was.
    return Operation(key, hashed("standing", key), audience)


@dataclass(frozen=True)
class StandingTurn:
    """A turn, an opening or a renewal on one account.

    Attributes:
        interface: The trusted interface.
        journal: The account's releases.
        read: Reads positions of the subject. What it returns is private.
    """

    interface: TrustedInterface
    journal: AccountJournal
    read: Read

    def shown(
        self, query: str, history: AugmentedTranscript
    ) -> tuple[SlotRelease, ...]:
        """Return what every active slot shows."""
        epoch = partial(self._epoch, len(history.turns))
        return StandingInterface(self.interface).turn(
            query, history, epoch, self.read, self.journal
        )

    def open(self) -> None:
        """Draw what has not been drawn for the current epochs."""
        StandingInterface(self.interface).open(
            partial(self._epoch, 0), self.read, self.journal
        )

    def renew(self, operation: str) -> None:
        """Begin the subject's next epoch: draw every facet that a cap still allows.

        The same operation begins one epoch, however often it is repeated. Where nothing
        has been drawn in the current epoch, that is drawn, and no epoch begins.

        Args:
            operation: Id of the subject's request.

        Raises:
            WiringError: The epochs of the policy are not the subject's.
            EpochError: The last planned epoch has begun.
        """
        epochs = standing_budget(self.interface.policy).epochs
        if not isinstance(epochs, SubjectEpochs):
            raise WiringError(
                "the subject renews what is shown only under "
                "budget: {mode: standing, epochs: {renewals: ...}}."
            )
        begun = list(self._renewals())
        request = hashed("renewal", operation)
        if any(mark.slot == request for mark in begun):
            return
        facets = [f for f in self.interface.policy.facets if f.epsilon]
        if not any(self.journal.known(f.key(len(begun))) for f in facets):
            self.open()
            return
        following = len(begun) + 1
        if following >= epochs.planned:
            raise EpochError(epochs.planned)
        StandingInterface(self.interface).open(
            lambda _: following, self.read, self.journal
        )
        # Last: a renewal that was interrupted goes on with the same epoch.
        mark = SlotRelease(request, GENERIC, "uncharged")
        self.journal.record(_renewal(following), lambda _: [mark])

    def _epoch(self, turns: int, facet: Facet) -> int:
        del facet
        moment = Moment(turns, today, lambda: sum(1 for _ in self._renewals()))
        return standing_budget(self.interface.policy).epochs.number(moment)

    def _renewals(self) -> Iterator[SlotRelease]:
        """Yield the mark of every epoch that the subject has begun."""
        number = 1
        while mark := self.journal.known(_renewal(number)):
            yield mark
            number += 1


def _renewal(number: int) -> str:
    return f"{RESERVED}renewal:{number}"


def standing_budget(policy: Policy) -> StandingBudget:
    """Return the policy's budget.

    Raises:
        WiringError: It is not standing.
    """
    if not isinstance(policy.budget, StandingBudget):
        raise WiringError(
            "only a policy with budget: {mode: standing} draws ahead of a question."
        )
    return policy.budget
