"""Which protected attributes a read affects, and so must be charged: C2, Eq. (4), Lemma 1.

The charge set is computed from positions alone, never typed: the policy may add
attributes to it but cannot leave one out. Lemma 1 is why an attribute outside the set
costs nothing: its group misses the read set, so adjacent stores agree on everything
that the selection reads.
"""

from collections.abc import Collection, Mapping, Set


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
