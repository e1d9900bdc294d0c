"""What one selection costs: ε of the mechanism, and the charge to every attribute."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.charging import additive_share
from langchain_memview.core.policy import Policy, Slot

_LARGEST = Fraction(100)
"""Above it the exact law would take hours to compute and nothing would be gained."""


@dataclass(frozen=True)
class Cost:
    """The public price of a charged selection.

    Attributes:
        epsilon: ε of the mechanism for any change of what it reads, in nats.
        charge_set: Γ, sorted.
        shares: The charge to each attribute of Γ; empty if all pay ε.
    """

    epsilon: Fraction
    charge_set: tuple[str, ...]
    shares: tuple[Fraction, ...] = ()

    @property
    def charges(self) -> Mapping[str, Fraction]:
        """Return attribute to its charge, in nats."""
        if self.shares:
            return dict(zip(self.charge_set, self.shares, strict=True))
        return dict.fromkeys(self.charge_set, self.epsilon)


def additive_cost(policy: Policy, slot: Slot) -> Cost:
    """Return the cost of a selection by a scorer that is additive over positions.

    Each attribute pays for the share of positions that it has in the read set. The
    mechanism runs at the largest ε for which no attribute pays more than the budget
    rule allows it for one selection, so it is at least that of any other scorer.

    Args:
        policy: Its budget has several releases.
        slot: A slot that some attribute of the policy is charged for.

    Raises:
        TypeError: The budget is standing: its response has one price for all.
    """
    budget = policy.budget
    if isinstance(budget, StandingBudget):
        raise TypeError("a standing budget charges every attribute the same")
    charge_set, read_set = policy.charge_set(slot), policy.read_set(slot)
    if not read_set:
        return Cost(policy.epsilon(slot), charge_set)
    # An attribute that the policy adds to Γ pays as if all positions were its own.
    groups = {
        name: policy.groups[name] & frozenset(read_set) or frozenset(read_set)
        for name in charge_set
    }
    epsilon = min(
        budget.epsilon([name], policy.caps)
        / additive_share(Fraction(1), read_set, groups[name])
        for name in charge_set
    )
    epsilon = from_ticks(to_ticks(min(epsilon, _LARGEST)))
    shares = [additive_share(epsilon, read_set, groups[name]) for name in charge_set]
    return Cost(epsilon, charge_set, tuple(shares))
