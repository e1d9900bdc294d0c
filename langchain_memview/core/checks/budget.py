"""Problems of the budget: every ε is > 0 and every share is given."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from langchain_memview.core.amounts import TICKS_PER_NAT
from langchain_memview.core.budget import Fallback
from langchain_memview.core.checks.draft import Draft, did_you_mean, mapping
from langchain_memview.core.checks.plain import (
    bare,
    mistake,
    shown,
    whole,
)
from langchain_memview.core.checks.standing import check_standing
from langchain_memview.errors import Problem

_MODES = ["online", "preallocated", "standing"]
_FALLBACKS = get_args(Fallback)


def check_budget(fields: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    """Yield the errors of the budget section.

    Args:
        fields: The policy document.
        readable: Its sound parts.
    """
    if not isinstance(fields.get("budget"), Mapping):
        return
    budget = fields["budget"]
    mode = budget.get("mode")
    if mode == "online":
        yield from _online(budget)
    elif mode == "preallocated":
        yield from _preallocated(budget, readable)
    elif mode == "standing":
        yield from check_standing(budget, readable)
    else:
        text = (
            f"budget mode {shown(mode)} is not known" if mode else "budget has no mode"
        )
        fix = did_you_mean(mode, _MODES) or "use online, preallocated or standing"
        yield mistake("MV405", ("budget", "mode"), text, fix)
    if mode != "standing":
        yield from _without_standing(budget, readable)
    yield from _too_small(readable)


def _too_small(readable: Draft) -> Iterator[Problem]:
    for slot in readable.slots:
        if readable.epsilon(slot) == 0:
            text = (
                f"ε of slot {shown(slot.name)} is below 1/{TICKS_PER_NAT}, the ledger's "
                "unit"
            )
            fix = "a smaller k or planned count, or a larger cap, makes it positive"
            path = ("slots", slot.name)
            yield Problem("MV408", "error", path, text, fix, at_key=True)


def _without_standing(budget: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    fallback = budget.get("fallback", "generic")
    if fallback not in _FALLBACKS:
        text = f"fallback {shown(fallback)} is not known"
        fix = did_you_mean(fallback, _FALLBACKS) or "use generic, latest or posterior"
        yield mistake("MV414", ("budget", "fallback"), text, fix)
    for slot in readable.slots:
        if slot.fields.get("facet"):
            text = (
                f"slot {shown(slot.name)} names a facet, which only mode: standing has"
            )
            path = ("slots", slot.name, "facet")
            yield mistake("MV410", path, text, "delete it, or use mode: standing")


def _online(budget: Mapping[Any, Any]) -> Iterator[Problem]:
    if not whole(budget.get("k")):
        yield mistake(
            "MV404",
            ("budget", "k"),
            f"k must be a whole number of at least 1, got {shown(budget.get('k'))}",
            "k: 3 lets each attribute be charged three times",
        )


def _preallocated(budget: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    if not isinstance(budget.get("planned", {}), Mapping):
        return
    planned = mapping(budget.get("planned"))
    for name in readable.attributes:
        if name not in planned:
            yield mistake(
                "MV406",
                ("budget", "planned", name),
                f"attribute {shown(name)} has no planned number of charges",
                f"add {bare(name)}: <how often its slots are expected to be "
                "charged>   under planned",
            )
    for name, count in planned.items():
        path = ("budget", "planned", name)
        if readable.attributes and name not in readable.attributes:
            text = f"planned names {shown(name)}, which is no protected attribute"
            fix = did_you_mean(name, readable.attributes)
            yield Problem("MV407", "error", path, text, fix, at_key=True)
        elif not whole(count):
            text = (
                f"planned count of {shown(name)} must be a whole number of at least 1, "
                f"got {shown(count)}"
            )
            yield mistake("MV404", path, text)
