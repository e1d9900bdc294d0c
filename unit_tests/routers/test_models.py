"""Routers that ask a model: by public inputs alone, and by words when it fails."""

import math
from dataclasses import replace

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from langchain_memview import MemView, Policy, ProtectedAttribute, Slot
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.errors import WiringError
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.routers import ChatModelRouter, EmbeddingRouter, KeywordRouter
from langchain_memview.scorers import CueScorer
from langchain_memview.testing.embeddings import WordEmbeddings
from langchain_memview.testing.ratings import StructuredChatModel

POLICY = Policy(
    "notes",
    {"debt": ProtectedAttribute(["money"], cap=2)},
    [
        Slot("money", ["cheap"], {"generic": "A."}, 1, about="what things cost to buy"),
        Slot("food", ["dinner", "lunch"], {"generic": "B."}, 1),
        Slot("garden", [], {"generic": "C."}, 1),
    ],
    OnlineBudget(3),
)
NOTHING = AugmentedTranscript()


class Down(WordEmbeddings):
    """A model whose service can be switched off."""

    failure: object = None

    def embed_query(self, text: str) -> list[float]:
        if isinstance(self.failure, Exception):
            raise self.failure
        return super().embed_query(text) if self.failure is None else self.failure

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [WordEmbeddings.embed_query(self, text) for text in texts]


def test_a_slot_is_active_when_the_query_is_close_to_what_it_is_about():
    router = EmbeddingRouter.of(POLICY, WordEmbeddings())
    assert router.active_slots("what do things cost", NOTHING) == {"money"}
    assert router.active_slots("lunch", NOTHING) == {"food"}
    assert router.active_slots("garden", NOTHING) == {"garden"}
    assert router.active_slots("chess on sundays", NOTHING) == frozenset()
    wide = EmbeddingRouter.of(POLICY, WordEmbeddings(), threshold=-0.5)
    assert wide.active_slots("lunch", NOTHING) == {"money", "food", "garden"}


@pytest.mark.parametrize(
    "failure", [RuntimeError("down"), [0.0] * 64, [math.nan] * 64, [1.0]]
)
def test_the_words_of_the_query_decide_when_the_model_does_not_answer(failure):
    embeddings = Down()
    router = EmbeddingRouter.of(POLICY, embeddings)
    embeddings.failure = failure
    assert router.active_slots("a cheap lunch", NOTHING) == {"money", "food"}
    embeddings.failure = None
    assert router.active_slots("lunch", NOTHING) == {"food"}


@pytest.mark.parametrize("threshold", [1, -1, math.nan])
def test_a_threshold_is_a_cosine(threshold):
    with pytest.raises(WiringError, match="between -1 and 1"):
        EmbeddingRouter.of(POLICY, WordEmbeddings(), threshold=threshold)


def asked(messages):
    text = messages[1].text
    if "broken" in text:
        raise RuntimeError("no answer")
    if "odd" in text:
        return {"slots": ["pets"]}
    if "empty" in text:
        return {}
    return {"slots": ["money", "garden"]}


def test_a_chat_model_names_the_slots():
    prompts = []

    def reply(messages):
        prompts.append(messages)
        return {"slots": ["money", "garden"]}

    router = ChatModelRouter.of(POLICY, StructuredChatModel(reply=reply))
    assert router.active_slots("a cheap rake", NOTHING) == {"money", "garden"}
    ((system, human),) = prompts
    assert (
        "- money: what things cost to buy\n- food: dinner, lunch\n- garden: garden"
        in (system.text)
    )
    assert human.text == "a cheap rake"


@pytest.mark.parametrize("query", ["broken lunch", "odd lunch", "empty lunch"])
def test_the_words_decide_when_the_chat_model_does_not_name_slots(query):
    router = ChatModelRouter.of(POLICY, StructuredChatModel(reply=asked))
    assert router.active_slots(query, NOTHING) == {"food"}


def test_a_chat_model_without_structured_output_is_refused():
    with pytest.raises(WiringError, match="no structured output"):
        ChatModelRouter.of(POLICY, FakeListChatModel(responses=["x"]))


def test_the_routers_declare_that_their_inputs_are_public():
    for router in (KeywordRouter, EmbeddingRouter, ChatModelRouter):
        assert router.inputs == "public"


class Undeclared:
    def active_slots(self, query, history):
        return ["food"]


class Handed(KeywordRouter):
    """Declares what is not true."""


@pytest.mark.parametrize(
    "part", [InMemoryBackend(), CueScorer(), MemoryStore(("secret",))], ids=type
)
def test_a_router_that_was_handed_memory_is_refused(part):
    router = Handed(())
    object.__setattr__(router, "helper", part)
    with pytest.raises(WiringError, match=f"handed a {type(part).__name__}") as caught:
        MemView(POLICY, InMemoryBackend(), ledger=InMemoryLedger(), router=router)
    assert "secret" not in str(caught.value)


def test_a_router_that_declares_nothing_is_refused():
    with pytest.raises(WiringError, match="does not declare"):
        MemView(POLICY, InMemoryBackend(), ledger=InMemoryLedger(), router=Undeclared())


def test_a_turn_with_each_router():
    routers = [
        EmbeddingRouter.of(POLICY, WordEmbeddings()),
        ChatModelRouter.of(POLICY, StructuredChatModel(reply=asked)),
    ]
    for router in routers:
        policy = replace(POLICY, name=type(router).__name__)
        served = MemView(
            policy, InMemoryBackend(), ledger=InMemoryLedger(), router=router
        )
        release = served.turn(
            "what do things cost", subject="ana", audience="app", operation="1"
        )
        assert "money" in release.views
