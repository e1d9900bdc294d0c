"""Whether a live interface keeps its contract, condition by condition, on given stores.

A finding is about what the turns did on these stores in these states; that they hold for
all others is what the modules of `core` are built for.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

from langchain_memview.audit.exact import Search, Visit, asks_of
from langchain_memview.audit.turns import Interface, Law, Step, Turns
from langchain_memview.audit.witnesses import Pair
from langchain_memview.core.charging import affected_attributes
from langchain_memview.core.guarantees import respects
from langchain_memview.core.policy import Policy
from langchain_memview.core.release import SlotRelease

CONDITIONS = {
    "C1": "the views that can be released are the same under every store",
    "C2": "every selection charges all attributes whose group it reads",
    "C3": "a turn's ratio is at most e to the sum of its ε",
    "C4": "slots, order, reads, charges and amounts are the same for adjacent stores",
    "C5": "no attribute has spent more than its cap",
    "C6": "what is not drawn is the same for adjacent stores",
}
_BASE = tuple(field.name for field in fields(SlotRelease))


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

    def look(self, pair: Pair, visits: Iterable[Visit]) -> None:
        """Check what the turns did in the visited states.

        Args:
            pair: The two stores. Private.
            visits: What a search met with them. Private.
        """
        for visit in visits:
            for condition, text in _broken(self._policy, pair.attribute, visit):
                self._broken.setdefault(condition, text)

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


def _broken(policy: Policy, attribute: str, visit: Visit) -> Iterator[tuple[str, str]]:
    where = f"asked {visit.ask.query!r}"
    for step in {**visit.mine, **visit.yours}:
        if _possible(visit, step):
            yield from _of_step(policy, attribute, visit, step)
    for condition, part, what in (
        ("C1", _views, "the views that can be released depend on the memory"),
        ("C4", _course, "the course of the turn depends on the memory"),
        ("C6", _undrawn, "something that was not drawn depends on the memory"),
    ):
        if _all(visit.mine, part) != _all(visit.yours, part):
            yield condition, f"{where}, {what}"


def _of_step(
    policy: Policy, attribute: str, visit: Visit, step: Step
) -> Iterator[tuple[str, str]]:
    where = f"asked {visit.ask.query!r}"
    for slot in _releases(step):
        yield from _selection(policy, slot, where)
    after = visit.state.then(visit.ask, step).ledger
    for name, balance in after.balances.items():
        if balance.spent > balance.cap:
            yield "C5", f"{where}, {name} has spent {balance.spent} of {balance.cap}"
    bound = _bound(policy, attribute, step)
    p, q = visit.mine.get(step, Fraction(0)), visit.yours.get(step, Fraction(0))
    if not (respects(p, q, bound) and respects(q, p, bound)):
        yield "C3", f"{where}, a release has a ratio above e^{float(bound):.4g}"


def _possible(visit: Visit, step: Step) -> bool:
    return bool(visit.mine.get(step) or visit.yours.get(step))


def _releases(step: Step) -> tuple[SlotRelease, ...]:
    return (*step.shown, *(slot for _, slot in step.recorded))


def _selection(
    policy: Policy, slot: SlotRelease, where: str
) -> Iterator[tuple[str, str]]:
    views = {view for s in policy.slots for view in s.vocabulary}
    named = policy.slots_by_name.get(slot.slot)
    if slot.view not in (named.vocabulary if named else views):
        yield "C1", f"{where}, slot {slot.slot} released a view it does not have"
    if slot.outcome == "selected":
        missing = affected_attributes(slot.read_set, policy.groups) - set(slot.charged)
        if missing:
            names = ", ".join(sorted(missing))
            yield "C2", f"{where}, slot {slot.slot} does not charge {names}"


def _bound(policy: Policy, attribute: str, step: Step) -> Fraction:
    """Return the ε of the selections that read the attribute's group."""
    drawn = [slot for _, slot in step.recorded] or list(step.shown)
    group = policy.groups[attribute]
    return sum(
        (
            slot.epsilon
            for slot in drawn
            if slot.outcome == "selected" and group & frozenset(slot.read_set)
        ),
        Fraction(0),
    )


def _views(step: Step) -> object:
    """Return the views that were drawn."""
    drawn = [slot for _, slot in step.recorded] or list(step.shown)
    return tuple((s.slot, s.view) for s in drawn if s.outcome == "selected")


def _course(step: Step) -> object:
    """Return all of a step but its views and what does not belong in a release."""
    shown = tuple(_facts(slot) for slot in step.shown)
    return shown, tuple((key, _facts(slot)) for key, slot in step.recorded)


def _facts(slot: SlotRelease) -> tuple[object, ...]:
    return tuple(getattr(slot, name) for name in _BASE if name != "view")


def _undrawn(step: Step) -> object:
    """Return the views that were not drawn, and every field that a release has not."""
    return tuple(
        (
            slot.slot,
            None if slot.outcome in ("selected", "standing") else slot.view,
            tuple(sorted((k, v) for k, v in vars(slot).items() if k not in _BASE)),
        )
        for slot in step.shown
    )


def _all(law: Law, part: Callable[[Step], object]) -> frozenset[object]:
    return frozenset(part(step) for step, chance in law.items() if chance)
