"""The embedding model of a name: a folder or hub id of Hugging Face, or any provider's."""

import re

from langchain_core.embeddings import Embeddings

from langchain_memview.errors import MemViewError

_INSTALL = {
    "huggingface": 'pip install torch "langchain-memview[local-models]"',
    "ngrams": 'pip install "langchain-memview[bench]"',
}


class EmbeddingsUnavailableError(MemViewError):
    """The embedding model cannot be loaded; the text says what to do."""


def embedding_model(name: str) -> Embeddings:
    """Return the embedding model of this name.

    Args:
        name: `huggingface:PATH_OR_ID`; `ngrams:SIZE` for hashed groups of letters,
            which need no model; or provider and model as LangChain writes them, for
            example `openai:text-embedding-3-small` or `ollama:nomic-embed-text`.

    Raises:
        EmbeddingsUnavailableError: A package or a key is missing, the provider is
            unknown, or the path is no model.
    """
    provider, _, model = name.partition(":")
    if not provider or not model:
        raise EmbeddingsUnavailableError(
            f"{name!r} names no embedding model: use huggingface:FOLDER or "
            "provider:name, such as openai:text-embedding-3-small."
        )
    try:
        return _made(provider, model)
    except ImportError as missing:
        reason = f"{name} needs a package that is not installed: " + (
            _INSTALL.get(provider) or _install(provider, missing)
        )
    except Exception as refused:  # noqa: BLE001 - every provider has its own errors
        text = next(iter(str(refused).strip().splitlines()), "")
        reason = (
            f"{name} cannot be loaded ({type(refused).__name__}: {text[:160]}). Check "
            "the provider, the name of the model and its key."
        )
    raise EmbeddingsUnavailableError(reason)


def _made(provider: str, model: str) -> Embeddings:
    if provider == "huggingface":
        return _local(model)
    if provider == "ngrams":
        from langchain_memview.models.ngrams import NgramEmbeddings

        return NgramEmbeddings(int(model))
    from langchain.embeddings import init_embeddings

    found = init_embeddings(model, provider=provider)
    if not isinstance(found, Embeddings):
        raise TypeError("no embedding model")
    return found


def _local(model: str) -> Embeddings:
    # langchain-huggingface imports this only when it is used.
    import sentence_transformers  # noqa: F401
    from langchain_huggingface import HuggingFaceEmbeddings

    return HuggingFaceEmbeddings(model_name=model)


def _install(provider: str, missing: ImportError) -> str:
    """Return the command that installs what is missing, as LangChain names it."""
    command = re.search(r"pip install [\w\[\]-]+", str(missing))
    return command[0] if command else f"the LangChain package of {provider}"
