"""Stores that differ in several groups: Corollary 1 and Eq. (8).

Such stores are κ apart: the least total cap of attributes whose groups together cover
every position at which they differ. One passes from one store to the other group by
group, and each step costs at most that attribute's cap. A greedy cover can be too dear,
which would make a promise look weaker than it is, so κ is found exactly.
"""

import math
from collections.abc import Mapping, Set
from fractions import Fraction
from typing import TypeAlias

_Group: TypeAlias = tuple[int, int]
"""Positions as the bits of a number, and the cost in whole units."""


def minimum_cover_cost(
    attributes: Mapping[str, tuple[Set[int], Fraction]], differing: Set[int]
) -> Fraction | float:
    """Return κ (Eq. 8): the least total cap of groups that cover the differing positions.

    Exact, by branch and bound: the search branches on the position that fewest groups
    cover and leaves a branch when a lower bound (a feasible solution of the dual linear
    program) reaches the cheapest cover found so far.

    Args:
        attributes: Attribute to its group of positions and its cap in nats, >= 0.
        differing: D, the positions at which two stores differ.

    Returns:
        κ in nats: 0 if nothing differs, `math.inf` if no cover exists.
    """
    bits = {position: 1 << index for index, position in enumerate(sorted(differing))}
    unit = math.lcm(*(Fraction(cap).denominator for _, cap in attributes.values()))
    groups = [
        (sum(bits[p] for p in group & bits.keys()), int(Fraction(cap) * unit))
        for group, cap in attributes.values()
    ]
    everything = (1 << len(bits)) - 1
    reachable = 0
    for mask, _ in groups:
        reachable |= mask
    if reachable != everything:
        return math.inf
    # Any cover is found below the cost of all groups and one more unit.
    limit = sum(cost for _, cost in groups) + 1
    return Fraction(_cheapest(groups, everything, limit), unit)


def _cheapest(groups: list[_Group], uncovered: int, limit: int) -> int:
    """Return the least cost of a cover, or `limit` if none is cheaper than that."""
    if not uncovered:
        return 0
    useful = [(mask & uncovered, cost) for mask, cost in groups if mask & uncovered]
    if _out_of_reach(useful, uncovered, limit):
        return limit
    useful = _undominated(useful)
    covering = _covering(useful, uncovered)
    best, left = limit, list(useful)
    hardest = min(covering, key=lambda bit: len(covering[bit]))
    for index in sorted(covering[hardest], key=lambda i: _rank(useful[i])):
        mask, cost = useful[index]
        # Covers with this group are all tried here, so later branches leave it out.
        left[index] = (0, 0)
        if cost < best:
            rest = _cheapest(left, uncovered & ~mask, best - cost)
            best = min(best, cost + rest)
    return best


def _rank(group: _Group) -> tuple[float, int]:
    # Only the order in which covers are tried, so a float will do.
    mask, cost = group
    return cost / mask.bit_count(), mask


def _out_of_reach(groups: list[_Group], uncovered: int, limit: int) -> bool:
    """Return whether no cover can cost less than the limit.

    Every uncovered position gets a price, so that the positions of no group cost more
    than the group; the sum of the prices is a lower bound on every cover.
    """
    covering = _covering(groups, uncovered)
    rest = [cost for _, cost in groups]
    for bit in sorted(covering, key=lambda b: len(covering[b])):
        # What no group covers any more is beyond every price.
        price = min((rest[i] for i in covering[bit]), default=limit)
        limit -= price
        if limit <= 0:
            return True
        for i in covering[bit]:
            rest[i] -= price
    return False


def _undominated(groups: list[_Group]) -> list[_Group]:
    """Return the groups that no cheaper or equal group covers as well."""
    kept: list[_Group] = []
    for mask, cost in sorted(groups, key=lambda g: (-g[0].bit_count(), g[1])):
        if not any(c <= cost and mask & ~m == 0 for m, c in kept):
            kept.append((mask, cost))
    return kept


def _covering(groups: list[_Group], uncovered: int) -> dict[int, list[int]]:
    """Return uncovered position (its bit) to the indices of the groups that cover it."""
    covering: dict[int, list[int]] = {}
    while uncovered:
        bit = uncovered & -uncovered
        uncovered ^= bit
        covering[bit] = [i for i, (mask, _) in enumerate(groups) if mask & bit]
    return covering
