"""The chat model of a name: a local one of Hugging Face, or any provider's."""

from langchain_core.language_models import BaseChatModel

from langchain_memview.models.unavailable import loaded


def chat_model(name: str) -> BaseChatModel:
    """Return the chat model of this name.

    Args:
        name: Provider and model as LangChain writes them, for example
            `openai:gpt-5-mini`, `ollama:llama3.1` or `huggingface:FOLDER_OR_ID`; the
            last is loaded into this process (`local_chat_model`).

    Raises:
        ModelUnavailableError: A package or a key is missing, the provider is unknown,
            or the model cannot be loaded.
    """
    return loaded(name, "chat", _made)


def _made(provider: str, model: str) -> BaseChatModel:
    if provider == "huggingface":
        from langchain_memview.models.huggingface import local_chat_model

        return local_chat_model(model)
    from langchain.chat_models import init_chat_model

    found: BaseChatModel = init_chat_model(model, model_provider=provider)
    return found
