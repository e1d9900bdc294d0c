"""What is shown when a cap forbids a selection: a function of released symbols alone.

The generic view is the default. In the modes with several releases a policy may ask
for a view that was released before: the latest one of the slot, or the one that is
most likely the supported one given all of them. Both are post-processing of the
transcript, so they cost nothing, whatever the memory holds by now. They need the
account's history, so a turn takes time with its length, which is public.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from langchain_memview.core.budget import Fallback
from langchain_memview.core.policy import Slot
from langchain_memview.core.release import SlotRelease

Released = Callable[[Slot], Sequence[SlotRelease]]
"""Given a slot, returns its earlier releases in the account, oldest first. Public."""


def nothing_before(slot: Slot) -> Sequence[SlotRelease]:
    """Return no earlier releases."""
    del slot
    return ()


def fallback_view(rule: Fallback, slot: Slot, released: Released) -> str:
    """Return the name of the view to show, the generic one if nothing was released.

    Args:
        rule: `latest` shows the last view that was drawn for the slot. `posterior`
            shows the most likely supported one: if a single view is supported, a draw
            of it by the exponential mechanism at ε speaks for it by ε/2 nats, so the
            largest sum of ε wins, the earlier view of the vocabulary among equals.
        slot: The slot.
        released: Its earlier releases.
    """
    if rule == "generic":
        return slot.generic.name
    drawn = [
        past
        for past in released(slot)
        if past.outcome == "selected" and past.view in slot.vocabulary
    ]
    if not drawn:
        return slot.generic.name
    if rule == "latest":
        return drawn[-1].view
    weights = dict.fromkeys(slot.vocabulary, Fraction(0))
    for past in drawn:
        weights[past.view] += past.epsilon
    return max(weights, key=lambda name: weights[name])
