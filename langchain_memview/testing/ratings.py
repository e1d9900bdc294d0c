"""A chat model that answers in structured output without a model, for tests."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from typing_extensions import override


class StructuredChatModel(BaseChatModel):
    """Calls the one tool that it is bound to with what a function of the prompt says.

    Attributes:
        reply: Given the messages, returns the arguments of the tool call.
    """

    reply: Callable[[Sequence[BaseMessage]], dict[str, Any]]

    @property
    @override
    def _llm_type(self) -> str:
        return "structured"

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        from langchain_core.utils.function_calling import convert_to_openai_tool

        return self.bind(tool=convert_to_openai_tool(tools[0])["function"]["name"])

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = {"name": kwargs["tool"], "args": self.reply(messages), "id": "1"}
        message = AIMessage("", tool_calls=[{**call, "type": "tool_call"}])
        return ChatResult(generations=[ChatGeneration(message=message)])
