"""An embedding model of a few lines, for tests that need vectors and no meaning."""

import hashlib

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_memview.words import folded


class WordEmbeddings(Embeddings):
    """Gives a text the number of times that each word occurs, by a hash of the word.

    Two texts are close if they share words. It is the same on every machine and needs
    no model; a text without a word has the zero vector.

    Args:
        size: Dimension of the vectors.
    """

    model_name = "words"

    def __init__(self, size: int = 64) -> None:
        self.size = size

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    @override
    def embed_query(self, text: str) -> list[float]:
        counts = [0.0] * self.size
        for word in folded(text).replace(".", "").replace(",", "").split():
            digest = hashlib.sha256(word.encode()).digest()
            counts[int.from_bytes(digest[:4], "big") % self.size] += 1
        return counts
