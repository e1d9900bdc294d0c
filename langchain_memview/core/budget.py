"""Budget rules: the local ε of a charged selection, from public values only.

Line 8 of the algorithm, under C4. Both rules of the paper are here, and the one of standing releases; each
uses the same prospective check and the same generic fallback, so a rule decides how
useful a release is, never whether the cap holds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, Protocol

from langchain_memview.core.amounts import Amount, from_ticks, to_ticks
from langchain_memview.core.epochs import Epochs, OneEpoch

Fallback = Literal["generic", "latest", "posterior"]
"""What is shown when a cap forbids a selection; see `core.fallback`."""


class BudgetRule(Protocol):
    """Sets ε for one selection from its charge set and the caps."""

    def epsilon(
        self, charge_set: Collection[str], caps: Mapping[str, Fraction]
    ) -> Fraction:
        """Return ε of one selection in nats, a whole number of ticks, > 0.

        Args:
            charge_set: Attributes that will be charged; not empty.
            caps: Cap B_a of every attribute, in nats.
        """
        ...


@dataclass(frozen=True)
class OnlineBudget:
    """ε = min B_a / K over the charge set: at most K equal charges per attribute.

    Attributes:
        granularity: K, a whole number of at least 1.
        fallback: What is shown when a cap forbids a selection.
    """

    granularity: int
    fallback: Fallback = "generic"

    def epsilon(
        self, charge_set: Collection[str], caps: Mapping[str, Fraction]
    ) -> Fraction:
        """Return min B_a / K over the charge set, in nats, floored to whole ticks."""
        share = min(caps[name] / self.granularity for name in charge_set)
        return from_ticks(to_ticks(share))


@dataclass(frozen=True)
class PreallocatedBudget:
    """ε = min B_a / C_a over the charge set, with the planned number of charges C_a.

    Attributes:
        planned_charges: C_a for every attribute, whole numbers of at least 1.
        fallback: What is shown when a cap forbids a selection.
    """

    planned_charges: Mapping[str, int]
    fallback: Fallback = "generic"

    def __post_init__(self) -> None:
        """Keep a read-only copy."""
        frozen = MappingProxyType(dict(self.planned_charges))
        object.__setattr__(self, "planned_charges", frozen)

    def epsilon(
        self, charge_set: Collection[str], caps: Mapping[str, Fraction]
    ) -> Fraction:
        """Return min B_a / C_a over the charge set, in nats, floored to whole ticks."""
        share = min(caps[name] / self.planned_charges[name] for name in charge_set)
        return from_ticks(to_ticks(share))


@dataclass(frozen=True)
class StandingBudget:
    """One release per facet and epoch, shown again at no cost for as long as it lasts.

    A facet's ε does not depend on how many turns there are. It is the facet's max-min
    share of the caps that it touches, divided by the number of epochs.

    Attributes:
        epochs: When a facet may be drawn again; never by default.
        threshold: Support, as a share of the most that a memory can give, from which on
            a view counts as supported; below it the generic view does. In (0, 1].
        top: j, how many of the best supported views are as likely as the best one.
    """

    epochs: Epochs = field(default_factory=OneEpoch)
    threshold: Amount = "0.5"
    top: int = 1

    def epsilons(
        self,
        charge_sets: Mapping[str, Collection[str]],
        caps: Mapping[str, Fraction],
    ) -> Mapping[str, Fraction]:
        """Return ε of one release of every facet, in nats, floored to whole ticks.

        Args:
            charge_sets: Facet to the attributes that its releases charge, not empty.
            caps: Cap B_a of every attribute, in nats.
        """
        return {
            name: from_ticks(to_ticks(share / self.epochs.planned))
            for name, share in max_min_shares(charge_sets, caps).items()
        }


def max_min_shares(
    charge_sets: Mapping[str, Collection[str]], caps: Mapping[str, Fraction]
) -> Mapping[str, Fraction]:
    """Return the largest share of every facet, where none can grow at a smaller one's cost.

    All shares rise together until an attribute's cap is used up; the facets that touch
    it stop there and the others go on. So Σ over the facets that touch an attribute is
    at most its cap, whatever the number of turns.

    Args:
        charge_sets: Facet to the attributes it touches; not empty.
        caps: Cap B_a of every attribute, in nats.
    """
    shares: dict[str, Fraction] = {}
    while rising := charge_sets.keys() - shares.keys():
        levels = {}
        for name, cap in caps.items():
            used = sum(e for f, e in shares.items() if name in charge_sets[f])
            touching = [f for f in rising if name in charge_sets[f]]
            if touching:
                levels[name] = (cap - used) / len(touching)
        tightest = min(levels, key=lambda name: levels[name])
        shares |= {f: levels[tightest] for f in rising if tightest in charge_sets[f]}
    return {name: shares[name] for name in charge_sets}
