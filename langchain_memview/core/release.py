"""All that may leave the trusted interface at one turn: condition C6, Eq. (2).

A `Release` is built from views, public outcomes and ledger balances; this module
cannot import memory, scores or scorers. The chat model is the channel K_LLM of
Eq. (2): what it is given is a function of the query, the released views and the
released history, so its answer is post-processing of a release.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from langchain_memview.core.ledger import Balance
from langchain_memview.core.views import View

Outcome = Literal["selected", "generic", "replayed", "uncharged", "standing"]
"""How a slot's view came about.

`selected`: drawn and charged. `generic`: a cap would have been passed, so the fixed
generic view is shown. `uncharged`: the read set touches no protected attribute.
`replayed`: the operation had been recorded before. `standing`: an earlier release of
the facet is shown again.
"""


@dataclass(frozen=True)
class SlotRelease:
    """What one slot released, with the public facts of its selection.

    Attributes:
        slot: Name of the slot.
        view: Name of the released view.
        outcome: How the view came about.
        read_set: Positions that the policy reads for the slot, sorted.
        charged: Attributes that were charged, sorted; empty if none was.
        epsilon: ε of the selection in nats: its loss for any change of what it reads,
            and the charge to each of them unless `shares` says less; 0 if uncharged.
        blocked_by: Attributes whose cap forbade the selection, sorted.
        shares: The charge to each of `charged`, in their order, where a scorer that is
            additive over positions tells them apart; else empty.
    """

    slot: str
    view: str
    outcome: Outcome
    read_set: tuple[int, ...] = ()
    charged: tuple[str, ...] = ()
    epsilon: Fraction = Fraction(0)
    blocked_by: tuple[str, ...] = ()
    shares: tuple[Fraction, ...] = ()

    @property
    def charges(self) -> Mapping[str, Fraction]:
        """Return charged attribute to its charge, in nats."""
        if self.shares:
            return dict(zip(self.charged, self.shares, strict=True))
        return dict.fromkeys(self.charged, self.epsilon)


@dataclass(frozen=True)
class ObservableControl:
    """c_t: the signals beside the views that an application may observe.

    Attributes:
        outcomes: Slot to how its view came about.
        balances: Attribute to spent and cap.
    """

    outcomes: Mapping[str, Outcome]
    balances: Mapping[str, Balance]


@dataclass(frozen=True)
class Release:
    """The released views of one turn, in policy order, and the public controls.

    Attributes:
        operation: Id under which the release is recorded and can be replayed.
        views: Slot to its released view; empty when the query activates no slot.
        balances: Attribute to spent and cap after the turn.
        slots: The public facts of every slot's selection.
        replayed: Whether the operation had been recorded before this call.
    """

    operation: str
    views: Mapping[str, View]
    balances: Mapping[str, Balance]
    slots: tuple[SlotRelease, ...] = field(repr=False)
    replayed: bool = False

    def __post_init__(self) -> None:
        """Keep read-only copies."""
        for name in ("views", "balances"):
            frozen = MappingProxyType(dict(getattr(self, name)))
            object.__setattr__(self, name, frozen)

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """Return slot to outcome; every slot of a repeated operation is `replayed`."""
        return {s.slot: "replayed" if self.replayed else s.outcome for s in self.slots}

    @property
    def control(self) -> ObservableControl:
        """Return c_t of Algorithm 1, line 19: a function of released state alone."""
        return ObservableControl(self.outcomes, self.balances)
