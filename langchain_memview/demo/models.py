"""The chat model of the demo: the embedded cook, or any model that LangChain knows."""

import re
from typing import Any

from langchain_core.language_models import BaseChatModel

from langchain_memview.demo.chef import MealChef
from langchain_memview.errors import MemViewError

EMBEDDED = "embedded"


class ModelUnavailableError(MemViewError):
    """The chat model cannot be loaded or does not answer; the text says what to do."""


def chat_model(name: str) -> BaseChatModel:
    """Return the chat model of this name.

    Args:
        name: `embedded`, or provider and model as LangChain writes them, for example
            `openai:gpt-5-mini`, `ollama:llama3.1` or `huggingface:Qwen/Qwen2.5-1.5B`.

    Raises:
        ModelUnavailableError: A package or a key is missing, or the provider is
            unknown.
    """
    if name == EMBEDDED:
        return MealChef()
    from langchain.chat_models import init_chat_model

    provider, _, model = name.partition(":")
    if not provider or not model:
        raise ModelUnavailableError(
            f"{name!r} names no chat model: use 'embedded' or provider:name, such as "
            "ollama:llama3.1."
        )
    try:
        found: BaseChatModel = init_chat_model(
            model, model_provider=provider, **_options(provider)
        )
    except ImportError as missing:
        raise ModelUnavailableError(
            f"{name} needs a package that is not installed: "
            f"{_install(provider, missing)}"
        ) from None
    except Exception as refused:  # noqa: BLE001 - every provider has its own errors
        raise ModelUnavailableError(
            f"{name} cannot be loaded ({first_line(refused)}). Check the provider, the "
            "name of the model and its key."
        ) from None
    return found


def first_line(error: Exception) -> str:
    """Return the kind of an error and the first line of its text, at most 200 letters.

    For errors of chat models only: they are told nothing but public sentences.
    """
    text = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {text}"[:200]


def _options(provider: str) -> dict[str, Any]:
    if provider != "huggingface":
        return {}
    # A local pipeline repeats the prompt and stops after 20 words if it is not told.
    return {"pipeline_kwargs": {"return_full_text": False, "max_new_tokens": 200}}


def _install(provider: str, missing: ImportError) -> str:
    """Return the command that installs what is missing.

    LangChain names the package itself; a name made up here could be anybody's.
    """
    if provider == "huggingface":
        return 'pip install "langchain-memview[huggingface]" torch'
    command = re.search(r"pip install [\w\[\]-]+", str(missing))
    return command[0] if command else first_line(missing)
