"""One turn of the trusted interface, line by line: Algorithm 1 under Definition 1.

`TrustedInterface.turn` holds lines 1 to 18; line 19 is `Release.control`, lines 20 to 22
belong to the graph. Raw contents and scores are local variables of this one method. It
knows neither where memories are kept nor where ledgers are: it is given a function that
reads positions and one that runs a decision inside the ledger's transaction.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from langchain_memview.core.accounts import Decide
from langchain_memview.core.choice import Choice, Draw, fresh_draw
from langchain_memview.core.cost import Cost, additive_cost
from langchain_memview.core.fallback import Released, fallback_view, nothing_before
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.mechanism import exponential_mechanism
from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.release import Outcome, SlotRelease
from langchain_memview.core.routing import Router, active_slots
from langchain_memview.core.scoring import (
    AdditiveScorer,
    Scorer,
    public_prior,
    scores,
    sensitivity,
)
from langchain_memview.core.transcript import AugmentedTranscript

Recorded = TypeVar("Recorded")


@dataclass(frozen=True)
class TrustedInterface:
    """The fixed parts of the interface: policy, router and scorer.

    Attributes:
        policy: Slots, vocabularies, groups, caps and budget rule.
        router: Maps public inputs to active slots (C4).
        scorer: Scores views from the contents of a read set.
        draw: Draws an index; only the audit and the testing package give another.
    """

    policy: Policy
    router: Router
    scorer: Scorer
    draw: Draw = fresh_draw

    @cached_property
    def sensitivity(self) -> Fraction:
        """Return Δu: the scorer's bound, or the larger one that the policy asks for."""
        return max(sensitivity(self.scorer), Fraction(self.policy.sensitivity or 0))

    def cost(self, slot: Slot) -> Cost:
        """Return what a selection for the slot costs: a function of public values."""
        policy = self.policy
        if isinstance(self.scorer, AdditiveScorer):
            return additive_cost(policy, slot)
        return Cost(policy.epsilon(slot), policy.charge_set(slot))

    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        read: Callable[[Set[int]], Mapping[int, Any]],
        transact: Callable[[Decide], Recorded],
        released: Released = nothing_before,
    ) -> Recorded:
        """Return what `transact` makes of the turn's releases (Algorithm 1).

        Args:
            query: q_t. Public.
            history: τ~ before the turn. Public.
            read: Given positions, returns their contents. Private.
            transact: Runs the decision with the current ledger, atomically, and
                records what it returns before anything leaves.
            released: Given a slot, returns its earlier releases. Public.
        """
        policy = self.policy
        active = active_slots(policy, self.router, query, history)  # l. 1-2
        priors = {slot.name: public_prior(self.scorer, query, slot) for slot in active}
        contents = read(frozenset().union(*(policy.read_set(s) for s in active)))
        # l. 12 comes first, so that a slow scorer never holds the ledger's lock; the
        # scores of a slot that is not admitted are dropped unseen.
        utility = {
            slot.name: scores(
                self.scorer,
                slot,
                query,
                [contents[position] for position in policy.read_set(slot)],
            )
            for slot in active
        }

        def decide(ledger: Ledger) -> list[SlotRelease]:
            views = []
            for slot in active:  # l. 3-4
                view, ledger = self._select(
                    slot, ledger, utility[slot.name], priors[slot.name], released
                )
                views.append(view)
            return views  # l. 18

        return transact(decide)

    def _select(
        self,
        slot: Slot,
        ledger: Ledger,
        u: Sequence[Fraction],
        prior: Sequence[Fraction] | None,
        released: Released,
    ) -> tuple[SlotRelease, Ledger]:
        policy, views = self.policy, tuple(slot.vocabulary)
        # l. 5-6: of the prefix h, the read policy uses the slot alone.
        read_set = policy.read_set(slot)
        charge_set = policy.charge_set(slot)  # l. 7
        if len(views) == 1:
            # What it reads does not matter, whatever is protected later.
            return SlotRelease(slot.name, views[0], "uncharged"), ledger
        if not charge_set:
            # The same view under all adjacent stores, so nothing to pay for (C3).
            best = views[max(range(len(u)), key=u.__getitem__)]
            return SlotRelease(slot.name, best, "uncharged", read_set), ledger
        cost = self.cost(slot)  # l. 8
        if blocked := ledger.blocked(cost.charges):  # l. 9
            rule = policy.fallback
            view = fallback_view(rule, slot, released)  # l. 10
            shown: Outcome = "generic" if rule == "generic" else "standing"
            refused = SlotRelease(slot.name, view, shown, read_set, blocked_by=blocked)
            return refused, ledger
        mechanism = exponential_mechanism(cost.epsilon, self.sensitivity)  # l. 13
        # l. 15 before l. 14: a crash in between costs budget, not privacy.
        ledger = ledger.charge_each(cost.charges)  # l. 15
        view = views[self.draw(Choice(mechanism, (u, prior)))]  # l. 14
        selected = SlotRelease(
            slot.name,
            view,
            "selected",
            read_set,
            cost.charge_set,
            cost.epsilon,
            shares=cost.shares,
        )
        return selected, ledger
