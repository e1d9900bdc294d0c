"""What can be said of the law of one turn by itself, before two laws are compared.

One store is compared with many others, so this is gathered once for each law.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TypeAlias

from langchain_memview.audit.exact import Visit
from langchain_memview.audit.turns import Law, Step
from langchain_memview.core.charging import affected_attributes
from langchain_memview.core.policy import Policy
from langchain_memview.core.release import SlotRelease

_BASE = tuple(field.name for field in fields(SlotRelease))

Broken: TypeAlias = tuple[str, str]
"""A condition, and where it was broken."""


@dataclass(frozen=True)
class Facts:
    """What can happen under a law. Private, as the law is.

    Attributes:
        views: The views that can be drawn.
        courses: All of its steps but the views.
        undrawn: What its steps show that was not drawn.
        broken: What is wrong with it whatever it is compared with.
    """

    views: frozenset[object]
    courses: frozenset[object]
    undrawn: frozenset[object]
    broken: tuple[Broken, ...]


def facts(policy: Policy, visit: Visit, law: Law) -> Facts:
    """Return the facts of a law.

    Args:
        policy: The policy of the interface.
        visit: Where the law was met.
        law: One of the visit's two laws.
    """
    steps = [step for step, chance in law.items() if chance]
    broken = [
        found
        for step in steps
        for found in (*_selections(policy, step), *_overdrawn(visit, step))
    ]
    return Facts(
        frozenset(map(_views, steps)),
        frozenset(map(_course, steps)),
        frozenset(map(_undrawn, steps)),
        tuple(dict.fromkeys(broken)),
    )


def _selections(policy: Policy, step: Step) -> Iterator[Broken]:
    every = {view for s in policy.slots for view in s.vocabulary}
    for slot in (*step.shown, *(slot for _, slot in step.recorded)):
        named = policy.slots_by_name.get(slot.slot)
        if slot.view not in (named.vocabulary if named else every):
            yield "C1", f"slot {slot.slot} released a view it does not have"
        missing = affected_attributes(slot.read_set, policy.groups) - set(slot.charged)
        # What is released uncharged follows the memory, unless there is one view only.
        free = slot.outcome == "uncharged" and named and len(named.vocabulary) > 1
        if missing and (slot.outcome == "selected" or free):
            names = ", ".join(sorted(missing))
            yield "C2", f"slot {slot.slot} does not charge {names}"


def _overdrawn(visit: Visit, step: Step) -> Iterator[Broken]:
    after = visit.state.then(visit.ask, step).ledger
    for name, balance in after.balances.items():
        if balance.spent > balance.cap:
            yield "C5", f"{name} has spent {balance.spent} of {balance.cap}"


def _views(step: Step) -> object:
    """Return the views that were drawn."""
    drawn = [slot for _, slot in step.recorded] or list(step.shown)
    return tuple((s.slot, s.view) for s in drawn if s.outcome == "selected")


def _course(step: Step) -> object:
    """Return all of a step but its views and what does not belong in a release."""
    shown = tuple(_public(slot) for slot in step.shown)
    return shown, tuple((key, _public(slot)) for key, slot in step.recorded)


def _public(slot: SlotRelease) -> tuple[object, ...]:
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
