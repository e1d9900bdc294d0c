"""Budget rules: the local ε of a charged selection, from public values only.

Line 8 of the algorithm, under C4. Both rules of the paper are here; each uses the same prospective
check and the same generic fallback, so a rule decides how useful a release is, never
whether the cap holds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Protocol

from langchain_memview.core.amounts import from_ticks, to_ticks


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
    """

    granularity: int

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
    """

    planned_charges: Mapping[str, int]

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
