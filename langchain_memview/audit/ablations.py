"""The interface with one condition left out: what an audit must reject.

Each ablation is the real interface with one change, as small as it can be. They are for
tests and demonstrations; nothing else may use them.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction

from typing_extensions import override

from langchain_memview.audit.policy import audit_policy, interface_of
from langchain_memview.core.accounts import Decide
from langchain_memview.core.cost import Cost
from langchain_memview.core.facets import Facet
from langchain_memview.core.fallback import Released, nothing_before
from langchain_memview.core.interface import Recorded, TrustedInterface
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.standing import Journal, Read, StandingInterface
from langchain_memview.core.transcript import AugmentedTranscript

Scores = Sequence[Fraction]
Prior = Sequence[Fraction] | None
_PLENTY = Fraction(10**6)


@dataclass(frozen=True)
class IncompleteCharge(TrustedInterface):
    """Charges the first affected attribute only (C2)."""

    @override
    def cost(self, slot: Slot) -> Cost:
        cost = super().cost(slot)
        return Cost(cost.epsilon, cost.charge_set[:1])


@dataclass(frozen=True)
class NoCap(TrustedInterface):
    """Goes on selecting when a cap is reached (C5)."""

    @override
    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        read: Callable[[Set[int]], Mapping[int, str]],
        transact: Callable[[Decide], Recorded],
        released: Released = nothing_before,
    ) -> Recorded:
        def uncapped(decide: Decide) -> Recorded:
            return transact(lambda ledger: decide(_lifted(ledger)))

        return super().turn(query, history, read, uncapped, released)


def _lifted(ledger: Ledger) -> Ledger:
    return Ledger(
        {name: Balance(b.spent, b.cap + _PLENTY) for name, b in ledger.balances.items()}
    )


@dataclass(frozen=True)
class CappedArgmax(TrustedInterface):
    """Releases the best view and charges as if it had drawn one (C3)."""

    @override
    def _select(
        self, slot: Slot, ledger: Ledger, u: Scores, prior: Prior, released: Released
    ) -> tuple[SlotRelease, Ledger]:
        best = max(range(len(u)), key=u.__getitem__)
        sure = TrustedInterface(self.policy, self.router, self.scorer, lambda _: best)
        return sure._select(slot, ledger, u, prior, released)  # noqa: SLF001 - a parent's


@dataclass(frozen=True)
class StoreDependentVocabulary(TrustedInterface):
    """Selects among the views that the memory supports, and the generic one (C1)."""

    @override
    def _select(
        self, slot: Slot, ledger: Ledger, u: Scores, prior: Prior, released: Released
    ) -> tuple[SlotRelease, Ledger]:
        kept = [i for i, value in enumerate(u) if value or not i]
        names = tuple(slot.vocabulary)
        fewer = replace(slot, views={names[i]: slot.vocabulary[names[i]] for i in kept})
        weights = None if prior is None else [prior[i] for i in kept]
        chosen = [u[i] for i in kept]
        return super()._select(fewer, ledger, chosen, weights, released)


@dataclass(frozen=True)
class MemoryDependentFallback(TrustedInterface):
    """Shows the best view instead of the generic one when a cap is reached (C6)."""

    @override
    def _select(
        self, slot: Slot, ledger: Ledger, u: Scores, prior: Prior, released: Released
    ) -> tuple[SlotRelease, Ledger]:
        shown, after = super()._select(slot, ledger, u, prior, released)
        if shown.outcome == "generic":
            best = tuple(slot.vocabulary)[max(range(len(u)), key=u.__getitem__)]
            shown = replace(shown, view=best)
        return shown, after


@dataclass(frozen=True)
class ScoredRelease(SlotRelease):
    """A release that lets scores out.

    Attributes:
        scores: The score of every view.
    """

    scores: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class ScoreChannel(TrustedInterface):
    """Reports the scores beside the view (C6)."""

    @override
    def _select(
        self, slot: Slot, ledger: Ledger, u: Scores, prior: Prior, released: Released
    ) -> tuple[SlotRelease, Ledger]:
        shown, after = super()._select(slot, ledger, u, prior, released)
        return ScoredRelease(**vars(shown), scores=tuple(u)), after


@dataclass(frozen=True)
class MemoryDependentCharge(TrustedInterface):
    """Does not charge a turn whose memory supports nothing (C4)."""

    @override
    def _select(
        self, slot: Slot, ledger: Ledger, u: Scores, prior: Prior, released: Released
    ) -> tuple[SlotRelease, Ledger]:
        shown, after = super()._select(slot, ledger, u, prior, released)
        if shown.outcome == "selected" and u[0] == max(u):
            return SlotRelease(slot.name, slot.generic.name, "uncharged"), ledger
        return shown, after


@dataclass(frozen=True)
class RefreshOnContent(StandingInterface):
    """Draws a facet again when what it reads has changed (C4)."""

    @override
    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        epoch: Callable[[Facet], int],
        read: Read,
        journal: Journal,
    ) -> tuple[SlotRelease, ...]:
        def keyed(facet: Facet) -> int:
            return hash(tuple(sorted(read(frozenset(facet.read_set)).items())))

        return super().turn(query, history, keyed, read, journal)


ABLATIONS: Mapping[type[TrustedInterface], str] = {
    StoreDependentVocabulary: "C1",
    IncompleteCharge: "C2",
    CappedArgmax: "C3",
    MemoryDependentCharge: "C4",
    NoCap: "C5",
    MemoryDependentFallback: "C6",
    ScoreChannel: "C6",
}
"""Ablation to the condition that it breaks; each is built like the real interface."""


@dataclass(frozen=True)
class Verdict:
    """What the audit says of an ablation.

    Attributes:
        broken: The conditions that were found broken.
        log_ratio: The largest log ratio of any attribute, in nats.
        cap: The cap of that attribute.
        rejected: Whether a cap was passed or a condition was broken.
    """

    broken: tuple[str, ...]
    log_ratio: float
    cap: Fraction
    rejected: bool


def verdict(policy: Policy, kind: type[TrustedInterface], depth: int) -> Verdict:
    """Return what the audit of a policy says of an ablation of its interface.

    Args:
        policy: The policy; its budget has several releases.
        kind: One of `ABLATIONS`.
        depth: Number of turns.
    """
    real = interface_of(policy)
    audit = audit_policy(kind(policy, real.router, real.scorer), depth)
    worst = max(audit.attributes, key=lambda one: one.audit.log_ratio)
    broken = tuple(f.condition for f in audit.findings if not f.holds)
    return Verdict(broken, worst.audit.log_ratio, worst.cap, not audit.holds)
