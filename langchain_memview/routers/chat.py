"""A router that asks a chat model which slots a query is about.

The model is given the query, the names of the slots and their public descriptions; it
answers with names, as structured output. When it does not answer, or names something
else, the words of the query decide, as with the keyword router.
"""

from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from typing_extensions import override

from langchain_memview.core.policy import Policy
from langchain_memview.core.routing import Router
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.errors import WiringError
from langchain_memview.routers.embedding import description
from langchain_memview.routers.keyword import KeywordRouter

_LONGEST = 8_000

_ASK = (
    "An application asks a question about a user. Say which of these topics it is about; "
    "there may be none or several.\n\n{topics}"
)


@dataclass(frozen=True, repr=False, eq=False)
class ChatModelRouter(Router):
    """Activates the slots that a chat model names.

    Make one with `ChatModelRouter.of(policy, model)`.

    Attributes:
        chain: The chat model, answering in the shape of `{"slots": [...]}`.
        instructions: What it is told: the slots and their descriptions.
        slots: Names of the slots.
        fallback: Decides when the model does not answer.
    """

    chain: Runnable[Any, Any]
    instructions: str
    slots: frozenset[str]
    fallback: KeywordRouter

    @classmethod
    def of(cls, policy: Policy, model: BaseChatModel) -> "ChatModelRouter":
        """Return the router for a policy's slots.

        Args:
            policy: The policy.
            model: Any chat model with structured output.

        Raises:
            WiringError: The model has no structured output.
        """
        names = [slot.name for slot in policy.slots]
        topics = "\n".join(
            f"- {slot.name}: {description(slot)}" for slot in policy.slots
        )
        try:
            chain = model.with_structured_output(_schema(names))
        except Exception:  # noqa: BLE001 - models refuse in ways of their own
            raise WiringError(
                f"{type(model).__name__} has no structured output, which a router by a "
                "chat model needs; EmbeddingRouter and KeywordRouter do without."
            ) from None
        instructions = _ASK.format(topics=topics)
        return cls(chain, instructions, frozenset(names), KeywordRouter.of(policy))

    @override
    def active_slots(self, query: str, history: AugmentedTranscript) -> frozenset[str]:
        messages = [SystemMessage(self.instructions), HumanMessage(query[:_LONGEST])]
        try:
            # Without the callbacks of the graph: whoever streams it waits for an answer
            # to the user, not for the names of slots.
            found = self.chain.invoke(messages, {"callbacks": []})
            named = frozenset(found["slots"])
        except Exception:  # noqa: BLE001 - of public inputs, so the same for everyone
            return self.fallback.active_slots(query, history)
        return (
            named if named <= self.slots else self.fallback.active_slots(query, history)
        )


def _schema(names: list[str]) -> dict[str, Any]:
    return {
        "title": "Topics",
        "description": "The topics that a question is about.",
        "type": "object",
        "properties": {
            "slots": {
                "type": "array",
                "items": {"type": "string", "enum": names},
                "description": "Names of the topics; may be empty.",
            }
        },
        "required": ["slots"],
    }
