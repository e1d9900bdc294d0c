"""Unit vectors from any LangChain `Embeddings`, and what such a model is called."""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from langchain_memview.errors import WiringError

Matrix: TypeAlias = npt.NDArray[np.float32]

_NAMES = ("model_name", "model", "model_id", "repo_id", "deployment")
_WEIGHTS = ("*.safetensors", "*.bin", "*.onnx", "*.gguf")


def unit_vectors(embeddings: Embeddings, texts: Sequence[str]) -> Matrix:
    """Return the unit vectors of the texts, shape `(n, d)`.

    Raises:
        ValueError: The model gave something else than one finite vector, not of length
            0, for each text. Whatever the model itself raises comes through.
    """
    vectors = embeddings.embed_documents(list(texts))
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
        raise ValueError("not one vector of the same length for each text")
    return np.array([unit_vector(vector) for vector in vectors], np.float32)


def unit_vector(vector: Sequence[float]) -> Matrix:
    """Return the vector at length 1, shape `(d,)`.

    Raises:
        ValueError: It is 0 or not finite.
    """
    found = np.asarray(vector, np.float64)
    length = float(np.linalg.norm(found))
    if found.ndim != 1 or not math.isfinite(length) or not length:
        raise ValueError("a vector is 0 or not finite")
    return (found / length).astype(np.float32)


def public_vectors(embeddings: Embeddings, texts: Sequence[str]) -> Matrix:
    """Return the unit vectors of public texts; what is wrong with them may be said."""
    try:
        return unit_vectors(embeddings, texts)
    except Exception as error:  # noqa: BLE001 - every model has its own errors
        reason = f"{type(error).__name__}: {error}"[:200]
    raise WiringError(
        f"the embedding model does not answer for the policy's own sentences ({reason}). "
        "Check its name, its key and that it can be reached."
    )


def model_name(embeddings: Embeddings) -> str:
    """Return the name by which the model calls itself; empty if it does not.

    Of a path it is the last part, so that the same model is the same on two machines.
    """
    names = (getattr(embeddings, name, None) for name in _NAMES)
    found = next((name for name in names if isinstance(name, str) and name), "")
    return found.rstrip("/").rpartition("/")[2]


def model_digest(embeddings: Embeddings) -> str:
    """Return the SHA-256 of the model's weights in a local folder; empty elsewhere."""
    found = getattr(embeddings, "model_name", None)
    folder = Path(found) if isinstance(found, str) else None
    if folder is None or not folder.is_dir():
        return ""
    files = sorted({file for kind in _WEIGHTS for file in folder.glob(kind)})
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest() if files else ""
