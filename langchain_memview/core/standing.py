"""Standing releases: drawn once per facet and epoch, then shown again at no cost.

What is released. For every facet and public epoch the best supported view id goes
through one k-ary randomized response at the facet's ε, is charged, recorded and shown
for as long as the epoch lasts. The generic view is the choice "nothing is supported":
it stands for a support just below the policy's threshold.

Why the transcript is B_a-DP. Each draw is ε_f-differentially private against every
change of what its facet reads, whatever the scorer (`RandomizedResponse`), and free for
an attribute whose group the facet does not read. Everything else that a turn shows is a
function of the query, of recorded draws and of public circumstances. The number of
draws is fixed in advance, and Σ ε_f over the facets and epochs that touch an attribute
is at most its cap (`budget.max_min_shares`); the ledger checks it again on every path.
It is tight for one facet and one epoch: e^B for the view that one store supports and
the other does not.

Why it is worth it. No B-DP interface shows the right one of k views, averaged over
the views, more often than e^B/(e^B+k−1) at any turn; one draw, shown again, does so at
every turn, for any number of turns (`response.RandomizedResponse` has the proof).

What a turn shows. Relevance is public and free. A drawn view o is shown unless another
view is more likely than o to be the right one given the query's public weights π: that
is when π(v) > e^ε·π(o) (the posterior rule, exact for j = 1; else it favours o). A draw
for which the query leaves fewer views is a draw among those.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from langchain_memview.core.accounts import Decide
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.choice import Choice
from langchain_memview.core.exponent import exp_lower
from langchain_memview.core.facets import Facet
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.names import RESERVED
from langchain_memview.core.policy import Slot
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.response import randomized_response
from langchain_memview.core.routing import active_slots
from langchain_memview.core.scoring import public_prior, scores, supports
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.core.views import GENERIC

Read = Callable[[Set[int]], Mapping[int, Any]]
Prior = Sequence[Fraction] | None


class Journal(Protocol):
    """The recorded releases of one account."""

    def known(self, key: str) -> SlotRelease | None:
        """Return what was recorded under the key, or None."""
        ...

    def record(self, key: str, decide: Decide) -> SlotRelease | None:
        """Return what is recorded under the key, after recording the decision if new.

        Returns:
            None if the decision released nothing.
        """
        ...

    def ledger(self) -> Ledger:
        """Return the current ledger of the account."""
        ...


@dataclass(frozen=True)
class StandingInterface:
    """The trusted interface in the standing mode.

    Attributes:
        trusted: Policy, router, scorer and draw.
    """

    trusted: TrustedInterface

    @property
    def _budget(self) -> StandingBudget:
        budget = self.trusted.policy.budget
        if not isinstance(budget, StandingBudget):
            raise TypeError("the policy's budget is not standing")
        return budget

    def turn(
        self,
        query: str,
        history: AugmentedTranscript,
        epoch: Callable[[Facet], int],
        read: Read,
        journal: Journal,
    ) -> tuple[SlotRelease, ...]:
        """Return what every active slot shows, in the order of the policy.

        Args:
            query: q_t. Public.
            history: τ~ before the turn. Public.
            epoch: Returns the public epoch of a facet.
            read: Given positions, returns their contents. Private.
            journal: Finds and records the draws of the account.
        """
        policy, scorer = self.trusted.policy, self.trusted.scorer
        active = active_slots(policy, self.trusted.router, query, history)
        priors = [public_prior(scorer, query, slot) for slot in active]
        return tuple(
            self._shown(slot, query, prior, epoch, read, journal)
            for slot, prior in zip(active, priors, strict=True)
        )

    def open(self, epoch: Callable[[Facet], int], read: Read, journal: Journal) -> None:
        """Draw every facet of the current epoch that has not been drawn yet.

        Args:
            epoch: As in `turn`.
            read: As in `turn`.
            journal: As in `turn`.
        """
        for facet in self.trusted.policy.facets:
            if facet.charge_set and len(facet.views) > 1:
                key = facet.key(epoch(facet))
                if journal.known(key) is None:
                    self._drawn(facet, key, None, read, journal)

    def _shown(
        self,
        slot: Slot,
        query: str,
        prior: Prior,
        epoch: Callable[[Facet], int],
        read: Read,
        journal: Journal,
    ) -> SlotRelease:
        facet = self.trusted.policy.facet(slot)
        if not facet.charge_set or len(facet.views) == 1:
            return self._uncharged(slot, query, read, journal)
        views = tuple(slot.vocabulary)
        if prior is not None and sum(weight > 0 for weight in prior) == 1:
            # The query leaves one view, which is public; nothing is read.
            only = next(v for v, weight in zip(views, prior, strict=True) if weight)
            return SlotRelease(slot.name, only, "uncharged")
        key = facet.key(epoch(facet))
        known = journal.known(key)
        # Slots of one facet may name their views in different orders.
        weights = prior and [prior[views.index(name)] for name in facet.views]
        drawn = known or self._drawn(facet, key, weights, read, journal)
        # An id that a later policy no longer has stands for nothing.
        found = drawn.view if drawn.view in views else slot.generic.name
        if drawn.outcome != "generic":
            found = views[likelier(views.index(found), drawn.epsilon, prior)]
        if known:
            return SlotRelease(slot.name, found, "standing", facet.read_set)
        return replace(drawn, slot=slot.name, view=found)

    def _uncharged(
        self, slot: Slot, query: str, read: Read, journal: Journal
    ) -> SlotRelease:
        # The same view under all adjacent stores, so it may follow the memory (C3).
        if len(slot.vocabulary) == 1:
            return SlotRelease(slot.name, slot.generic.name, "uncharged")
        policy = self.trusted.policy
        self._note(policy.facet(slot), journal)
        contents = read(frozenset(policy.read_set(slot)))
        found = [contents[position] for position in policy.read_set(slot)]
        u = scores(self.trusted.scorer, slot, query, found)
        best = tuple(slot.vocabulary)[max(range(len(u)), key=u.__getitem__)]
        return SlotRelease(slot.name, best, "uncharged", policy.read_set(slot))

    def _note(self, facet: Facet, journal: Journal) -> None:
        """Record once that the facet was shown as it is, for the recount of later terms."""
        key = f"{RESERVED}uncharged:{facet.name}"
        if facet.read_set and journal.known(key) is None:
            noted = SlotRelease(facet.name, GENERIC, "uncharged", facet.read_set)
            journal.record(key, lambda _: [noted])

    def _drawn(
        self, facet: Facet, key: str, prior: Prior, read: Read, journal: Journal
    ) -> SlotRelease:
        """Return the release that is recorded under the key, drawn and charged now.

        Its outcome is `generic` if a cap forbids it; then nothing is recorded.
        """
        charge_set, epsilon = facet.charge_set, facet.epsilon
        if journal.ledger().blocked_by(charge_set, epsilon):
            # Somebody may have drawn it meanwhile, and that may be what fills the cap.
            recorded = journal.record(key, lambda _: [])
        else:
            choice, views = self.choice(facet, prior, read)

            def decide(ledger: Ledger) -> list[SlotRelease]:
                if ledger.blocked_by(charge_set, epsilon):
                    return []
                view = views[self.trusted.draw(choice)]
                return [
                    SlotRelease(
                        facet.name,
                        view,
                        "selected",
                        facet.read_set,
                        charge_set,
                        epsilon,
                    )
                ]

            recorded = journal.record(key, decide)
        if recorded:
            return recorded
        # What was spent stays spent, so there is nothing to record.
        blocked = journal.ledger().blocked_by(charge_set, epsilon)
        return SlotRelease(
            facet.name, GENERIC, "generic", facet.read_set, blocked_by=blocked
        )

    def choice(
        self, facet: Facet, prior: Prior, read: Read
    ) -> tuple[Choice, tuple[str, ...]]:
        """Return the randomized response that is due, and the views it is among."""
        budget = self._budget
        open_to = [
            index
            for index in range(len(facet.views))
            if prior is None or prior[index] > 0
        ]
        top = min(budget.top, len(open_to) - 1)
        contents = read(frozenset(facet.read_set))
        order = self._ranked(facet, contents, Fraction(budget.threshold))
        best = [open_to.index(i) for i in order if i in open_to][:top]
        mechanism = randomized_response(facet.epsilon, len(open_to), top)
        return Choice(mechanism, (best,)), tuple(facet.views[i] for i in open_to)

    def _ranked(
        self, facet: Facet, contents: Mapping[int, Any], threshold: Fraction
    ) -> list[int]:
        """Return the indices of the facet's views, the best supported first. Private.

        A view's support is the largest that any slot of the facet finds for it in what
        that slot reads. The generic view, index 0, comes before all below the threshold.
        """
        policy, scorer = self.trusted.policy, self.trusted.scorer
        support = [Fraction(0)] * len(facet.views)
        for slot in map(policy.slots_by_name.__getitem__, facet.slots):
            found = [contents[position] for position in policy.read_set(slot)]
            names = tuple(slot.vocabulary)
            for name, value in zip(names, supports(scorer, slot, found), strict=True):
                index = facet.views.index(name)
                support[index] = max(support[index], value)
        support[0] = threshold
        return sorted(
            range(len(support)), key=lambda index: (-support[index], index == 0, index)
        )


def likelier(drawn: int, epsilon: Fraction, prior: Prior) -> int:
    """Return the index to show: the drawn one unless the public weights overrule it.

    Given the draw o, a view v is the right one with a weight proportional to π(v), and
    e^ε times that for o. So o is shown unless π(v) > e^ε·π(o) for some v; then the view
    of the largest weight is, the first of several.

    Args:
        drawn: o, the index that was drawn. Public once it is released.
        epsilon: ε of the draw in nats.
        prior: π, public weight of each view, shape `(k,)`; None for equal ones.
    """
    if prior is None:
        return drawn
    best = max(range(len(prior)), key=lambda index: prior[index])
    return best if prior[best] > exp_lower(epsilon) * prior[drawn] else drawn
