"""The chat model of the demo: the embedded cook, or any model that LangChain knows."""

from langchain_core.language_models import BaseChatModel

from langchain_memview.demo.chef import MealChef
from langchain_memview.models.chat import chat_model
from langchain_memview.models.unavailable import ModelUnavailableError

EMBEDDED = "embedded"


def demo_model(name: str) -> BaseChatModel:
    """Return the embedded cook, or the chat model of this name.

    Args:
        name: `embedded`, or a name for `models.chat.chat_model`.

    Raises:
        ModelUnavailableError: As there.
    """
    if name == EMBEDDED:
        return MealChef()
    if ":" not in name:
        raise ModelUnavailableError(
            f"{name!r} names no chat model: use 'embedded' or provider:name, such as "
            "ollama:llama3.1."
        )
    return chat_model(name)
