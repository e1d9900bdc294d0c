"""The policy: everything that is fixed before any memory is read.

Layout, groups I_a, caps B_a, slots with their vocabularies, read sets, budget rule and
scorer weights. A policy is an immutable value. `Policy(...)` in Python and
`load_policy(file)` in YAML give equal values, and both go through the checks of
`core.checks`, which report every problem at once.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from typing_extensions import override

from langchain_memview.core.amounts import Amount, amount, exact
from langchain_memview.core.budget import (
    Fallback,
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.charging import charge_set
from langchain_memview.core.checks import check_policy
from langchain_memview.core.documents import budget_document, slot_document
from langchain_memview.core.epochs import OneEpoch, epochs_document, epochs_of
from langchain_memview.core.facets import Facet, union
from langchain_memview.core.names import EVERYTHING
from langchain_memview.core.parts import (
    EmbeddingScore,
    ProtectedAttribute,
    ScoreWeights,
    Slot,
)
from langchain_memview.errors import PolicyError, Problem

__all__ = ["EmbeddingScore", "Policy", "ProtectedAttribute", "ScoreWeights", "Slot"]

Scope = Literal["subject", "audience"]
WhenFull = Literal["refuse", "oldest"]


@dataclass(frozen=True, eq=True)
class Policy:
    """Who is protected from what, and how much an application may learn in total.

    Attributes:
        name: Name of the policy; part of the lineage under which ledgers are kept.
        attributes: Attribute name to `ProtectedAttribute`.
        slots: The slots, in the order in which they are processed.
        budget: `OnlineBudget`, `PreallocatedBudget` or `StandingBudget`.
        layout: Position (1, 2, …) to slot name; None when every slot has a capacity.
        scorer: Weights of the paper's scorer, or the calibration of an embedding
            model; None for the default cue scorer.
        sensitivity: Δu to run at instead of the derived bound; only a larger one.
        scope: `subject` shares one ledger among all applications; `audience` gives
            each its own, which holds only if they do not pool what they see.
        when_full: What a memory does that finds every position of its slot taken: it
            is refused, or replaces the one whose last writing is longest ago.

    Raises:
        PolicyError: Lists every problem of the policy, with a fix for each.
    """

    name: str
    attributes: Mapping[str, ProtectedAttribute]
    slots: Sequence[Slot]
    budget: OnlineBudget | PreallocatedBudget | StandingBudget
    layout: Mapping[int, str] | None = None
    scorer: ScoreWeights | EmbeddingScore | None = None
    sensitivity: Amount | None = None
    scope: Scope = "subject"
    when_full: WhenFull = "refuse"

    def __post_init__(self) -> None:
        """Check everything at once, then keep normal forms only."""
        problems = _repeated_slots(self.slots) + check_policy(self.document())
        if any(problem.level == "error" for problem in problems):
            raise PolicyError(problems)
        layout = self._numbered_layout()
        set_ = object.__setattr__
        set_(self, "layout", MappingProxyType(layout))
        set_(self, "slots", tuple(_normal_slot(slot, layout) for slot in self.slots))
        set_(
            self,
            "attributes",
            MappingProxyType(
                {
                    name: ProtectedAttribute(
                        tuple(
                            sorted(
                                layout
                                if name == EVERYTHING
                                else expand_positions(attribute.positions, layout)
                            )
                        ),
                        amount(attribute.cap),
                    )
                    for name, attribute in self.attributes.items()
                }
            ),
        )
        if self.scorer is not None:
            set_(self, "scorer", _exact_numbers(self.scorer))
        if self.sensitivity is not None:
            set_(self, "sensitivity", exact(self.sensitivity))
        if isinstance(self.budget, StandingBudget):
            threshold = exact(self.budget.threshold)
            # Checked above, so they are a schedule; dates given as text become dates.
            epochs = epochs_of(epochs_document(self.budget.epochs)) or OneEpoch()
            budget = replace(self.budget, threshold=threshold, epochs=epochs)
            set_(self, "budget", budget)

    @override
    def __hash__(self) -> int:
        """Return a hash that agrees with equality."""
        return hash((self.name, self.lineage))

    def _numbered_layout(self) -> dict[int, str]:
        if self.layout is not None:
            return dict(sorted(self.layout.items()))
        names = [slot.name for slot in self.slots for _ in range(slot.capacity or 0)]
        return dict(enumerate(names, 1))

    def document(self) -> dict[str, Any]:
        """Return the policy as plain data, in the shape of a policy file."""
        document: dict[str, Any] = {"version": 1, "name": self.name}
        if self.layout is not None:
            document["layout"] = dict(self.layout)
        document["attributes"] = {
            name: {"positions": list(a.positions), "cap": a.cap}
            for name, a in self.attributes.items()
        }
        document["budget"] = budget_document(self.budget)
        if self.scorer is not None:
            document["scorer"] = dict(vars(self.scorer))
        if self.sensitivity is not None:
            document["sensitivity"] = self.sensitivity
        if self.scope != "subject":
            document["scope"] = self.scope
        if self.when_full != "refuse":
            document["when_full"] = self.when_full
        document["slots"] = {slot.name: slot_document(slot) for slot in self.slots}
        return document

    @cached_property
    def fingerprint(self) -> str:
        """Return 64 hex digits that change with everything that affects a release."""
        plain = json.dumps(self.document(), default=str)
        return hashlib.sha256(plain.encode()).hexdigest()

    @cached_property
    def lineage(self) -> str:
        """Return the ledger's name for this policy: its name and a hash of its layout.

        Positions never change their slot; a changed layout is a new lineage.
        """
        plain = json.dumps([self.name, sorted(self.positions.items())])
        return f"{self.name}@{hashlib.sha256(plain.encode()).hexdigest()[:12]}"

    @property
    def fallback(self) -> Fallback:
        """Return what is shown when a cap forbids a selection."""
        if isinstance(self.budget, StandingBudget):
            return "generic"
        return self.budget.fallback

    @property
    def positions(self) -> Mapping[int, str]:
        """Return the layout: position to slot name, positions 1 to n."""
        return self.layout or {}

    @cached_property
    def groups(self) -> Mapping[str, frozenset[int]]:
        """Return the group I_a of every attribute."""
        return {name: a.group for name, a in self.attributes.items()}

    @cached_property
    def caps(self) -> Mapping[str, Fraction]:
        """Return the cap B_a of every attribute, in nats."""
        return {name: amount(a.cap) for name, a in self.attributes.items()}

    @cached_property
    def slots_by_name(self) -> Mapping[str, Slot]:
        """Return the slots under their names, in processing order."""
        return {slot.name: slot for slot in self.slots}

    def read_set(self, slot: Slot) -> tuple[int, ...]:
        """Return R in ascending order: the positions that a selection reads (C4).

        They depend on the slot alone, never on what is stored.
        """
        return tuple(slot.read or ())

    def charge_set(self, slot: Slot) -> tuple[str, ...]:
        """Return Γ of a selection for the slot, sorted (C2); empty if none is affected.

        In the standing mode it is that of the slot's facet.
        """
        return self.facet(slot).charge_set

    def epsilon(self, slot: Slot) -> Fraction:
        """Return ε of a charged selection for the slot, in nats; 0 if none is affected."""
        return self.facet(slot).epsilon

    def facet(self, slot: Slot) -> Facet:
        """Return the facet of the slot; outside the standing mode its own."""
        return self._facet_of[slot.name]

    @cached_property
    def facets(self) -> tuple[Facet, ...]:
        """Return the facets in the order of their first slots."""
        # Fixed by the policy, so computed once.
        standing = isinstance(self.budget, StandingBudget)
        members: dict[str, list[Slot]] = {}
        for slot in self.slots:
            name = slot.facet if standing and slot.facet else slot.name
            members.setdefault(name, []).append(slot)
        reads = {
            name: union(self.read_set(slot) for slot in slots)
            for name, slots in members.items()
        }
        charges = {
            name: charge_set(
                reads[name],
                self.groups,
                [attribute for slot in slots for attribute in slot.charge],
            )
            for name, slots in members.items()
        }
        charged = {
            name: names
            for name, names in charges.items()
            # A facet of one view is never drawn, so it takes no share.
            if names and not (standing and len(members[name][0].vocabulary) == 1)
        }
        if isinstance(self.budget, StandingBudget):
            epsilons = self.budget.epsilons(charged, self.caps)
        else:
            epsilons = {
                name: self.budget.epsilon(names, self.caps)
                for name, names in charged.items()
            }
        return tuple(
            Facet(
                name,
                tuple(slot.name for slot in slots),
                tuple(slots[0].vocabulary),
                reads[name],
                tuple(sorted(charges[name])),
                epsilons.get(name, Fraction(0)),
            )
            for name, slots in members.items()
        )

    @cached_property
    def _facet_of(self) -> Mapping[str, Facet]:
        return {slot: facet for facet in self.facets for slot in facet.slots}


def _exact_numbers(
    scorer: ScoreWeights | EmbeddingScore,
) -> ScoreWeights | EmbeddingScore:
    fields: dict[str, Any] = {
        name: value if name == "model" else exact(value)
        for name, value in vars(scorer).items()
    }
    return type(scorer)(**fields)


def _repeated_slots(slots: Iterable[Slot]) -> list[Problem]:
    # A document has one slot under each name, so the second one would go unchecked.
    counts = Counter(slot.name for slot in slots)
    text = "slot {!r} is defined twice; only the last one would be checked"
    return [
        Problem("MV102", "error", ("slots", name), text.format(name), "rename one")
        for name, count in counts.items()
        if count > 1
    ]


def expand_positions(
    positions: Iterable[int | str], layout: Mapping[int, str]
) -> frozenset[int]:
    """Return positions with every slot name replaced by that slot's positions."""
    found: set[int] = set()
    for item in positions:
        if isinstance(item, int):
            found.add(item)
        else:
            found.update(p for p, name in layout.items() if name == item)
    return frozenset(found)


def _normal_slot(slot: Slot, layout: Mapping[int, str]) -> Slot:
    own = tuple(p for p, name in layout.items() if name == slot.name)
    return replace(
        slot,
        when=tuple(slot.when),
        views=slot.vocabulary,
        capacity=len(own),
        read=tuple(sorted(own if slot.read is None else slot.read)),
        charge=tuple(sorted(slot.charge)),
    )
