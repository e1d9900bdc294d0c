"""Embeddings that need no network of layers: hashed groups of letters, static words."""

from collections.abc import Callable
from pathlib import Path

from langchain_core.embeddings import Embeddings
from typing_extensions import override


class FunctionEmbeddings(Embeddings):
    """Embeds queries as documents, by one function of several texts.

    Args:
        model_name: What the model is called.
        embed: Returns a vector for each text.
    """

    def __init__(
        self, model_name: str, embed: Callable[[list[str]], list[list[float]]]
    ) -> None:
        self.model_name = model_name
        self._embed = embed

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embed(texts)

    @override
    def embed_query(self, text: str) -> list[float]:
        return self._embed([text])[0]


def ngram_embeddings(size: int) -> Embeddings:
    """Return the frequencies of groups of 3 to 5 letters within words, by their hashes.

    Two texts are close if they are spelled alike: inflections and compounds count,
    meaning does not. A text without letters has the zero vector.

    Args:
        size: Dimension of the vectors.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), n_features=size, alternate_sign=False
    )
    return FunctionEmbeddings(
        f"ngrams-{size}", lambda texts: hashing.transform(texts).toarray().tolist()
    )


def static_embeddings() -> Embeddings:
    """Return the static word vectors of the package wordllama, 256 dimensions.

    Raises:
        ModuleNotFoundError: wordllama is not installed.
    """
    import wordllama

    # The wheel holds the weights; without a folder it would look for them elsewhere.
    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )
    return FunctionEmbeddings(
        "wordllama-256", lambda texts: model.embed(texts, norm=True).tolist()
    )
