"""What can be judged of a policy document that may be damaged.

The checks run on plain data that a person typed: parts may be missing or of the wrong
type. `Draft` holds the parts that are sound, so that one mistake does not hide another
and no check has to be written twice, once for good and once for damaged documents.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from langchain_memview.core.amounts import amount, to_ticks
from langchain_memview.core.budget import (
    BudgetRule,
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.charging import affected_attributes
from langchain_memview.core.checks.plain import number, shown, whole
from langchain_memview.core.epochs import epochs_of
from langchain_memview.core.names import EVERYTHING

MAX_POSITIONS = 100_000
"""A layout is written by hand; more is a slip of the keyboard."""

MAX_CAP = 100
"""Above it e^cap is no promise, and the exact mechanism would compute for hours."""

_LONGEST_NAME = 60
_MOST_NAMES = 50


@dataclass(frozen=True)
class DraftSlot:
    """The sound parts of one slot.

    Attributes:
        name: The slot's name.
        fields: The slot's mapping as it was typed.
        views: View name to its sentence, for views that have one.
        cues: Every readable cue, the name of its view and its place in the list.
        read: Positions that a selection reads; None when that cannot be judged.
        affected: Γ*(R), the attributes whose group the slot reads.
        charged: Γ, the affected attributes and those that the slot adds.
    """

    name: str
    fields: Mapping[Any, Any]
    views: Mapping[str, str]
    cues: tuple[tuple[str, str, int], ...]
    read: frozenset[int] | None
    affected: frozenset[str]
    charged: frozenset[str]

    @property
    def facet(self) -> str:
        """Return the facet's name; the slot's own where it names none."""
        facet = self.fields.get("facet")
        return facet if isinstance(facet, str) and facet else self.name

    @property
    def selects(self) -> bool:
        """Return whether there is a choice of views."""
        return len(self.views) > 1


@dataclass(frozen=True)
class Draft:
    """The sound parts of a policy document.

    Attributes:
        layout: Position to slot name, in order.
        attributes: Attribute name to its mapping as it was typed.
        groups: Attribute name to the positions I_a that could be read.
        groups_complete: Whether `groups` misses nothing that the author meant.
        caps: Attribute name to cap, for caps that are sound.
        slots: The slots that are mappings.
        budget: The budget rule; None when it cannot be judged.
    """

    layout: Mapping[int, str]
    attributes: Mapping[str, Mapping[Any, Any]]
    groups: Mapping[str, frozenset[int]]
    groups_complete: bool
    caps: Mapping[str, Fraction]
    slots: tuple[DraftSlot, ...]
    budget: BudgetRule | StandingBudget | None

    def epsilon(self, slot: DraftSlot) -> Fraction | None:
        """Return ε of one selection for the slot; None when free or not judgeable."""
        if (
            self.budget is None
            or not slot.charged
            or not slot.charged <= set(self.caps)
        ):
            return None
        if isinstance(self.budget, PreallocatedBudget) and not (
            slot.charged <= set(self.budget.planned_charges)
        ):
            return None
        if isinstance(self.budget, StandingBudget):
            return self._standing(self.budget).get(slot.facet)
        return self.budget.epsilon(slot.charged, self.caps)

    def _standing(self, budget: StandingBudget) -> Mapping[str, Fraction]:
        sound = set(self.caps)
        charged = {
            name: frozenset().union(*(slot.charged for slot in slots))
            for name, slots in self.facets.items()
        }
        known = {
            name: names
            for name, names in charged.items()
            if names and any(slot.selects for slot in self.facets[name])
        }
        if not all(names <= sound for names in known.values()):
            return {}
        return budget.epsilons(known, self.caps)

    @property
    def facets(self) -> Mapping[str, list[DraftSlot]]:
        """Return facet name to its slots."""
        found: dict[str, list[DraftSlot]] = {}
        for slot in self.slots:
            found.setdefault(slot.facet, []).append(slot)
        return found


def draft(document: object) -> Draft:
    """Return the sound parts of a document.

    Args:
        document: Plain data in the shape of a policy file; nothing is assumed of it.
    """
    fields = mapping(document)
    layout = _layout(fields)
    attributes = {
        name: mapping(value)
        for name, value in mapping(fields.get("attributes")).items()
        if isinstance(name, str)
    }
    groups = {
        name: frozenset(layout if name == EVERYTHING else _group(value, layout))
        for name, value in attributes.items()
    }
    known = set(layout) | set(layout.values())
    caps = {name: number(value.get("cap")) for name, value in attributes.items()}
    slots = mapping(fields.get("slots")).items()
    return Draft(
        layout=layout,
        attributes=attributes,
        groups=groups,
        groups_complete=bool(attributes)
        and all(
            isinstance(value.get("positions"), list)
            and all(_is_known(item, known) for item in value["positions"])
            for name, value in attributes.items()
            if name != EVERYTHING
        ),
        caps={
            name: amount(cap)
            for name, cap in caps.items()
            if cap and 0 < cap <= MAX_CAP and to_ticks(cap)
        },
        slots=tuple(
            _slot(name, value, layout, groups)
            for name, value in slots
            if isinstance(name, str) and isinstance(value, Mapping)
        ),
        budget=_budget(mapping(fields.get("budget"))),
    )


def mapping(value: object) -> Mapping[Any, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return the fix that names the closest known name; empty when none is close.

    Args:
        name: What was typed.
        known: The names it may have been meant for.
    """
    meant = closest(name, known)
    return f"did you mean {shown(meant)}?" if meant else ""


