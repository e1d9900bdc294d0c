"""An embedding without a model: which letters follow each other, hashed."""

from langchain_core.embeddings import Embeddings
from sklearn.feature_extraction.text import HashingVectorizer
from typing_extensions import override


class NgramEmbeddings(Embeddings):
    """Gives a text the frequencies of its groups of 3 to 5 letters, by their hashes.

    Two texts are close if they are spelled alike: inflections and compounds count,
    meaning does not. A text without letters has the zero vector.

    Args:
        size: Dimension of the vectors.
    """

    def __init__(self, size: int = 1024) -> None:
        self.model_name = f"ngrams-{size}"
        self._vectorizer = HashingVectorizer(
            analyzer="char_wb", ngram_range=(3, 5), n_features=size, norm="l2"
        )

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._vectorizer.transform(texts).toarray().tolist()
        return rows

    @override
    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
