"""Support by the meaning of memories: bounded, prepared at write time, closed on failure."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from langchain_memview import MemView, Policy, ProtectedAttribute, Slot, View
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget, StandingBudget
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.scoring import scores, sensitivity, supports
from langchain_memview.errors import MemoryUnavailableError, WiringError
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.scorers.embedding import (
    LONGEST,
    EmbeddingScorer,
    supports_by_vectors,
)
from langchain_memview.scorers.whose import bearing
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
                "rich": View("Spend freely.", support="the user got a large bonus"),
            },
            capacity=3,
        ),
        Slot("food", when=["dinner"], views={"generic": "Any dish."}, capacity=1),
    ],
    OnlineBudget(3),
    scorer=EmbeddingScore("words", "0.5", 20),
)
MONEY = POLICY.slots_by_name["money"]
OWES = "the user owes a loan"


class Flaky(WordEmbeddings):
    """Answers as long as it is told to; otherwise as its failure says."""

    def __init__(self) -> None:
        super().__init__()
        self.failure: object = None
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        if isinstance(self.failure, Exception):
            raise self.failure
        found = super().embed_documents(texts)
        return found if self.failure is None else [self.failure for _ in found]

    def embed_query(self, text: str) -> list[float]:
        if isinstance(self.failure, Exception):
            raise self.failure
        return super().embed_query(text)


def scorer(embeddings: Embeddings | None = None, **changes: object) -> EmbeddingScorer:
    policy = replace(POLICY, scorer=replace(POLICY.scorer, **changes))
    return EmbeddingScorer.of(policy, embeddings or WordEmbeddings())


def memview(embeddings: Embeddings, backend: InMemoryBackend, policy=POLICY) -> MemView:
    return MemView(
        policy,
        backend,
        ledger=InMemoryLedger(),
        scorer=EmbeddingScorer.of(policy, embeddings),
    )


def test_a_view_has_the_support_of_its_closest_memory():
    made = scorer()
    near, far = made.prepare(OWES), made.prepare("plays chess on sundays")
    (found,) = made.support(MONEY, [far, None, near])
    # 5 and 6 words, 5 in common: the cosine is 5/sqrt(30).
    expected = 1 / (1 + math.exp(-20 * (5 / math.sqrt(30) - 0.5)))
    assert found[1] == pytest.approx(expected, abs=1e-5)
    assert found[0] == pytest.approx(1 - found[1], abs=1e-6)
    assert found[2] < found[1]


def test_nothing_that_is_remembered_speaks_for_the_generic_view():
    assert list(scores(scorer(), MONEY, "q", [None, None, None])) == [1, 0, 0]


def test_without_a_support_sentence_view_and_cues_are_compared():
    assert View("Keep it cheap.", ["owes", "loan"]).hypothesis == (
        "Keep it cheap. owes loan"
    )
    assert View("Keep it cheap.", ["owes"], support="A loan.").hypothesis == "A loan."


@given(
    st.lists(
        st.none() | st.lists(st.floats(width=32), min_size=64, max_size=64), max_size=4
    ),
    st.fractions(0, Fraction(9, 10)),
)
def test_the_private_part_is_in_bounds_whatever_is_stored(contents, relevance):
    made = scorer(relevance=relevance)
    assert sensitivity(made) == 1 - relevance
    with np.errstate(all="ignore"):
        found = supports(made, MONEY, contents)
    assert all(0 <= value <= 1 for value in found)


def test_a_memory_counts_less_where_it_bears_less_on_the_subject():
    made = scorer()
    whole = np.asarray(made.prepare(OWES))
    (full,), (half,) = made.support(MONEY, [whole]), made.support(MONEY, [whole / 2])
    assert half[1] == pytest.approx(full[1] / 2, abs=1e-5)


def test_what_is_stored_is_shorter_where_words_say_it_is_not_so():
    made = scorer()
    assert np.linalg.norm(made.prepare(OWES)) == pytest.approx(1)
    for text in ("my brother owes a loan", "I do not owe a loan"):
        assert 0 < bearing(text) < 1
        assert np.linalg.norm(made.prepare(text)) == pytest.approx(bearing(text))


def test_a_turn_embeds_nothing():
    embeddings = Flaky()
    served = memview(embeddings, InMemoryBackend())
    served.remember("ana", OWES, slot="money")
    before = list(embeddings.texts)
    served.turn("How shall I pay?", subject="ana", audience="app", operation="t1")
    assert embeddings.texts == before


def test_a_turn_embeds_the_query_once_where_relevance_counts():
    asked: list[str] = []

    class Counting(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            asked.append(text)
            return super().embed_query(text)

    made = scorer(Counting(), relevance="0.4")
    asked.clear()
    for _ in range(3):
        terms = made.relevance("keep it cheap", MONEY)
    assert asked == ["keep it cheap"]
    assert terms[1] == 1
    assert max(terms) == 1


def test_where_the_query_cannot_be_embedded_its_words_decide():
    embeddings = Flaky()
    made = scorer(embeddings, relevance="0.4")
    embeddings.failure = RuntimeError("down")
    assert made.relevance("cheap", MONEY) == [0.0, 1.0, 0.0]
    embeddings.failure = None
    assert made.relevance("ordinary budget", MONEY)[0] == 1


@pytest.mark.parametrize(
    "failure",
    [RuntimeError("the canary owes"), [0.0] * 64, [math.nan] * 64, [1.0] * 63, []],
    ids=["down", "zero", "nan", "other size", "empty"],
)
def test_a_memory_that_cannot_be_embedded_is_kept_and_embedded_later(failure):
    embeddings, backend = Flaky(), InMemoryBackend()
    served = memview(embeddings, backend)
    embeddings.failure = failure
    assert served.remember("ana", OWES, slot="money") == 1
    assert served.remember("bo", OWES, slot="money") == 1
    assert backend.read("ana", {1}) == {1: OWES}
    assert backend.read_prepared("ana", {1}) == {}
    assert served.prepare() == 2
    release = served.turn("pay", subject="ana", audience="a", operation="1")
    assert release.balances["debt"].spent == Fraction(2, 3)
    embeddings.failure = None
    served.remember("cy", "the user got a bonus", slot="money")
    assert len(backend.read_prepared("ana", {1})[1]) == 64
    assert served.prepare() == 0


def test_memories_that_were_there_before_wait_until_they_are_prepared():
    backend = InMemoryBackend({"ana": {1: OWES, 2: ""}})
    served = memview(WordEmbeddings(), backend)
    assert list(backend.unprepared()) == [("ana", 1, OWES)]
    assert served.prepare() == 0
    assert set(backend.read_prepared("ana", {1, 2})) == {1}


def test_prepare_is_nothing_to_do_for_a_scorer_that_reads_texts():
    policy = replace(POLICY, scorer=None)
    served = MemView(policy, InMemoryBackend(), ledger=InMemoryLedger())
    assert served.prepare() == 0


def test_a_backend_that_cannot_be_reached_says_so_without_a_memory():
    class Gone(InMemoryBackend):
        def unprepared(self) -> list[tuple[str, int, str]]:
            raise RuntimeError("canary")

    with pytest.raises(MemoryUnavailableError, match="wait") as caught:
        memview(WordEmbeddings(), Gone()).prepare()
    assert caught.value.__context__ is None


def test_only_the_beginning_of_a_very_long_memory_is_embedded():
    embeddings = Flaky()
    made = scorer(embeddings)
    embeddings.texts.clear()
    found = made.prepare("the user owes a loan " + "and so on " * 10_000)
    assert [len(text) for text in embeddings.texts] == [LONGEST]
    assert len(found) == 64


def test_another_model_than_the_stored_one_is_refused():
    backend = InMemoryBackend()
    memview(WordEmbeddings(), backend)
    memview(WordEmbeddings(), backend)  # the same model again is fine
    with pytest.raises(WiringError, match=r"64 numbers are not 32.*memview reembed"):
        memview(WordEmbeddings(32), backend)

    class Other(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [v[::-1] for v in super().embed_documents(texts)]

    with pytest.raises(WiringError, match="gives other numbers"):
        memview(Other(), backend)


def test_the_model_must_be_the_one_that_the_policy_is_calibrated_for():
    with pytest.raises(WiringError, match="calibrated for 'words', not for 'minilm'"):
        EmbeddingScorer.of(POLICY, WordEmbeddings(), model="minilm")
    with pytest.raises(WiringError, match="memview calibrate"):
        EmbeddingScorer.of(replace(POLICY, scorer=None), WordEmbeddings())


def test_a_policy_for_embeddings_needs_the_model():
    with pytest.raises(WiringError, match=r"scorer=EmbeddingScorer\.of"):
        MemView(POLICY, InMemoryBackend(), ledger=InMemoryLedger())


@pytest.mark.parametrize(
    "failure",
    [RuntimeError("no key"), [0.0] * 64, [math.inf] * 64],
    ids=["down", "zero", "infinite"],
)
def test_a_model_that_does_not_answer_for_the_views_is_refused_at_once(failure):
    embeddings = Flaky()
    embeddings.failure = failure
    with pytest.raises(WiringError, match="own sentences"):
        EmbeddingScorer.of(POLICY, embeddings)


def test_a_backend_without_room_for_numbers_is_refused():
    class Plain:
        """Only what `Backend` asks for."""

        read = write = written = forget = None

    with pytest.raises(WiringError, match="keeps numbers beside every memory"):
        memview(WordEmbeddings(), Plain())  # type: ignore[arg-type]


def test_the_representation_shows_the_model_alone():
    assert repr(scorer()) == "EmbeddingScorer('words')"


def test_a_standing_policy_finds_the_best_supported_view():
    standing = replace(POLICY, budget=StandingBudget())
    served = memview(WordEmbeddings(), InMemoryBackend(), standing)
    served.remember("ana", OWES, slot="money")
    served.open("ana")
    release = served.turn("pay", subject="ana", audience="app", operation="t1")
    assert release.outcomes == {"money": "standing"}


@pytest.mark.parametrize("slope", ["0.01", 100_000])
@pytest.mark.parametrize("length", [0.0, 0.5, 1.0, 40.0])
def test_support_is_bounded_by_itself_whatever_lies_in_the_store(slope, length):
    """Not only by the clamp of `core.scoring`, and without a warning of overflow."""
    view = np.array([[1.0, 0.0]], np.float32)
    rows = np.array([[length, 0.0], [-length, 0.0]], np.float32)
    found = supports_by_vectors(rows, view, EmbeddingScore("words", "0.5", slope))
    assert found.shape == (2, 1)
    assert (found >= 0).all()
    assert (found <= min(length, 1.0)).all()