def closest(name: object, known: Iterable[object]) -> str:
    """Return the known name that is closest; empty when none is close.

    Args:
        name: What was typed.
        known: The names it may have been meant for.
    """
    # Comparing is quadratic in the length, so a name of a megabyte is left alone.
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return ""
    options = [option for option in known if isinstance(option, str)]
    return "".join(get_close_matches(name, options[:_MOST_NAMES], n=1))


def _layout(fields: Mapping[Any, Any]) -> dict[int, str]:
    given = fields.get("layout")
    if given is not None:
        sound = {
            p: s for p, s in mapping(given).items() if whole(p) and isinstance(s, str)
        }
        return dict(sorted(sound.items()))
    names: list[str] = []
    for name, slot in mapping(fields.get("slots")).items():
        capacity = mapping(slot).get("capacity")
        if not isinstance(name, str) or not whole(capacity, least=0):
            continue
        if len(names) + capacity <= MAX_POSITIONS:
            names.extend([name] * capacity)
    return dict(enumerate(names, 1))


def _is_known(item: object, known: set[int | str]) -> bool:
    return isinstance(item, int | str) and item in known


def _group(attribute: Mapping[Any, Any], layout: Mapping[int, str]) -> set[int]:
    listed = items(attribute.get("positions"))
    names = {item for item in listed if isinstance(item, str)}
    numbers = {item for item in listed if whole(item)}
    return {p for p, slot in layout.items() if p in numbers or slot in names}


def _slot(
    name: str,
    fields: Mapping[Any, Any],
    layout: Mapping[int, str],
    groups: Mapping[str, frozenset[int]],
) -> DraftSlot:
    read: frozenset[int] | None = None
    if fields.get("read") is None:
        read = frozenset(p for p, slot in layout.items() if slot == name)
    elif isinstance(fields["read"], list):
        read = frozenset(p for p in fields["read"] if whole(p) and p in layout)
    views: dict[str, str] = {}
    cues: list[tuple[str, str, int]] = []
    for view_name, view in mapping(fields.get("views")).items():
        say = mapping(view).get("say") if isinstance(view, Mapping) else view
        if isinstance(view_name, str) and isinstance(say, str):
            views[view_name] = say
            typed = enumerate(items(mapping(view).get("cues")))
            cues.extend((cue, view_name, i) for i, cue in typed if isinstance(cue, str))
    affected = affected_attributes(read or (), groups)
    extra = {a for a in items(fields.get("charge")) if isinstance(a, str)}
    charged = affected | (extra & set(groups))
    return DraftSlot(name, fields, views, tuple(cues), read, affected, charged)


def _budget(fields: Mapping[Any, Any]) -> BudgetRule | StandingBudget | None:
    if fields.get("mode") == "online" and whole(fields.get("k")):
        return OnlineBudget(fields["k"])
    if fields.get("mode") == "preallocated":
        planned = mapping(fields.get("planned")).items()
        return PreallocatedBudget({a: count for a, count in planned if whole(count)})
    if fields.get("mode") == "standing":
        epochs = epochs_of(fields.get("epochs", "never"))
        return StandingBudget(epochs) if epochs else None
    return None
