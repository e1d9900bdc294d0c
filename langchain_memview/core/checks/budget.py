"""Problems of budget, scorer and sensitivity: an ε > 0 and a Δu that holds."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, get_args

from langchain_memview.core.amounts import TICKS_PER_NAT
from langchain_memview.core.budget import Fallback
from langchain_memview.core.checks.draft import Draft, did_you_mean, mapping
from langchain_memview.core.checks.plain import (
    bare,
    mistake,
    number,
    short,
    shown,
    whole,
)
from langchain_memview.core.checks.standing import check_standing
from langchain_memview.core.mechanism import GRID
from langchain_memview.errors import Problem

_MODES = ["online", "preallocated", "standing"]
_FALLBACKS = get_args(Fallback)
_PRIVATE = ("compatibility", "specificity")
_WEIGHTS = ("relevance", *_PRIVATE)


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


def check_scorer(fields: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield the errors of the scorer section and of the sensitivity.

    Args:
        fields: The policy document.
    """
    if isinstance(fields.get("scorer"), Mapping):
        yield from _weights(fields["scorer"])
    sensitivity = fields.get("sensitivity")
    if sensitivity is None:
        return
    exact, path = number(sensitivity), ("sensitivity",)
    bound = sensitivity_bound(fields)
    if exact is None or not 0 < exact <= 1:
        text = f"sensitivity must be a number in (0, 1], got {shown(sensitivity)}"
        yield mistake("MV403", path, text, "remove it (derived)")
    elif bound is not None and exact < bound[0]:
        yield mistake(
            "MV401",
            path,
            f"sensitivity {short(exact)} is below the bound {short(bound[0])} of this "
            f"scorer ({bound[1]}), so each release would cost more than its ε",
            f"remove it (derived), or set it to {short(bound[0])} or more",
        )


def sensitivity_bound(fields: Mapping[Any, Any]) -> tuple[Fraction, str] | None:
    """Return Δu of the policy's scorer and where it comes from; None if not judgeable.

    Only private terms move between adjacent stores, each within [0, 1], so the bound of
    Eq. (6) is the sum of their weights. The default cue scorer has one such term.

    Args:
        fields: The policy document.
    """
    if fields.get("scorer") is None:
        return Fraction(1), "support 1"
    scorer = mapping(fields["scorer"])
    weights = {name: _weight(scorer.get(name)) for name in _PRIVATE}
    sound = {name: weight for name, weight in weights.items() if weight is not None}
    if len(sound) < len(_PRIVATE) or sum(sound.values()) * GRID < 1:
        return None
    parts = " + ".join(f"{name} {short(weight)}" for name, weight in sound.items())
    return sum(sound.values(), Fraction(0)), parts


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


def _weight(value: object) -> Fraction | None:
    exact = number(value)
    return exact if exact is not None and 0 <= exact <= 1 else None


def _weights(scorer: Mapping[Any, Any]) -> Iterator[Problem]:
    weights: dict[str, Fraction] = {}
    for name in _WEIGHTS:
        weight = _weight(scorer.get(name))
        if weight is not None:
            weights[name] = weight
        else:
            text = (
                f"weight of {name} must be a number from 0 to 1, "
                f"got {shown(scorer.get(name))}"
            )
            yield mistake("MV402", ("scorer", name), text)
    if len(weights) < len(_WEIGHTS):
        return
    total = sum(weights.values())
    private = total - weights["relevance"]
    if total > 1:
        text = (
            f"the weights add up to {short(Fraction(total))}, so a score could pass 1"
        )
        yield mistake("MV402", ("scorer",), text, "let them add up to 1 (Eq. 5)")
    if private * GRID < 1:
        text = (
            f"compatibility and specificity add up to {short(Fraction(private))}, so no "
            "memory would ever count"
        )
        fix = f"give them 1/{GRID} or more together; 0.4 and 0.2 are the paper's"
        yield mistake("MV402", ("scorer",), text, fix)
