"""Whether a live interface keeps its contract, condition by condition, on given stores.

A finding is about what the turns did on these stores in these states; that they hold for
all others is what the modules of `core` are built for.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.audit.exact import Search, Visit, asks_of
from langchain_memview.audit.facts import Facts, facts
from langchain_memview.audit.turns import Interface, Law, Step, Turns
from langchain_memview.audit.witnesses import Pair
from langchain_memview.core.exponent import exp_lower
from langchain_memview.core.policy import Policy

CONDITIONS = {
    "C1": "the views that can be released are the same under every store",
    "C2": "every selection charges all attributes whose group it reads",
    "C3": "a turn's ratio is at most e to the sum of its charges",
    "C4": "slots, order, reads, charges and amounts are the same for adjacent stores",
    "C5": "no attribute has spent more than its cap",
    "C6": "what is not drawn is the same for adjacent stores",
}


@dataclass(frozen=True)
class Finding:
    """What was found of one condition.

    Attributes:
        condition: C1 to C6.
        holds: Whether no turn broke it.
        text: What the condition says, or where it was broken; without memory texts.
    """

    condition: str
    holds: bool
    text: str


class Contract:
    """Collects where a policy's conditions were broken.

    Args:
        policy: The policy of the interface.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._broken: dict[str, str] = {}
        self._facts: dict[int, tuple[Law, Facts]] = {}
        self._worst: dict[Fraction, Fraction | float] = {}

    def look(self, pair: Pair, visits: Iterable[Visit]) -> None:
        """Check what the turns did in the visited states.

        Args:
            pair: The two stores. Private.
            visits: What a search met with them. Private.
        """
        for visit in visits:
            mine = self._facts_of(visit, visit.mine)
            yours = self._facts_of(visit, visit.yours)
            found = (
                *mine.broken,
                *yours.broken,
                *mine.compared(yours),
                *self._ratios(pair, visit),
            )
            for condition, text in found:
                where = f"asked {visit.ask.query!r}, {text}"
                self._broken.setdefault(condition, where)

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each condition."""
        return tuple(
            Finding(
                condition,
                condition not in self._broken,
                self._broken.get(condition, says),
            )
            for condition, says in CONDITIONS.items()
        )

    def _facts_of(self, visit: Visit, law: Law) -> Facts:
        # A law is met in many pairs; it is kept, so that its id stays its own.
        if id(law) not in self._facts:
            self._facts[id(law)] = law, facts(self._policy, visit, law)
        return self._facts[id(law)][1]

    def _ratios(self, pair: Pair, visit: Visit) -> Iterator[tuple[str, str]]:
        # A step that one of the laws does not know at all breaks another condition.
        for step in visit.mine.keys() & visit.yours.keys():
            p, q = visit.mine[step], visit.yours[step]
            if p == q:
                continue
            ratio = max(p / q, q / p) if p and q else math.inf
            bound = _bound(self._policy, pair.attribute, step)
            # A ratio below one that was within the same bound needs no exponential.
            if ratio > self._worst.get(bound, 1):
                self._worst[bound] = ratio
                if math.isinf(ratio) or ratio > exp_lower(bound):
                    yield "C3", f"a release has a ratio above e^{float(bound):.4g}"


def contract_findings(
    interface: Interface, pairs: Iterable[Pair], queries: Iterable[str], depth: int
) -> tuple[Finding, ...]:
    """Return a finding for each condition, after walking all public states.

    Args:
        interface: The interface, for example `MemView(...).interface`.
        pairs: Adjacent stores. Private.
        queries: What the application may ask.
        depth: Number of turns.
    """
    turns = Turns(interface)
    contract, asks = Contract(turns.policy), asks_of(turns, tuple(queries), depth)
    for pair in pairs:
        search = Search(turns, pair.store, pair.other, asks)
        search.audit(depth)
        contract.look(pair, search.visits)
    return contract.findings()


def _bound(policy: Policy, attribute: str, step: Step) -> Fraction:
    """Return what the selections that read the attribute's group charge for it.

    One that leaves the attribute out breaks another condition, and counts with its ε.
    """
    drawn = [slot for _, slot in step.recorded] or list(step.shown)
    group = policy.groups[attribute]
    return sum(
        (
            slot.charges.get(attribute, slot.epsilon)
            for slot in drawn
            if slot.outcome == "selected" and group & frozenset(slot.read_set)
        ),
        Fraction(0),
    )
