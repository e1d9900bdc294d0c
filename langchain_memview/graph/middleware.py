"""MemView as middleware of `create_agent`: select once per turn, inject at every call.

`before_agent` runs once per turn, so a tool loop with three model calls makes one
release. `wrap_model_call` only appends the released views to the system message, or to
the user's question; it charges nothing and may be repeated.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langgraph.runtime import Runtime
from typing_extensions import override

from langchain_memview.core.release import Release
from langchain_memview.graph.prompt import Placement, known_placement, placed
from langchain_memview.graph.state import MemViewAgentState, channel, released_views
from langchain_memview.graph.turn import GraphTurn, graph_turn
from langchain_memview.memview import MemView


class MemViewMiddleware(AgentMiddleware[MemViewAgentState, Any]):
    """Puts privately selected views into what an agent's model is given.

    An agent takes one such middleware: LangChain refuses a second one of the same
    name, and one `MemView` serves all slots.

    Args:
        memview: The trusted interface.
        audience: Name of the application that sees the answers.
        subject_field: Field of the run's context that holds the subject. On a server
            with authentication the authenticated user is the subject instead.
        placement: `system` appends the views to the system message, `user` to the last
            message of the user, as small local models need it.

    Raises:
        WiringError: The placement is neither.
    """

    state_schema = MemViewAgentState

    def __init__(
        self,
        memview: MemView,
        *,
        audience: str,
        subject_field: str = "user_id",
        placement: Placement = "system",
    ) -> None:
        super().__init__()
        self._placement = known_placement(placement)
        self._memview = memview
        self._audience = audience
        self._subject_field = subject_field

    @property
    @override
    def name(self) -> str:
        return "MemViewMiddleware"

    @override
    def before_agent(
        self, state: MemViewAgentState, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        turn = self._turn(state, runtime)
        return _update(
            self._memview.turn(
                turn.query,
                subject=turn.subject,
                audience=self._audience,
                operation=turn.operation,
                history=turn.history,
            )
        )

    @override
    async def abefore_agent(
        self, state: MemViewAgentState, runtime: Runtime[Any]
    ) -> dict[str, Any]:
        turn = self._turn(state, runtime)
        return _update(
            await self._memview.aturn(
                turn.query,
                subject=turn.subject,
                audience=self._audience,
                operation=turn.operation,
                history=turn.history,
            )
        )

    @override
    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        return handler(self._injected(request))

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        return await handler(self._injected(request))

    def _turn(self, state: MemViewAgentState, runtime: Runtime[Any]) -> GraphTurn:
        return graph_turn(
            self._memview.policy,
            state["messages"],
            runtime,
            self._subject_field,
            self._audience,
        )

    def _injected(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        views = released_views(self._memview.policy, request.state)
        system, messages = placed(
            request.system_message, request.messages, views, self._placement
        )
        return request.override(system_message=system, messages=messages)


def _update(release: Release) -> dict[str, Any]:
    return {"memview": channel(release)}
