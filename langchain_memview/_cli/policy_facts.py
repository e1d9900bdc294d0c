"""What a policy means in numbers: the content of `memview policy show`."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.checks.advice import (
    SUSPICION,
    best_picked,
    optimum,
    share_of_gap,
)
from langchain_memview.core.guarantees import posterior_odds_bounds
from langchain_memview.core.policy import Policy, Slot


@dataclass(frozen=True)
class AttributeFacts:
    """One protected attribute.

    Attributes:
        name: Its name.
        positions: Its group I_a.
        cap: B_a in nats.
        releases: Fewest and most charged releases that the cap pays for; None when no
            slot charges it.
        odds: Factor by which an observer's odds change at most.
        suspicion: What a 10 in 100 suspicion can become, least and most.
    """

    name: str
    positions: tuple[int, ...]
    cap: Fraction
    releases: tuple[int, int] | None
    odds: float
    suspicion: tuple[float, float]


@dataclass(frozen=True)
class SlotFacts:
    """One slot.

    Attributes:
        name: Its name.
        reads: Positions that a selection reads.
        charges: Attributes that a selection is charged to, in alphabetical order.
        epsilon: ε of one selection in nats; 0 when it is free.
        views: Number of views.
        best_picked: How likely a view that stands out is picked; None when it is not
            drawn: a free selection releases the best view, an empty read the generic one.
        optimum: The most that its ε would allow any mechanism; None as above.
        facet: Name of the facet that it shares with other slots; empty if it does not.
    """

    name: str
    reads: tuple[int, ...]
    charges: tuple[str, ...]
    epsilon: Fraction
    views: int
    best_picked: float | None
    optimum: float | None
    facet: str


def attribute_facts(policy: Policy) -> list[AttributeFacts]:
    """Return the facts of every attribute, in the order of the policy."""
    slots = slot_facts(policy)
    found = []
    for name, group in policy.groups.items():
        cap = policy.caps[name]
        costs = [slot.epsilon for slot in slots if name in slot.charges]
        releases = (cap // max(costs), cap // min(costs)) if costs else None
        if isinstance(policy.budget, StandingBudget) and costs:
            touching = [f for f in policy.facets if name in f.charge_set]
            releases = (len(touching) * policy.budget.epochs.planned,) * 2
        suspicion = posterior_odds_bounds(SUSPICION, cap)
        positions = tuple(sorted(group))
        found.append(
            AttributeFacts(name, positions, cap, releases, math.exp(cap), suspicion)
        )
    return found


def slot_facts(policy: Policy) -> list[SlotFacts]:
    """Return the facts of every slot, in processing order."""
    return [_slot(policy, slot) for slot in policy.slots]


def _slot(policy: Policy, slot: Slot) -> SlotFacts:
    charges = policy.charge_set(slot)
    views = len(slot.vocabulary)
    facet, epsilon = policy.facet(slot), policy.epsilon(slot)
    picked, most = None, None
    if charges:
        most = optimum(epsilon, views) if views > 1 else None
        if isinstance(policy.budget, StandingBudget):
            picked = optimum(epsilon, views, policy.budget.top)
        else:
            picked = best_picked(epsilon, views, share_of_gap(policy.document()))
    shared = facet.name if len(facet.slots) > 1 else ""
    reads = facet.read_set
    return SlotFacts(slot.name, reads, charges, epsilon, views, picked, most, shared)


def show_document(policy: Policy) -> dict[str, Any]:
    """Return the facts as the JSON document `memview.policy-show/1`."""
    return {
        "schema": "memview.policy-show/1",
        "name": policy.name,
        "fingerprint": policy.fingerprint,
        "lineage": policy.lineage,
        "scope": policy.scope,
        "budget": policy.document()["budget"],
        "attributes": [
            {
                "name": fact.name,
                "positions": list(fact.positions),
                "cap": float(fact.cap),
                "cap_exact": str(fact.cap),
                "releases": list(fact.releases) if fact.releases else None,
                "odds_factor": fact.odds,
                "suspicion": {"before": SUSPICION, "within": list(fact.suspicion)},
            }
            for fact in attribute_facts(policy)
        ],
        "slots": [
            {
                "name": fact.name,
                "reads": list(fact.reads),
                "charges": list(fact.charges),
                "epsilon": float(fact.epsilon),
                "epsilon_exact": str(fact.epsilon),
                "views": fact.views,
                "best_picked": fact.best_picked,
                "chance": 1 / fact.views,
                "optimum": fact.optimum,
                "facet": fact.facet or None,
            }
            for fact in slot_facts(policy)
        ],
        "positions": [
            {
                "position": position,
                "slot": slot,
                "attributes": [
                    a for a, group in policy.groups.items() if position in group
                ],
            }
            for position, slot in policy.positions.items()
        ],
    }
