"""`memview reembed`: to another model, resumable, and nothing is lost on the way."""

from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings
from typer.testing import CliRunner

from langchain_memview._cli.app import app
from langchain_memview.backends import ChromaBackend, chroma_collection
from langchain_memview.backends.reembed import reembed
from langchain_memview.core.preparation import Preparation
from langchain_memview.errors import MemoryUnavailableError, WiringError
from langchain_memview.models.small import ngram_embeddings
from langchain_memview.scorers.embedding import identity

TEXTS = {1: "Owes a loan.", 2: "", 3: "Plays chess on Sundays."}
THREE = Preparation("three", 3, "", (0.0, 1.0, 0.0))


@pytest.fixture
def memories(tmp_path: Path) -> Path:
    backend = ChromaBackend(tmp_path)
    for subject in ("ana", "bo", "cy"):
        for position, text in TEXTS.items():
            backend.write(subject, position, text)
    chroma_collection._closed(tmp_path)
    return tmp_path


def opened(directory: Path) -> ChromaBackend:
    chroma_collection._closed(directory)
    return ChromaBackend(directory)


def names(directory: Path) -> list[str]:
    client = chromadb.PersistentClient(
        str(directory), settings=Settings(anonymized_telemetry=False)
    )
    return sorted(held.name for held in client.list_collections())


def threes(texts):
    return [[float(len(text)), 1.0, 0.0] for text in texts]


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(a) for a in ("reembed", *arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_memories_without_vectors_get_them_and_keep_everything_else(
    memories: Path,
) -> None:
    code, out, err = run(memories, "--model", "ngrams:64")
    assert (code, out, err) == (0, "9 memories are embedded by 'ngrams-64'.\n", "")
    assert names(memories) == ["memview"]
    backend = opened(memories)
    model = identity(ngram_embeddings(64), "ngrams-64")
    known = backend.prepared_by()
    assert known is not None
    assert not known.differs(model)
    backend.prepare_for(model)
    for subject in ("ana", "bo", "cy"):
        assert backend.read(subject, {1, 2, 3}) == TEXTS
        assert set(backend.read_prepared(subject, {1, 2, 3})) == {1, 3}
    backend.forget("ana")
    assert not backend.written("ana", {1, 2, 3})
    assert run(memories, "--model", "ngrams:32")[0] == 0
    assert len(opened(memories).read_prepared("bo", {1})[1]) == 32


def test_a_copy_leaves_the_old_collection(memories: Path) -> None:
    assert run(memories, "--model", "ngrams:64", "--into", "newer")[0] == 0
    assert names(memories) == ["memview", "newer"]
    assert ChromaBackend(memories, "newer").read("bo", {1, 2, 3}) == TEXTS
    code, _, err = run(memories, "--model", "ngrams:32", "--into", "newer")
    assert code == 3
    assert "choose another name" in err


def test_an_interrupted_move_goes_on_and_embeds_nothing_twice(memories: Path) -> None:
    asked: list[str] = []

    def embed(texts):
        asked.extend(texts)
        return threes(texts)

    steps = reembed(memories, "memview", THREE, embed)
    next(steps)
    steps.close()
    assert names(memories) == ["memview", "memview-reembedding"]
    first = len(asked)
    assert list(reembed(memories, "memview", THREE, embed))
    assert len(asked) == first
    assert names(memories) == ["memview"]


def test_a_move_that_was_interrupted_before_the_name_was_taken_is_finished(
    memories: Path,
) -> None:
    list(reembed(memories, "memview", THREE, threes))
    client = chromadb.PersistentClient(
        str(memories), settings=Settings(anonymized_telemetry=False)
    )
    client.get_collection("memview", embedding_function=None).modify(
        name="memview-reembedding"
    )
    assert list(reembed(memories, "memview", THREE, threes)) == []
    assert names(memories) == ["memview"]
    assert opened(memories).read("bo", {1, 2, 3}) == TEXTS


def test_a_move_to_a_third_model_begins_anew(memories: Path) -> None:
    steps = reembed(memories, "memview", THREE, threes)
    next(steps)
    steps.close()
    other = Preparation("two", 2, "", (0.0, 1.0))
    list(reembed(memories, "memview", other, lambda texts: [[1.0, 0.5]] * len(texts)))
    backend = opened(memories)
    backend.prepare_for(other)
    assert list(backend.read_prepared("ana", {1})[1]) == [1.0, 0.5]


def test_a_memory_that_cannot_be_embedded_waits_and_the_others_do_not(
    memories: Path,
) -> None:
    def embed(texts):
        if any("chess" in text for text in texts):
            raise RuntimeError("canary")
        return threes(texts)

    *_, last = reembed(memories, "memview", THREE, embed)
    assert (last.done, last.total, last.waiting) == (9, 9, 3)
    backend = opened(memories)
    assert set(backend.read_prepared("ana", {1, 2, 3})) == {1}
    assert len(list(backend.unprepared())) == 3


def test_a_collection_that_is_not_there(tmp_path: Path, memories: Path) -> None:
    with pytest.raises(MemoryUnavailableError, match="it has memview"):
        list(reembed(memories, "other", THREE, threes))
    with pytest.raises(MemoryUnavailableError, match="it has memview"):
        list(reembed(memories, "other", THREE, threes, "newer"))
    with pytest.raises(MemoryUnavailableError, match="no Chroma database"):
        list(reembed(tmp_path / "nowhere", "memview", THREE, threes))
    with pytest.raises(WiringError):
        list(reembed(memories, "memview", THREE, threes, "memview"))
