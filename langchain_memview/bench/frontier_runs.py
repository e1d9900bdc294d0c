"""What an interface releases under two adjacent stores: the law of every draw, exactly.

The runs go through the package's own turn. Where it draws, the law under the store M and
the law under the adjacent store M' are noted and an index is put back; the course of a
dialogue does not depend on what was drawn, so every draw is met. Under M each slot holds
evidence for one view, under M' for another one: the hardest pair for a view-level
observer, because both laws are one-hot and no third store is further away.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, get_args

from typing_extensions import override

from langchain_memview.core.accounts import Decide, after
from langchain_memview.core.budget import (
    Fallback,
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.choice import Choice
from langchain_memview.core.fallback import fallback_view
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.standing import Journal, StandingInterface
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.core.views import View
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers.cue import CueScorer

Mode = Literal[
    "online",
    "preallocated",
    "prior",
    "posterior",
    "standing",
    "one facet",
    "narrowed",
]
MODES: tuple[Mode, ...] = get_args(Mode)
GRANULARITY = 3
RELEVANT = 2
_HISTORY = AugmentedTranscript()
Law = tuple[Fraction, ...]


@dataclass(frozen=True)
class Cell:
    """One configuration.

    Attributes:
        mode: `online` and `preallocated` are the paper's; `prior` is online with a
            public prior that leaves two views; `posterior` is online that goes on with
            the likeliest released view; `standing` draws once per slot, `one facet`
            once for all slots, `narrowed` once per slot among two relevant views.
        cap: B_a in nats.
        turns: T; every turn asks about all slots.
        views: k.
        slots: Number of slots.
        overlap: Whether one attribute has positions in all slots; else in the first.
    """

    mode: Mode
    cap: Fraction
    turns: int
    views: int
    slots: int = 1
    overlap: bool = True

    @cached_property
    def policy(self) -> Policy:
        """Return the policy, in which the attribute `a` is the one that is watched."""
        names = [f"s{number}" for number in range(1, self.slots + 1)]
        of_slot = dict(enumerate(names, 1))
        groups = (
            {"a": list(of_slot)}
            if self.overlap
            else {"a": [1], **{f"a{p}": [p] for p in of_slot if p > 1}}
        )
        views = {"generic": "Any."} | {
            f"v{number}": View(f"In way {number}.", [f"cue{number}"])
            for number in range(1, self.views)
        }
        return Policy(
            "frontier",
            {n: ProtectedAttribute(group, self.cap) for n, group in groups.items()},
            [
                Slot(
                    name,
                    when=["ask"],
                    views=views,
                    capacity=1,
                    facet="all" if self.mode == "one facet" else "",
                )
                for name in names
            ],
            self._budget({n: len(group) for n, group in groups.items()}),
        )

    def _budget(
        self, sizes: Mapping[str, int]
    ) -> OnlineBudget | PreallocatedBudget | StandingBudget:
        match self.mode:
            case "standing" | "one facet" | "narrowed":
                return StandingBudget()
            case "preallocated":
                charges = {name: self.turns * size for name, size in sizes.items()}
                return PreallocatedBudget(charges)
            case "posterior":
                return OnlineBudget(GRANULARITY, "posterior")
            case _:
                return OnlineBudget(GRANULARITY)


@dataclass(frozen=True)
class Run:
    """What was released.

    Attributes:
        draws: Pair of laws, under M and under M', to how many draws had it; only draws
            that are charged to the watched attribute.
        shown: How likely a relevant turn shows the view that M supports, under M,
            averaged over turns and over the slots that the attribute touches.
        shown_other: The same under M'.
    """

    draws: Mapping[tuple[Law, Law], int]
    shown: float
    shown_other: float


class _Relevant(CueScorer):
    """Leaves the two views for which there is evidence in one of the stores."""

    @override
    def prior(self, query: str, slot: Slot) -> list[int]:  # type: ignore[override]
        return [int(0 < index <= RELEVANT) for index in range(len(slot.vocabulary))]


def run(cell: Cell) -> Run:
    """Return what the interface of the cell releases under M and M'."""
    mine, yours = _observed(cell, "cue1"), _observed(cell, "cue2")
    draws: Counter[tuple[Law, Law]] = Counter()
    for one, other in zip(mine.laws, yours.laws, strict=True):
        draws[one, other] += 1
    return Run(draws, float(mine.chance(cell)), float(yours.chance(cell)))


