"""The embedding model of a name: a folder or hub id of Hugging Face, or any provider's."""

from langchain_core.embeddings import Embeddings

from langchain_memview.models.bars import bars_on_terminals
from langchain_memview.models.small import ngram_embeddings, static_embeddings
from langchain_memview.models.unavailable import loaded


def embedding_model(name: str) -> Embeddings:
    """Return the embedding model of this name.

    Args:
        name: `huggingface:PATH_OR_ID`; `ngrams:SIZE` for hashed groups of letters,
            which need no model; `wordllama:256` for static words; or provider and model as LangChain writes them, for
            example `openai:text-embedding-3-small` or `ollama:nomic-embed-text`.

    Raises:
        ModelUnavailableError: A package or a key is missing, the provider is
            unknown, or the path is no model.
    """
    return loaded(name, "embedding", _made)


def _made(provider: str, model: str) -> Embeddings:
    if provider == "huggingface":
        return _local(model)
    if provider == "ngrams":
        return ngram_embeddings(int(model))
    if (provider, model) == ("wordllama", "256"):
        return static_embeddings()
    from langchain.embeddings import init_embeddings

    found = init_embeddings(model, provider=provider)
    if not isinstance(found, Embeddings):
        raise TypeError("no embedding model")
    return found


def _local(model: str) -> Embeddings:
    # langchain-huggingface imports this only when it is used.
    import sentence_transformers  # noqa: F401
    from langchain_huggingface import HuggingFaceEmbeddings

    with bars_on_terminals():
        found: Embeddings = HuggingFaceEmbeddings(model_name=model)
    return found
