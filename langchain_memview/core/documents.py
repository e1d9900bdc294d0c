"""Parts of a policy as plain data, in the shape of a policy file."""

from typing import Any

from langchain_memview.core.budget import (
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.epochs import epochs_document
from langchain_memview.core.parts import Slot
from langchain_memview.core.views import View


def budget_document(
    budget: OnlineBudget | PreallocatedBudget | StandingBudget,
) -> dict[str, Any]:
    """Return a budget rule as plain data, in the shape of a policy file."""
    if isinstance(budget, StandingBudget):
        return {
            "mode": "standing",
            "epochs": epochs_document(budget.epochs),
            "threshold": str(budget.threshold),
            "top": budget.top,
        }
    document: dict[str, Any] = (
        {"mode": "online", "k": budget.granularity}
        if isinstance(budget, OnlineBudget)
        else {"mode": "preallocated", "planned": dict(budget.planned_charges)}
    )
    # Written only where it is chosen: a policy without it keeps its fingerprint.
    if budget.fallback != "generic":
        document["fallback"] = budget.fallback
    return document


def slot_document(slot: Slot) -> dict[str, Any]:
    """Return a slot as plain data, in the shape of a policy file."""
    document: dict[str, Any] = {"when": list(slot.when)}
    if slot.about:
        document["about"] = slot.about
    if slot.capacity is not None:
        document["capacity"] = slot.capacity
    if slot.read is not None:
        document["read"] = list(slot.read)
    if slot.charge:
        document["charge"] = list(slot.charge)
    if slot.facet:
        document["facet"] = slot.facet
    document["views"] = {
        name: view if isinstance(view, str) else _view_document(view)
        for name, view in slot.views.items()
    }
    return document


def _view_document(view: View) -> dict[str, Any]:
    document: dict[str, Any] = {"say": view.say, "cues": list(view.cues)}
    # Written only where it is given: a policy without it keeps its fingerprint.
    if view.support:
        document["support"] = view.support
    return document