@dataclass
class _Observed:
    """The watched draws of one store, and what the turns showed of them."""

    laws: list[Law] = field(default_factory=list)
    shown: Counter[tuple[str, tuple[int, ...], bool]] = field(default_factory=Counter)
    """Slot, its draws so far, and whether the last of them is shown as it is."""

    def chance(self, cell: Cell) -> Fraction:
        """Return how likely the supported view is shown, averaged over what was shown."""
        total = Fraction(0)
        for (slot, draws, fresh), times in self.shown.items():
            laws = [self.laws[index] for index in draws]
            if fresh:
                # The first view that is not the generic one; `narrowed` has no generic.
                chance = laws[-1][0 if cell.mode == "narrowed" else 1]
            else:
                chance = _fallback_chance(cell, slot, laws)
            total += times * chance
        return total / self.shown.total()


def _fallback_chance(cell: Cell, slot: str, laws: Sequence[Law]) -> Fraction:
    """Return how likely the fallback after these draws is the supported view."""
    policy = cell.policy
    named = policy.slots_by_name[slot]
    views, chance = tuple(named.vocabulary), Fraction(0)
    epsilon = policy.epsilon(named)
    for drawn in product(range(len(views)), repeat=len(laws)):
        past = [SlotRelease(slot, views[i], "selected", epsilon=epsilon) for i in drawn]
        if _after(past, policy.fallback, named) == views[1]:
            pairs = zip(drawn, laws, strict=True)
            chance += math.prod((law[i] for i, law in pairs), start=Fraction(1))
    return chance


def _after(past: Sequence[SlotRelease], rule: Fallback, slot: Slot) -> str:
    return fallback_view(rule, slot, lambda _: past)


def _observed(cell: Cell, content: str) -> _Observed:
    policy, seen = cell.policy, _Observed()
    laws: list[Law] = []

    def draw(choice: Choice) -> int:
        laws.append(tuple(choice.probabilities()))
        return 0

    narrow = cell.mode in ("prior", "narrowed")
    scorer = _Relevant() if narrow else CueScorer()
    interface = TrustedInterface(policy, KeywordRouter.of(policy), scorer, draw)
    turn = _turns(interface, content)
    draws: dict[str, tuple[int, ...]] = {}
    latest: list[tuple[str, tuple[int, ...], bool]] = []
    for number in range(cell.turns):
        if latest and not laws:
            # A turn that drew nothing is followed by turns that draw nothing.
            for one in latest:
                seen.shown[one] += cell.turns - number
            break
        laws.clear()
        slots = [(slot, slot.outcome == "selected") for slot in turn()]
        drawn = iter(laws)
        noted = [(slot, next(drawn) if is_drawn else None) for slot, is_drawn in slots]
        latest = [
            _shown(seen, draws, slot, law)
            for slot, law in noted
            if "a" in policy.charge_set(policy.slots_by_name[slot.slot])
        ]
        seen.shown.update(latest)
    return seen


def _shown(
    seen: _Observed,
    draws: dict[str, tuple[int, ...]],
    slot: SlotRelease,
    law: Law | None,
) -> tuple[str, tuple[int, ...], bool]:
    """Note a law if there is one, and return what the slot shows."""
    before = draws.get(slot.slot, ())
    if law:
        seen.laws.append(law)
        before = (*before, len(seen.laws) - 1)
    again = slot.outcome == "standing" and not slot.blocked_by
    if again and not before:
        before = (len(seen.laws) - 1,)  # drawn for another slot of its facet
    draws[slot.slot] = before
    return slot.slot, before, bool(law) or again


def _turns(
    interface: TrustedInterface, content: str
) -> Callable[[], Sequence[SlotRelease]]:
    """Return a call that makes the next turn of a dialogue."""
    policy = interface.policy
    book = _Book(Ledger.opened(policy.caps))

    def read(positions: Set[int]) -> dict[int, str]:
        return dict.fromkeys(positions, content)

    if isinstance(policy.budget, StandingBudget):
        standing = StandingInterface(interface)
        return lambda: standing.turn("ask", _HISTORY, lambda _: 0, read, book)
    return lambda: interface.turn("ask", _HISTORY, read, book.charge)


class _Book(Journal):
    """The account of one dialogue, in a variable."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._kept: dict[str, SlotRelease] = {}

    def charge(self, decide: Decide) -> Sequence[SlotRelease]:
        """Return what is decided, after charging it."""
        released = decide(self._ledger)
        self._ledger = after(self._ledger, released)
        return released

    @override
    def known(self, key: str) -> SlotRelease | None:
        return self._kept.get(key)

    @override
    def record(self, key: str, decide: Decide) -> SlotRelease | None:
        for release in self.charge(decide):
            self._kept[key] = release
        return self._kept.get(key)

    @override
    def ledger(self) -> Ledger:
        return self._ledger
