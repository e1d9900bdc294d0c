"""What is forgotten is in no byte of the files, and everybody else's memories stay."""

from pathlib import Path

import numpy as np
import pytest

from langchain_memview.backends import ChromaBackend
from langchain_memview.core.preparation import Preparation

SIZE = 32
OTHER = "Bo likes jazz."


def test_documents_leave_the_files(tmp_path: Path) -> None:
    backend = ChromaBackend(tmp_path)
    texts = [f"canary-{n:04d} owes the bank" for n in range(40)]
    for position, text in enumerate(texts):
        backend.write("ana", position, text)
    backend.write("bo", 1, OTHER)
    assert found(tmp_path, texts) == set(texts)
    assert len(backend.forget("ana")) == 40
    assert not found(tmp_path, texts)
    assert found(tmp_path, [OTHER])
    assert backend.read("bo", {1}) == {1: OTHER}


def test_a_single_document_leaves_the_files(tmp_path: Path) -> None:
    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, "canary-one owes the bank")
    backend.write("ana", 1, "canary-two owes the bank")
    backend.write("ana", 2, OTHER)
    assert backend.forget("ana", {1}) == {1}
    assert not found(tmp_path, ["canary-one", "canary-two"])
    assert backend.read("ana", {1, 2}) == {2: OTHER}


@pytest.mark.parametrize("others", [0, 10, 1200])
def test_vectors_leave_the_files_too(tmp_path: Path, others: int) -> None:
    """A deleted vector is only marked by Chroma's index, which goes on holding it."""
    backend = ChromaBackend(tmp_path)
    backend.prepare_for(Preparation("made-up", SIZE, "", tuple([1.0] + [0.0] * 31)))
    vectors = np.random.default_rng(1).normal(size=(20 + others, SIZE))
    vectors = vectors.astype(np.float32)
    for n in range(20):
        backend.write_prepared("ana", n, f"canary-{n}", vectors[n].tolist())
    for n in range(20, 20 + others):
        backend.write_prepared(f"user{n}", 1, OTHER, vectors[n].tolist())
    mine = [vector.tobytes() for vector in vectors[:20]]
    assert found(tmp_path, mine)
    backend.forget("ana")
    assert not found(tmp_path, mine)
    for n in range(20, 20 + others):
        kept = backend.read_prepared(f"user{n}", {1})[1]
        assert np.array_equal(np.asarray(kept, np.float32), vectors[n])


def test_what_an_interruption_left_is_cleaned_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_memview.backends import chroma_erasure
    from langchain_memview.errors import MemoryUnavailableError

    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, "canary-one owes the bank")
    with monkeypatch.context() as patch:
        patch.setattr(chroma_erasure, "_rewrite", lambda _: 1 / 0)
        with pytest.raises(MemoryUnavailableError):
            backend.forget("ana")
    assert found(tmp_path, ["canary-one"])
    assert not backend.forget("ana")
    assert not found(tmp_path, ["canary-one"])


def test_an_erased_collection_keeps_its_settings_and_is_used_again(
    tmp_path: Path,
) -> None:
    backend = ChromaBackend(tmp_path)
    backend.forget("nobody")
    backend.write("ana", 1, "Owes.")
    before = backend._collection.opened().configuration["hnsw"]["sync_threshold"]
    backend.forget("ana")
    after = backend._collection.opened().configuration["hnsw"]["sync_threshold"]
    assert before == after
    backend.write("ana", 1, "Has savings.")
    assert backend.read("ana", {1}) == {1: "Has savings."}
    assert ChromaBackend(tmp_path).read("ana", {1}) == {1: "Has savings."}


@pytest.mark.slow
def test_half_of_many_embedded_memories_leave_the_files(tmp_path: Path) -> None:
    backend = ChromaBackend(tmp_path)
    backend.prepare_for(Preparation("made-up", 384, "", tuple([1.0] + [0.0] * 383)))
    vectors = np.random.default_rng(1).normal(size=(2000, 384))
    for n, vector in enumerate(vectors):
        subject = ("ana", "bo")[n % 2]
        backend.write_prepared(subject, n, f"canary-{n:04d} owes", vector.tolist())
    assert len(backend.forget("ana")) == 1000
    assert not found(tmp_path, [f"canary-{n:04d} owes" for n in range(0, 2000, 2)])


def found(directory: Path, needles: list[str] | list[bytes]) -> set[str | bytes]:
    """Return the needles that any file below the directory holds."""
    contents = [
        path.read_bytes()
        for path in directory.rglob("*")
        # Chroma writes memory of its process there that it never fills.
        if path.is_file() and path.name != "length.bin"
    ]
    return {
        needle
        for needle in needles
        for content in contents
        if (needle.encode() if isinstance(needle, str) else needle) in content
    }
