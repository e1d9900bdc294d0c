"""The trusted interface with one fault, in any budget mode: the real turn runs inside.

A `Fault` changes one thing on the way in or out of a turn. They are for tests and
demonstrations; no policy can ask for one.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from langchain_memview.core.accounts import Decide
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.facets import Facet
from langchain_memview.core.fallback import Released, nothing_before
from langchain_memview.core.interface import Recorded, TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.standing import Journal, Read, StandingInterface
from langchain_memview.core.transcript import AugmentedTranscript


@dataclass(frozen=True)
class Fault:
    """A way to break the contract; this one breaks nothing.

    Attributes:
        breaks: The condition that is broken.
        trusted: The real parts.
    """

    breaks: ClassVar[str] = ""
    trusted: TrustedInterface

    def parts(self, read: Read) -> TrustedInterface:
        """Return the parts that run the turn, given how memory is read."""
        del read
        return self.trusted

    def checked(self, ledger: Ledger) -> Ledger:
        """Return the ledger that the check before a draw is shown."""
        return ledger

    def shown(
        self, releases: Sequence[SlotRelease], read: Read
    ) -> Sequence[SlotRelease]:
        """Return what the turn releases, given what the real one would."""
        del read
        return releases

    def epoch(self, facet: Facet, epoch: int, journal: Journal, read: Read) -> int:
        """Return the epoch of a facet, given the public one."""
        del facet, journal, read
        return epoch


def faulty(
    real: TrustedInterface, fault: type[Fault]
) -> TrustedInterface | StandingInterface:
    """Return the interface with a fault, in the mode of its policy."""
    if isinstance(real.policy.budget, StandingBudget):
        return _FaultyStanding(real, fault)
    return _Faulty(real.policy, real.router, real.scorer, real.draw, fault)


@dataclass(frozen=True)
class _Faulty(TrustedInterface):
    fault: type[Fault] = Fault

    @override
    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        read: Callable[[Set[int]], Mapping[int, str]],
        transact: Callable[[Decide], Recorded],
        released: Released = nothing_before,
    ) -> Recorded:
        real = TrustedInterface(self.policy, self.router, self.scorer, self.draw)
        fault = self.fault(real)

        def changed(decide: Decide) -> Recorded:
            return transact(
                lambda ledger: fault.shown(decide(fault.checked(ledger)), read)
            )

        return fault.parts(read).turn(query, history, read, changed, released)


@dataclass(frozen=True)
class _FaultyStanding(StandingInterface):
    fault: type[Fault] = Fault

    @override
    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        epoch: Callable[[Facet], int],
        read: Read,
        journal: Journal,
    ) -> tuple[SlotRelease, ...]:
        fault = self.fault(self.trusted)

        def changed(facet: Facet) -> int:
            return fault.epoch(facet, epoch(facet), journal, read)

        released = StandingInterface(fault.parts(read)).turn(
            query, history, changed, read, _Checked(journal, fault)
        )
        return tuple(fault.shown(released, read))


@dataclass(frozen=True)
class _Checked(Journal):
    """A journal whose ledger is the one that a fault shows."""

    journal: Journal
    fault: Fault

    @override
    def known(self, key: str) -> SlotRelease | None:
        return self.journal.known(key)

    @override
    def record(self, key: str, decide: Decide) -> SlotRelease | None:
        return self.journal.record(
            key, lambda ledger: decide(self.fault.checked(ledger))
        )

    @override
    def ledger(self) -> Ledger:
        return self.fault.checked(self.journal.ledger())
