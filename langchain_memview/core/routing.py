"""Which slots a query activates, and in which order: public orchestration, condition C4.

A router sees the query and the released history, nothing else; this module and every
router cannot import memory or scores. Read sets are fixed by the policy
(`Policy.read_set`), so nothing about a turn's course depends on what is stored.
"""

from collections.abc import Collection
from typing import ClassVar, Literal, Protocol

from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.errors import WiringError


class Router(Protocol):
    """Maps public inputs to the slots of a turn.

    Attributes:
        inputs: The declaration that it uses nothing but what it is given here, all of
            which is public. A router that inherits from this class makes it.
    """

    inputs: ClassVar[Literal["public"]] = "public"

    def active_slots(self, query: str, history: AugmentedTranscript) -> Collection[str]:
        """Return the names of the slots that the turn activates; may be empty.

        Args:
            query: q_t. Public.
            history: The released history τ~ before the turn. Public.
        """
        ...


def active_slots(
    policy: Policy, router: Router, query: str, history: AugmentedTranscript
) -> tuple[Slot, ...]:
    """Return the active slots G_t in the policy's order (Algorithm 1, lines 1-2).

    Raises:
        WiringError: The router named a slot that the policy does not have.
    """
    names = frozenset(router.active_slots(query, history))
    unknown = sorted(names - policy.slots_by_name.keys())
    if unknown:
        raise WiringError(
            f"the router activated slot {unknown[0]!r}, which the policy does not "
            f"have (C4); it has {', '.join(policy.slots_by_name)}."
        )
    return tuple(slot for slot in policy.slots if slot.name in names)
