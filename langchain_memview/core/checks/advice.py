"""What a policy may want to change: warnings and notes, each with the number it means.

A warning is about the guarantee: a cap that promises little, a view that states a fact,
a cue that an attribute's group may have left out. A note is about usefulness.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.checks.draft import Draft, DraftSlot, items, mapping
from langchain_memview.core.checks.hints import (
    AttributeNames,
    attributes_by_cue,
    folded,
    omitted_groups,
    stated_fact,
)
from langchain_memview.core.checks.plain import number, short, shown, whole
from langchain_memview.core.checks.scorer import sensitivity_bound
from langchain_memview.core.guarantees import in_100, posterior_odds_bounds
from langchain_memview.errors import Problem

SUSPICION = 0.1
"""What an observer may think beforehand, in every example."""

_LARGE_CAP = 4


def advise(fields: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    """Yield warnings and notes.

    Args:
        fields: The policy document.
        readable: Its sound parts.
    """
    for name, attribute in readable.attributes.items():
        yield from _large_cap(name, readable.caps.get(name))
        yield from _repeated(name, items(attribute.get("positions")))
    names = AttributeNames(name for name, group in readable.groups.items() if group)
    shared = attributes_by_cue(readable.slots)
    for slot in readable.slots:
        yield from _view_texts(slot, names)
        yield from _choice(fields, slot, readable)
        if readable.groups_complete and slot.selects and slot.read:
            yield from omitted_groups(slot, names, shared)


def best_picked(epsilon: Fraction, views: int, share: Fraction = Fraction(1)) -> float:
    """Return how likely the exponential mechanism picks a view that stands out.

    That view has a score higher by `share` of the sensitivity, all others are equal:
    e^(ε/2)/(e^(ε/2)+k−1) at share 1, which is the most that memory can achieve.

    Args:
        epsilon: Privacy parameter of one selection, in nats.
        views: Number k of views.
        share: Gap of scores over the sensitivity; in (0, 1].
    """
    weight = math.exp(float(epsilon * share) / 2)
    return weight / (weight + views - 1)


def optimum(epsilon: Fraction, views: int, top: int = 1) -> float:
    """Return the most that ε lets any mechanism show the right view, on average.

    e^ε/(e^ε+k−1), which k-ary randomized response attains; e^ε/(j·e^ε+k−j) where the
    j best views are equally likely.

    Args:
        epsilon: ε of one release, in nats.
        views: Number k of views.
        top: j.
    """
    shrink = math.exp(-float(epsilon))
    return 1 / (top + (views - top) * shrink)


def share_of_gap(fields: Mapping[Any, Any]) -> Fraction:
    """Return the largest gap that memory makes between scores, over the sensitivity.

    It is 1 unless the policy sets a Δu above the bound of its scorer.

    Args:
        fields: The policy document.
    """
    bound, given = sensitivity_bound(fields), number(fields.get("sensitivity"))
    return bound[0] / given if bound and given and given >= bound[0] else Fraction(1)


def _large_cap(name: str, cap: Fraction | None) -> Iterator[Problem]:
    if cap is not None and cap > _LARGE_CAP:
        high = in_100(posterior_odds_bounds(SUSPICION, cap)[1])
        yield Problem(
            "MV305",
            "warning",
            ("attributes", name, "cap"),
            f"cap {short(cap)} lets an observer's odds for {shown(name)} change "
            f"{math.exp(cap):,.0f}-fold: a 10 in 100 suspicion can become {high} in 100",
            "caps of 1 to 4 keep it between 23 and 86 in 100",
        )


def _repeated(name: str, positions: list[Any]) -> Iterator[Problem]:
    seen: set[int | str] = set()
    for index, item in enumerate(positions):
        if not whole(item) and not isinstance(item, str):
            continue
        if item in seen:
            path = ("attributes", name, "positions", index)
            text = f"attribute {shown(name)} lists position {shown(item)} twice"
            yield Problem("MV307", "warning", path, text, "delete one of them")
        seen.add(item)


def _view_texts(slot: DraftSlot, names: AttributeNames) -> Iterator[Problem]:
    first_with: dict[str, str] = {}
    for name, say in slot.views.items():
        where, path = f"{slot.name}.{name}", ("slots", slot.name, "views", name)
        fact, attribute = stated_fact(say, names)
        if fact:
            yield Problem(
                "MV203",
                "warning",
                path,
                f"view {shown(where)} states the protected attribute "
                f'{shown(attribute)} as a fact ("{fact} …")',
                'say how to answer, not what is true, e.g. "Give blood-sugar-conscious '
                'advice."',
            )
        same = folded(say)
        if same and same in first_with:
            text = f"views {shown(first_with[same])} and {shown(where)} say the same"
            fix = "delete one: a selection between equal texts costs and says nothing"
            yield Problem("MV207", "warning", path, text, fix)
        first_with.setdefault(same, where)


def _choice(
    fields: Mapping[Any, Any], slot: DraftSlot, readable: Draft
) -> Iterator[Problem]:
    path, name = ("slots", slot.name), shown(slot.name)
    if len(mapping(slot.fields.get("views"))) == 1:
        text = (
            f"slot {name} has a single view, so nothing is selected; "
            "it is released free of charge"
        )
        yield Problem("MV206", "warning", path, text, at_key=True)
    if readable.layout and not slot.read and slot.fields.get("read") in (None, []):
        text = f"slot {name} reads no position; it always returns its generic view"
        yield Problem("MV502", "warning", path, text, at_key=True)
    elif slot.selects and slot.read and not slot.charged and readable.groups_complete:
        yield Problem(
            "MV503",
            "note",
            path,
            f"slot {name} reads positions {shown(sorted(slot.read))}, which no attribute "
            "protects: its best view is released as is, uncharged",
            "add the positions to an attribute if they can hint at it",
            at_key=True,
        )
    epsilon = readable.epsilon(slot)
    if slot.selects and epsilon:
        yield from _rarely_best(fields, slot, readable, epsilon)


def _rarely_best(
    fields: Mapping[Any, Any], slot: DraftSlot, readable: Draft, epsilon: Fraction
) -> Iterator[Problem]:
    standing = isinstance(readable.budget, StandingBudget)
    if standing:
        chance = optimum(epsilon, len(slot.views))
    else:
        chance = best_picked(epsilon, len(slot.views), share_of_gap(fields))
    if chance < 0.5:
        yield Problem(
            "MV501",
            "note",
            ("slots", slot.name),
            f"slot {shown(slot.name)}: the best of its {len(slot.views)} views is picked "
            f"{in_100(chance)} in 100 times at ε={float(epsilon):.2g} (chance is "
            f"{in_100(1 / len(slot.views))})",
            "fewer views, one facet for slots that ask the same, or a larger cap help"
            if standing
            else "fewer views, a smaller k or a larger cap make selections more useful",
            at_key=True,
        )
