"""The interface with one condition left out: what an audit must reject.

Each ablation is the real interface of any budget mode with one change, as small as it
can be. They are for tests and demonstrations; nothing else may use them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import count, islice
from typing import Any

from typing_extensions import override

from langchain_memview.audit.faults import Fault, faulty
from langchain_memview.audit.policy import PolicyAudit, audit_policy, interface_of
from langchain_memview.audit.witnesses import public_queries, witness_pairs
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.choice import Choice, Mechanism
from langchain_memview.core.facets import Facet
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.scoring import supports
from langchain_memview.core.standing import Journal, Read
from langchain_memview.core.views import View

_PLENTY = Fraction(10**6)
_FIELDS = tuple(field.name for field in fields(Policy))


class StoreDependentVocabulary(Fault):
    """Gives the last view of a slot a name of its own where there is any memory."""

    breaks = "C1"

    @override
    def parts(self, read: Read) -> TrustedInterface:
        policy = self.trusted.policy
        if not _anything(policy, read):
            return self.trusted
        slots = [replace(slot, views=_renamed(slot)) for slot in policy.slots]
        return replace(self.trusted, policy=replace(policy, slots=slots))


class IncompleteCharge(Fault):
    """Charges all affected attributes of a selection but the last."""

    breaks = "C2"

    @override
    def parts(self, read: Read) -> TrustedInterface:
        plain = self.trusted.policy
        undercharging = _Undercharging(**{n: getattr(plain, n) for n in _FIELDS})
        return replace(self.trusted, policy=undercharging)


class CappedArgmax(Fault):
    """Shows the likeliest view and charges as if it had been drawn."""

    breaks = "C3"

    @override
    def parts(self, read: Read) -> TrustedInterface:
        draw = self.trusted.draw

        def likeliest(choice: Choice) -> int:
            return draw(Choice(_Argmax(choice.mechanism), choice.inputs))

        return replace(self.trusted, draw=likeliest)


class MemoryDependentOrder(Fault):
    """Releases the slots of a turn in reverse order where there is any memory."""

    breaks = "C4"

    @override
    def shown(
        self, releases: Sequence[SlotRelease], read: Read
    ) -> Sequence[SlotRelease]:
        reverse = _anything(self.trusted.policy, read)
        return list(reversed(releases)) if reverse else releases


class MemoryDependentRouting(Fault):
    """Skips a slot where none of the positions that it reads holds anything."""

    breaks = "C4"

    @override
    def shown(
        self, releases: Sequence[SlotRelease], read: Read
    ) -> Sequence[SlotRelease]:
        policy = self.trusted.policy
        own = {slot.name: frozenset(policy.read_set(slot)) for slot in policy.slots}
        return [slot for slot in releases if any(read(own[slot.slot]).values())]


class RefreshOnContent(Fault):
    """Draws a facet again when what it reads has changed."""

    breaks = "C4"

    @override
    def epoch(self, facet: Facet, epoch: int, journal: Journal, read: Read) -> int:
        contents = read(frozenset(facet.read_set))
        text = "\n".join(contents[position] for position in facet.read_set)
        return int.from_bytes(text.encode())


class NoCap(Fault):
    """Goes on selecting when a cap is reached."""

    breaks = "C5"

    @override
    def checked(self, ledger: Ledger) -> Ledger:
        return Ledger(
            {n: Balance(b.spent, b.cap + _PLENTY) for n, b in ledger.balances.items()}
        )

    @override
    def epoch(self, facet: Facet, epoch: int, journal: Journal, read: Read) -> int:
        return _undrawn(facet, journal)


class MemoryDependentFallback(Fault):
    """Shows the best supported view instead of the generic one at a cap."""

    breaks = "C6"

    @override
    def shown(
        self, releases: Sequence[SlotRelease], read: Read
    ) -> Sequence[SlotRelease]:
        return [
            replace(release, view=_best(self.trusted, release, read))
            if release.blocked_by
            else release
            for release in releases
        ]

    @override
    def epoch(self, facet: Facet, epoch: int, journal: Journal, read: Read) -> int:
        return _undrawn(facet, journal)


@dataclass(frozen=True)
class ScoredRelease(SlotRelease):
    """A release that lets scores out.

    Attributes:
        scores: The support of every view.
    """

    scores: tuple[Fraction, ...] = ()


class ScoreChannel(Fault):
    """Reports the support of the views beside the view."""

    breaks = "C6"

    @override
    def shown(
        self, releases: Sequence[SlotRelease], read: Read
    ) -> Sequence[SlotRelease]:
        return [
            ScoredRelease(**vars(slot), scores=_supports(self.trusted, slot, read))
            for slot in releases
        ]


ABLATIONS: tuple[type[Fault], ...] = (
    StoreDependentVocabulary,
    IncompleteCharge,
    CappedArgmax,
    MemoryDependentOrder,
    MemoryDependentRouting,
    RefreshOnContent,
    NoCap,
    MemoryDependentFallback,
    ScoreChannel,
)
"""All of them, in the order of the conditions that they break."""


def ablations_of(policy: Policy) -> tuple[type[Fault], ...]:
    """Return the ablations that the budget mode of a policy can have."""
    standing = isinstance(policy.budget, StandingBudget)
    # Nothing else stays, so nothing else can be refreshed.
    return tuple(a for a in ABLATIONS if standing or a is not RefreshOnContent)


@dataclass(frozen=True)
class Verdict:
    """What the audit says of an ablation.

    Attributes:
        broken: The conditions that were found broken.
        log_ratio: The largest log ratio of any attribute that was met on the way to
            the verdict, in nats.
        cap: The cap of that attribute.
        rejected: Whether the condition that it breaks was found broken.
    """

    broken: tuple[str, ...]
    log_ratio: float
    cap: Fraction
    rejected: bool


def verdict(policy: Policy, kind: type[Fault], depth: int) -> Verdict:
    """Return what the audit of a policy says of an ablation of its interface.

    The audit ends when the fault has shown: one query and a few pairs of stores are
    tried before all of them.

    Args:
        policy: The policy.
        kind: One of `ablations_of(policy)`.
        depth: Number of turns.
    """
    broken = faulty(interface_of(policy), kind)
    every = [pair for n in policy.attributes for pair in witness_pairs(policy, n)]
    few = [p for n in policy.attributes for p in islice(witness_pairs(policy, n), 2)]
    queries = public_queries(policy)
    attempts = ((queries[:1], few), (queries[-1:], few), (queries, every))
    for asked, pairs in attempts[:-1]:
        audit = audit_policy(broken, depth, asked, pairs)
        if kind.breaks in _found(audit):
            return _verdict(audit, kind)
    return _verdict(audit_policy(broken, depth, *attempts[-1]), kind)


def _verdict(audit: PolicyAudit, kind: type[Fault]) -> Verdict:
    worst = max(audit.attributes, key=lambda one: one.audit.log_ratio)
    found = _found(audit)
    return Verdict(found, worst.audit.log_ratio, worst.cap, kind.breaks in found)


def _found(audit: PolicyAudit) -> tuple[str, ...]:
    return tuple(f.condition for f in audit.findings if not f.holds)


class _Undercharging(Policy):
    """A policy whose budget rule knows nothing of one affected attribute."""

    @cached_property
    @override
    def facets(self) -> tuple[Facet, ...]:
        full = Policy(**{name: getattr(self, name) for name in _FIELDS}).facets
        kept = {f.name: f.charge_set[:-1] for f in full if f.charge_set[:-1]}
        if isinstance(self.budget, StandingBudget):
            epsilons = self.budget.epsilons(kept, self.caps)
        else:
            rule = self.budget
            epsilons = {n: rule.epsilon(names, self.caps) for n, names in kept.items()}
        return tuple(
            replace(
                facet,
                charge_set=kept.get(facet.name, ()),
                epsilon=epsilons.get(facet.name, Fraction(0)),
            )
            for facet in full
        )


@dataclass(frozen=True)
class _Argmax:
    """The law that is 1 where another one is largest."""

    mechanism: Mechanism

    def probabilities(self, *inputs: Any) -> list[Fraction]:
        law = self.mechanism.probabilities(*inputs)
        best = law.index(max(law))
        return [Fraction(index == best) for index in range(len(law))]

    def draw(self, *inputs: Any) -> int:
        return self.probabilities(*inputs).index(Fraction(1))


def _anything(policy: Policy, read: Read) -> bool:
    return any(read(frozenset(policy.positions)).values())


def _renamed(slot: Slot) -> dict[str, View]:
    views = dict(slot.vocabulary)
    name, last = views.popitem()
    # The generic view keeps its name, or the policy could not be built.
    return {**views, f"{name}_of_yours" if views else name: last}


def _undrawn(facet: Facet, journal: Journal) -> int:
    """Return the first epoch without a draw, planned or not.

    The shares of a standing policy leave room for the planned epochs, so that only
    unplanned ones can reach a cap.
    """
    return next(n for n in count() if journal.known(facet.key(n)) is None)


def _supports(
    parts: TrustedInterface, release: SlotRelease, read: Read
) -> tuple[Fraction, ...]:
    slot = parts.policy.slots_by_name[release.slot]
    contents = read(frozenset(parts.policy.read_set(slot)))
    found = [contents[position] for position in parts.policy.read_set(slot)]
    return supports(parts.scorer, slot, found)


def _best(parts: TrustedInterface, release: SlotRelease, read: Read) -> str:
    found = _supports(parts, release, read)
    vocabulary = tuple(parts.policy.slots_by_name[release.slot].vocabulary)
    return vocabulary[found.index(max(found))]
