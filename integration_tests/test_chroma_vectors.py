"""Vectors in Chroma: our own beside the text, and collections of other programs."""

from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from pytest_socket import disable_socket

from langchain_memview import MemView, Policy, ProtectedAttribute, Slot, View
from langchain_memview.backends import ChromaBackend, chroma_collection
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.errors import WiringError
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.scorers.embedding import EmbeddingScorer
from langchain_memview.testing.embeddings import WordEmbeddings

POLICY = Policy(
    "notes",
    {"debt": ProtectedAttribute(["money"], cap=2)},
    [
        Slot(
            "money",
            when=["pay"],
            views={
                "generic": "Assume an ordinary budget.",
                "cheap": View("Keep it cheap.", support="the user owes a bank loan"),
            },
            capacity=3,
        )
    ],
    OnlineBudget(3),
    scorer=EmbeddingScore("words", "0.5", 20),
)


@pytest.fixture(autouse=True)
def _no_network() -> None:
    disable_socket()


def served(backend: ChromaBackend, size: int = 64) -> MemView:
    scorer = EmbeddingScorer.of(POLICY, WordEmbeddings(size))
    return MemView(POLICY, backend, ledger=InMemoryLedger(), scorer=scorer)


def test_a_memory_carries_its_embedding_as_chromas_own_vector(tmp_path: Path) -> None:
    served(ChromaBackend(tmp_path)).remember("ana", "owes a loan", slot="money")
    (held,) = chroma_collection._collections[tmp_path, "memview"].get(
        include=["embeddings"]
    )["embeddings"]
    words = np.asarray(WordEmbeddings().embed_query("owes a loan"))
    assert held == pytest.approx(words / np.linalg.norm(words), abs=1e-6)


def test_the_model_is_remembered_on_disk_and_compared(tmp_path: Path) -> None:
    served(ChromaBackend(tmp_path)).remember("ana", "owes a loan", slot="money")
    chroma_collection._closed(tmp_path)
    served(ChromaBackend(tmp_path))
    with pytest.raises(WiringError, match="64 numbers are not 32"):
        served(ChromaBackend(tmp_path), 32)


def test_memories_without_vectors_have_to_be_moved(tmp_path: Path) -> None:
    ChromaBackend(tmp_path).write("ana", 1, "owes a loan")
    with pytest.raises(WiringError, match=r"vectors of 1 numbers .* memview reembed"):
        served(ChromaBackend(tmp_path))


class Named(chromadb.EmbeddingFunction):  # type: ignore[type-arg]
    """An embedding function as another program may have registered it."""

    def __init__(self) -> None: ...

    def __call__(self, input):  # noqa: A002 - Chroma's name
        vectors = np.asarray(WordEmbeddings().embed_documents(list(input)), np.float32)
        return list(vectors)

    @staticmethod
    def name() -> str:
        return "of-another-program"

    def get_config(self) -> dict[str, object]:
        return {}

    @staticmethod
    def build_from_config(config):
        return Named()


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    client = chromadb.PersistentClient(
        str(tmp_path), settings=Settings(anonymized_telemetry=False)
    )
    notes = client.create_collection(
        "notes", embedding_function=Named(), metadata={"hnsw:space": "cosine"}
    )
    notes.add(
        ids=["ana/1", "ana/2", "bo/1"],
        documents=["owes a loan", "plays chess", "got a bonus"],
        metadatas=[{"source": "chat"}] * 3,
    )
    return tmp_path


def notes_of(directory: Path) -> ChromaBackend:
    return ChromaBackend(
        directory, "notes", id_of=lambda s, p: f"{s}/{p}", positions=(1, 2, 3)
    )


def test_a_collection_of_another_program_is_read_by_id(foreign: Path) -> None:
    backend = notes_of(foreign)
    assert backend.read("ana", {1, 2, 3}) == {1: "owes a loan", 2: "plays chess"}
    memview = served(backend)
    release = memview.turn("pay", subject="ana", audience="app", operation="1")
    assert release.outcomes == {"money": "selected"}
    assert set(backend.read_prepared("ana", {1, 2, 3})) == {1, 2}
    assert memview.remember("ana", "sold a car", slot="money") == 3
    held = chroma_collection._collections[foreign, "notes"]
    assert held.get(ids=["ana/3"])["documents"] == ["sold a car"]
    assert held.metadata == {"hnsw:space": "cosine"}


def test_a_collection_that_another_model_embedded_is_refused(foreign: Path) -> None:
    class Other(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector[::-1] for vector in super().embed_documents(texts)]

    scorer = EmbeddingScorer.of(POLICY, Other())
    with pytest.raises(
        WiringError, match="gives a stored memory other numbers"
    ) as caught:
        MemView(POLICY, notes_of(foreign), ledger=InMemoryLedger(), scorer=scorer)
    assert "loan" not in str(caught.value)
    with pytest.raises(WiringError, match="64 numbers are not 32"):
        served(notes_of(foreign), 32)


def test_forgetting_in_a_collection_of_another_program(foreign: Path) -> None:
    backend = notes_of(foreign)
    backend.forget("ana")
    assert not backend.written("ana", {1, 2, 3})
    assert backend.read("bo", {1}) == {1: "got a bonus"}


def test_a_collection_of_another_program_needs_both_ids_and_positions(
    tmp_path: Path,
) -> None:
    with pytest.raises(WiringError, match="needs both"):
        ChromaBackend(tmp_path, "notes", id_of=lambda s, p: f"{s}/{p}")
    with pytest.raises(WiringError, match="needs both"):
        ChromaBackend(tmp_path, "notes", positions=(1,))
