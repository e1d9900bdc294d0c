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
        courses: What can happen, but the views.
        offered: Course to the views among which its draws choose.
        rest: Course and drawn views to all else that such steps show.
        broken: What is wrong with it whatever it is compared with.
    """

    courses: frozenset[object]
    offered: dict[object, set[object]]
    rest: dict[tuple[object, object], set[object]]
    broken: tuple[Broken, ...]

    def compared(self, other: "Facts") -> Iterator[Broken]:
        """Yield what differs between two laws that should be alike but in numbers.

        A step that is unknown to one of them is met by exactly one condition: its
        course is unknown (C4), or its drawn views are in this course (C1), or all else
        is for these views (C6).
        """
        if self.courses != other.courses:
            yield "C4", "the course of the turn depends on the memory"
        for course in self.offered.keys() & other.offered.keys():
            if self.offered[course] != other.offered[course]:
                yield "C1", "the views that can be released depend on the memory"
        for key in self.rest.keys() & other.rest.keys():
            if self.rest[key] != other.rest[key]:
                yield "C6", "something that was not drawn depends on the memory"


def facts(policy: Policy, visit: Visit, law: Law) -> Facts:
    """Return the facts of a law.

    Args:
        policy: The policy of the interface.
        visit: Where the law was met.
        law: One of the visit's two laws.
    """
    offered: dict[object, set[object]] = {}
    rest: dict[tuple[object, object], set[object]] = {}
    broken: list[Broken] = []
    # What is offered and never drawn is in the law too, with probability 0.
    for step, chance in law.items():
        course, views = _course(step), _drawn(step)
        offered.setdefault(course, set()).add(views)
        rest.setdefault((course, views), set()).add(_rest(step))
        if chance:
            broken += [*_selections(policy, step), *_overdrawn(visit, step)]
    courses = frozenset(_course(step) for step, chance in law.items() if chance)
    return Facts(courses, offered, rest, tuple(dict.fromkeys(broken)))


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


def _drawn(step: Step) -> object:
    """Return the views that were drawn."""
    drawn = [slot for _, slot in step.recorded] or list(step.shown)
    return tuple((s.slot, s.view) for s in drawn if s.outcome == "selected")


def _course(step: Step) -> object:
    """Return all of a step but its views and what does not belong in a release."""
    shown = tuple(_public(slot) for slot in step.shown)
    return shown, tuple((key, _public(slot)) for key, slot in step.recorded)


def _public(slot: SlotRelease) -> tuple[object, ...]:
    return tuple(getattr(slot, name) for name in _BASE if name != "view")


def _rest(step: Step) -> object:
    """Return every view, and every field that a release does not have."""
    return tuple(
        (
            slot.view,
            tuple(sorted((k, v) for k, v in vars(slot).items() if k not in _BASE)),
        )
        for slot in step.shown
    )
