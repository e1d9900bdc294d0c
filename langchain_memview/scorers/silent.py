"""A chat model's structured answer, obtained where nothing can listen.

LangChain reports every run of a model to callbacks, to a tracer if one is switched on,
to the console in debug mode and to a cache if one is set. A memory must reach none of
these, so the model's own method is called, below all of that, and its answer is parsed
by the parser's own method. What the provider's client library logs is its own affair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import BaseLLMOutputParser
from langchain_core.runnables import RunnableBinding, RunnableSequence

from langchain_memview.errors import WiringError

# What LangChain takes out of the arguments before a model is given them.
_FOR_TRACERS = frozenset({"ls_structured_output_format", "structured_output_format"})


@dataclass(frozen=True, repr=False)
class SilentModel:
    """A chat model that answers in one shape and tells nobody.

    Make one with `SilentModel.of(model, schema)`.

    Attributes:
        model: The chat model.
        arguments: What makes it answer in that shape.
        parser: Reads its answer.
    """

    model: BaseChatModel
    arguments: dict[str, Any]
    parser: BaseLLMOutputParser[Any]

    @classmethod
    def of(cls, model: BaseChatModel, schema: dict[str, Any]) -> "SilentModel":
        """Return the model with structured output.

        Args:
            model: A chat model itself, not a chain that contains one.
            schema: JSON schema of its answer.

        Raises:
            WiringError: It is no chat model, or has no structured output that can be
                read without LangChain's callbacks.
        """
        try:
            chain: Any = model.with_structured_output(schema)
        except Exception:  # noqa: BLE001 - wrappers of models raise whatever they like
            chain = None
        if isinstance(chain, RunnableSequence) and len(chain.steps) == 2:
            bound, parser = chain.steps
            inner = bound.bound if isinstance(bound, RunnableBinding) else bound
            arguments = bound.kwargs if isinstance(bound, RunnableBinding) else {}
            if isinstance(inner, BaseChatModel) and isinstance(
                parser, BaseLLMOutputParser
            ):
                kept = {k: v for k, v in arguments.items() if k not in _FOR_TRACERS}
                return cls(inner, kept, parser)
        raise WiringError(
            f"{type(model).__name__} has no structured output that can be read without "
            "LangChain's callbacks, which must not see a memory. Give a chat model "
            "itself, such as ChatOpenAI or ChatOllama."
        )

    def answer(self, messages: Sequence[BaseMessage]) -> Any:
        """Return the parsed answer. Private, as the messages are.

        Raises:
            Exception: Whatever the model or the parser raises; it may hold a memory.
        """
        result = self.model._generate(list(messages), **self.arguments)  # noqa: SLF001
        return self.parser.parse_result(list(result.generations))
