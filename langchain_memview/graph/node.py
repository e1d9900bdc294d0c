"""MemView as a node of a `StateGraph`, and the system message for the node that answers."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.runtime import get_runtime

from langchain_memview.core.policy import Policy
from langchain_memview.graph.prompt import (
    Placement,
    known_placement,
    placed,
    with_views,
)
from langchain_memview.graph.state import MemViewChannel, channel, released_views
from langchain_memview.graph.turn import GraphTurn, graph_turn
from langchain_memview.memview import MemView


def memview_node(
    memview: MemView, *, audience: str, subject_field: str = "user_id"
) -> RunnableLambda[Any, dict[str, MemViewChannel]]:
    """Return a node that releases the turn's views into the state's `memview` channel.

    It works in `invoke` and `ainvoke`. The state needs `messages` and `memview`; use
    `langchain_memview.graph.state.MemViewState` or a subclass. Never give the node a
    cache policy: a cache knows neither subject nor ledger.

    Args:
        memview: The trusted interface.
        audience: Name of the application that sees the answers.
        subject_field: Field of the run's context that holds the subject. On a server
            with authentication the authenticated user is the subject instead.
    """

    def turn_of(state: dict[str, Any]) -> GraphTurn:
        messages: list[AnyMessage] = state["messages"]
        return graph_turn(
            memview.policy, messages, get_runtime(), subject_field, audience
        )

    def select(state: dict[str, Any]) -> dict[str, MemViewChannel]:
        turn = turn_of(state)
        release = memview.turn(
            turn.query,
            subject=turn.subject,
            audience=audience,
            operation=turn.operation,
            history=turn.history,
        )
        return {"memview": channel(release)}

    async def aselect(state: dict[str, Any]) -> dict[str, MemViewChannel]:
        turn = turn_of(state)
        release = await memview.aturn(
            turn.query,
            subject=turn.subject,
            audience=audience,
            operation=turn.operation,
            history=turn.history,
        )
        return {"memview": channel(release)}

    return RunnableLambda(select, afunc=aselect, name="memview")


def views_message(
    policy: Policy, state: object, system: SystemMessage | None = None
) -> SystemMessage:
    """Return the system message with the state's released views, for the chat model.

    Args:
        policy: The policy; only its views can come out.
        state: The graph's state after the MemView node.
        system: What the system message says otherwise, or None.
    """
    return with_views(system, released_views(policy, state))


def messages_with_views(
    policy: Policy,
    state: Mapping[str, Any],
    system: SystemMessage | None = None,
    *,
    placement: Placement = "user",
) -> list[AnyMessage]:
    """Return the messages for the chat model, with the state's released views in them.

    The state's own messages stay as they are.

    Args:
        policy: The policy; only its views can come out.
        state: The graph's state after the MemView node, with its `messages`.
        system: What the system message says, or None.
        placement: `user` appends the views to the user's last message, as small local
            models need it; `system` to the system message, as `views_message` does.

    Raises:
        WiringError: The placement is neither.
    """
    first, messages = placed(
        system,
        state["messages"],
        released_views(policy, state),
        known_placement(placement),
    )
    return messages if first is None else [first, *messages]
