"""Encoders to measure: LangChain `Embeddings` that run on this machine.

None is fetched: a sentence model is a folder, the static one is inside its package, and
hashed n-grams need no weights at all.
"""

from collections.abc import Callable
from pathlib import Path

from langchain_core.embeddings import Embeddings
from typing_extensions import override


class _Encoder(Embeddings):
    """Embeds queries as documents, by one function of several texts."""

    def __init__(self, encode: Callable[[list[str]], list[list[float]]]) -> None:
        self._encode = encode

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._encode(texts)

    @override
    def embed_query(self, text: str) -> list[float]:
        return self._encode([text])[0]


def hashed_ngrams() -> Embeddings:
    """Return hashed n-grams of 3 to 5 characters within words, 4,096 dimensions.

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), n_features=4096, alternate_sign=False
    )
    return _Encoder(lambda texts: hashing.transform(texts).toarray().tolist())


def static_words() -> Embeddings:
    """Return the static word vectors of the package wordllama, 256 dimensions.

    Raises:
        ModuleNotFoundError: wordllama is not installed.
    """
    import wordllama

    # The wheel holds the weights; without a folder it would look for them elsewhere.
    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )
    return _Encoder(lambda texts: model.embed(texts, norm=True).tolist())


def sentence_model(folder: Path) -> Embeddings:
    """Return a sentence-transformers model that lies in a folder, on the CPU.

    Args:
        folder: The model's folder, with `modules.json`; nothing is fetched.

    Raises:
        ModuleNotFoundError: langchain-huggingface or what it needs is not installed.
        FileNotFoundError: There is no model in the folder.
    """
    if not (folder / "modules.json").is_file():
        raise FileNotFoundError(f"{folder} holds no sentence model (modules.json)")
    from langchain_huggingface import HuggingFaceEmbeddings

    found: Embeddings = HuggingFaceEmbeddings(
        model_name=str(folder),
        model_kwargs={"device": "cpu", "local_files_only": True},
        encode_kwargs={"normalize_embeddings": True, "batch_size": 64},
    )
    return found
