"""Problems of the standing mode: public epochs, and facets whose slots share view ids."""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_memview.core.checks.draft import Draft, mapping
from langchain_memview.core.checks.plain import (
    listed,
    mistake,
    name_problems,
    number,
    shown,
    whole,
)
from langchain_memview.core.epochs import epochs_of
from langchain_memview.errors import Problem

_SCHEDULES = (
    "use never, {turns: 100, planned: 4}, {days: 30, start: 2026-01-01, planned: 12} "
    "or {renewals: 3}"
)


def check_standing(budget: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    """Yield the errors of a standing budget and of the facets it serves.

    Args:
        budget: The budget section.
        readable: The sound parts of the policy.
    """
    epochs = budget.get("epochs", "never")
    if epochs_of(epochs) is None:
        yield mistake(
            "MV409",
            ("budget", "epochs"),
            f"epochs {shown(epochs)} is no public schedule. A view is drawn again when "
            "a schedule that everybody knows says so, or when the subject asks for it, "
            "never because a memory changed: a new draw would then reveal the change "
            "with certainty (contract C4)",
            _SCHEDULES,
        )
    threshold = budget.get("threshold", "0.5")
    exact = number(threshold)
    if exact is None or not 0 < exact <= 1:
        text = f"threshold must be a number in (0, 1], got {shown(threshold)}"
        yield mistake("MV411", ("budget", "threshold"), text, "delete it (0.5)")
    top = budget.get("top", 1)
    if not whole(top):
        text = f"top must be a whole number of at least 1, got {shown(top)}"
        yield mistake("MV412", ("budget", "top"), text, "delete it (1)")
    yield from _facets(readable, top)


def _facets(readable: Draft, top: object) -> Iterator[Problem]:
    for name, slots in readable.facets.items():
        first, *others = slots
        for slot in slots:
            if slot.fields.get("facet") is not None:
                where = ("slots", slot.name, "facet")
                yield from name_problems(where, slot.fields["facet"])
        ids = set(mapping(first.fields.get("views")))
        for slot in others:
            theirs = set(mapping(slot.fields.get("views")))
            if theirs != ids:
                yield mistake(
                    "MV413",
                    ("slots", slot.name, "facet"),
                    f"slots {shown(first.name)} and {shown(slot.name)} share the facet "
                    f"{shown(name)}, so one release serves both, but only one of them "
                    f"has {listed(str(view) for view in theirs ^ ids)}",
                    "give both the same view names; their sentences may differ",
                )
        charged = any(slot.charged for slot in slots)
        if charged and whole(top) and len(ids) > 1 and top >= len(ids):
            text = (
                f"top {top} leaves no view of slot {shown(first.name)} less likely than "
                "the others, so its memory would not count"
            )
            fix = f"use at most {len(ids) - 1}"
            yield mistake("MV412", ("budget", "top"), text, fix)
