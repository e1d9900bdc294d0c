"""Which protected attributes a read affects, and so must be charged: C2, Eq. (4), Lemma 1.

The charge set is computed from positions alone, never typed: the policy may add
attributes to it but cannot leave one out. Lemma 1 is why an attribute outside the set
costs nothing: its group misses the read set, so adjacent stores agree on everything
that the selection reads.
"""

from collections.abc import Collection, Mapping, Set
from fractions import Fraction

from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.mechanism import GRID


def affected_attributes(
    read_set: Collection[int], groups: Mapping[str, Set[int]]
) -> frozenset[str]:
    """Return Γ*(R): every attribute whose group shares a position with the read set.

    Args:
        read_set: Positions that one selection reads.
        groups: Attribute name to its group I_a of positions.
    """
    read = frozenset(read_set)
    return frozenset(name for name, group in groups.items() if read & group)


def charge_set(
    read_set: Collection[int],
    groups: Mapping[str, Set[int]],
    also: Collection[str] = (),
) -> frozenset[str]:
    """Return Γ ⊇ Γ*(R): the affected attributes and those the policy adds.

    Args:
        read_set: Positions that one selection reads.
        groups: Attribute name to its group I_a of positions.
        also: Attributes to charge beyond the affected ones; over-charging is allowed.
    """
    return affected_attributes(read_set, groups) | frozenset(also)


def additive_share(
    epsilon: Fraction, read_set: Collection[int], group: Set[int]
) -> Fraction:
    """Return c_a, what a selection by an additive scorer costs one attribute, in nats.

    Such a score is the mean of one term per read position, each in [0, 1], so contents
    that agree off I_a move it by at most Δ_a = |R ∩ I_a| / |R|, rounded up to the grid
    of scores. The exponential mechanism at the temperature of ε for Δ = 1 then loses
    2TΔ_a = ε·Δ_a (the proof of Eq. 7 with Δ_a for Δ); it is rounded up to a whole tick.
    Tight as Eq. (7) is: when one view's score rises and all others' fall by Δ_a.

    Args:
        epsilon: ε of the selection for any change of what it reads, in nats.
        read_set: R, not empty.
        group: I_a.
    """
    # Counted as often as it is read, as the mean of the scores counts it.
    touched = sum(position in group for position in read_set)
    delta = Fraction(-(-GRID * touched // len(read_set)), GRID)
    exact = epsilon * delta
    floored = from_ticks(to_ticks(exact))
    return floored if floored == exact else from_ticks(to_ticks(exact) + 1)
