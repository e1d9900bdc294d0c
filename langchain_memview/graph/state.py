"""The one state channel of MemView: plain JSON of released facts, of constant size.

The channel mirrors the last release for the prompt and for people who look at the
state. It is never the authority: the ledger is, and what is read back from the channel
is checked against the policy before it reaches a prompt, because `update_state` can
put anything there.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.graph import MessagesState
from typing_extensions import TypedDict

from langchain_memview.core.policy import Policy
from langchain_memview.core.release import Release
from langchain_memview.core.views import View


class MemViewChannel(TypedDict):
    """What the channel holds after a turn; all of it is public."""

    operation: str
    """Id of the operation that released the views."""
    views: dict[str, str]
    """Slot to the name of its released view; empty when no slot was active."""
    outcomes: dict[str, str]
    """Slot to how its view came about."""
    balances: dict[str, dict[str, str]]
    """Attribute to `spent` and `cap` in nats, as exact fractions such as `2/3`."""


class MemViewAgentState(AgentState[Any]):
    """State of a `create_agent` agent with the MemView channel."""

    memview: NotRequired[Annotated[MemViewChannel, PrivateStateAttr]]


class MemViewState(MessagesState):
    """State of a `StateGraph` with messages and the MemView channel."""

    memview: NotRequired[MemViewChannel]


def channel(release: Release) -> MemViewChannel:
    """Return a release as plain JSON for the state channel."""
    return {
        "operation": release.operation,
        "views": {slot: view.name for slot, view in release.views.items()},
        "outcomes": {slot: str(outcome) for slot, outcome in release.outcomes.items()},
        "balances": {
            name: {"spent": str(balance.spent), "cap": str(balance.cap)}
            for name, balance in release.balances.items()
        },
    }


def released_views(policy: Policy, state: object) -> dict[str, View]:
    """Return the views of the channel, slot by slot in policy order.

    Slots and views that the policy does not have are left out: whoever wrote them to
    the state, they were not released.

    Args:
        policy: The policy whose vocabularies are the only possible views.
        state: A graph state, or anything else.
    """
    held = state.get("memview") if isinstance(state, Mapping) else None
    names = held.get("views") if isinstance(held, Mapping) else None
    if not isinstance(names, Mapping):
        return {}
    views = {}
    for slot in policy.slots:
        name = names.get(slot.name)
        if isinstance(name, str) and name in slot.vocabulary:
            views[slot.name] = slot.vocabulary[name]
    return views
