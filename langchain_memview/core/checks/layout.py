"""Problems of the layout: positions 1 to n, each in one slot that exists."""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_memview.core.checks.draft import (
    MAX_POSITIONS,
    Draft,
    did_you_mean,
    mapping,
)
from langchain_memview.core.checks.plain import mistake, shown, whole
from langchain_memview.errors import Problem


def check_layout(fields: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    """Yield the errors of the layout, or of the capacities that stand for it.

    Args:
        fields: The policy document.
        readable: Its sound parts.
    """
    slots = mapping(fields.get("slots"))
    if fields.get("layout") is None:
        yield from _capacities(slots)
        return
    layout = mapping(fields["layout"])
    for position, slot in layout.items():
        if not whole(position):
            text = f"layout position {shown(position)} is not a whole number from 1"
            fix = "number the positions 1, 2, 3, … without gaps"
            path = ("layout", position)
            yield Problem("MV111", "error", path, text, fix, at_key=True)
        elif slots and not (isinstance(slot, str) and slot in slots):
            yield _unknown_slot(("layout", position), position, slot, slots)
    if fields["layout"] == {}:
        yield mistake("MV115", ("layout",), "section 'layout' has no positions")
    numbers = sorted(position for position in layout if whole(position))
    missing = next((i for i, p in enumerate(numbers, 1) if p != i), None)
    if missing is not None:
        text = f"the layout has no position {missing}, but later ones"
        fix = "number the positions 1, 2, 3, … without gaps"
        yield mistake("MV111", ("layout",), text, fix)
    if layout and len(readable.layout) == len(layout):
        yield from _agreement(slots, readable)


def _unknown_slot(
    path: tuple[Any, ...], position: int, slot: object, slots: Mapping[Any, Any]
) -> Problem:
    return mistake(
        "MV106",
        path,
        f"position {shown(position)} belongs to slot {shown(slot)}, which is not "
        "defined under slots",
        did_you_mean(slot, slots),
    )


def _capacities(slots: Mapping[Any, Any]) -> Iterator[Problem]:
    total = 0
    missing = bad = False
    for name, slot in slots.items():
        capacity = mapping(slot).get("capacity")
        if isinstance(slot, Mapping) and capacity is None:
            missing = True
        elif capacity is not None and not whole(capacity, least=0):
            bad = True
            yield _bad_capacity(name, capacity)
        elif capacity is not None:
            total += capacity
    if missing:
        fix = "add layout: {1: <slot>, 2: <slot>}, or give every slot a capacity"
        yield mistake("MV105", ("layout",), "missing section 'layout'", fix)
    elif slots and total == 0 and not bad:
        yield mistake("MV115", ("slots",), "no slot has a position")
    if total > MAX_POSITIONS:
        text = f"the slots have more than {MAX_POSITIONS:,} positions"
        yield mistake("MV113", ("slots",), text, "give the slots smaller capacities")


def _bad_capacity(name: object, capacity: object) -> Problem:
    text = (
        f"capacity of slot {shown(name)} must be a whole number, got {shown(capacity)}"
    )
    return mistake("MV113", ("slots", name, "capacity"), text)


def _agreement(slots: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    counts: dict[str, int] = {}
    for slot in readable.layout.values():
        counts[slot] = counts.get(slot, 0) + 1
    for name, slot in slots.items():
        capacity = mapping(slot).get("capacity")
        if capacity is None:
            continue
        if not whole(capacity, least=0):
            yield _bad_capacity(name, capacity)
        elif capacity != counts.get(name, 0):
            yield mistake(
                "MV112",
                ("slots", name, "capacity"),
                f"slot {shown(name)} has capacity {shown(capacity)}, but the layout "
                f"gives it {counts.get(name, 0)} positions",
                "delete 'capacity:' (the layout says it) or correct one of them",
            )
