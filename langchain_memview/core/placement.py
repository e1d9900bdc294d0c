"""Where a memory goes: to a free position of its slot, or to its oldest one.

Nothing about placement depends on what is written, and a position never changes its
slot, so the layout stays the same for all adjacent stores.
"""

from collections.abc import Collection, Sequence

from langchain_memview.core.policy import Policy, WhenFull
from langchain_memview.errors import PositionError


def positions_of(policy: Policy, slot: str, position: int | None) -> frozenset[int]:
    """Return the positions that a memory may take.

    Args:
        policy: The policy with its layout.
        slot: Name of the slot; may be empty when a position is named.
        position: A position to write, or None for any of the slot's.

    Raises:
        PositionError: The layout has no such slot or position, or the two differ.
    """
    layout = policy.positions
    if position is None:
        own = frozenset(p for p, name in layout.items() if name == slot)
        if not slot:
            raise PositionError("say where the memory goes: pass slot= or position=.")
        if not own:
            raise PositionError(
                f"slot {slot!r} has no position in the layout; the policy has "
                f"{', '.join(policy.slots_by_name)}."
            )
        return own
    # 2.0 and True are equal to a position, and would be stored as another one.
    owner = layout.get(position) if type(position) is int else None
    if owner is None or slot not in ("", owner):
        where = f"the layout of slot {slot!r}" if slot else "the layout"
        raise PositionError(
            f"position {position!r} is not in {where}; add it to the policy and decide "
            "which attributes it can hint at."
        )
    return frozenset({position})


def next_position(
    slot: str, own: Collection[int], taken: Sequence[int], when_full: WhenFull
) -> int:
    """Return the first position that is not taken; of a full slot, the oldest one.

    Args:
        slot: Name of the slot, for the error.
        own: Positions that the memory may take.
        taken: Positions to which something was written, oldest first.
        when_full: The policy's rule for a full slot.

    Raises:
        PositionError: All of them are taken, and the policy replaces none.
    """
    free = sorted(set(own) - set(taken))
    if free:
        return free[0]
    if when_full == "oldest":
        return taken[0]
    raise PositionError(
        f"every position of slot {slot!r} is taken ({len(own)} of {len(own)}); name the "
        "position to replace, give the slot more capacity, or let the policy replace "
        "the oldest one with when_full: oldest."
    )
