"""Support as a chat model rates it: bounded, silent, and closed when it fails."""

import threading
from fractions import Fraction

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from langchain_memview import MemView, Policy, ProtectedAttribute, Slot, View
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.scoring import scores
from langchain_memview.errors import WiringError
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.scorers import ChatModelScorer, LiveChatScorer
from langchain_memview.testing.ratings import StructuredChatModel

POLICY = Policy(
    "notes",
    {"debt": ProtectedAttribute(["money"], cap=2)},
    [
        Slot("food", ["dinner"], {"generic": "Any.", "soup": "Soup."}, 1),
        Slot(
            "money",
            when=["pay"],
            views={
                "generic": "Assume an ordinary budget.",
                "cheap": View("Keep it cheap.", support="The user owes money."),
                "rich": View("Spend freely."),
            },
            capacity=3,
        ),
    ],
    OnlineBudget(3),
)
MONEY = POLICY.slots_by_name["money"]


class Rater:
    """Rates `owes` for statement 2 (or 1) as it is told to; counts the calls."""

    def __init__(self):
        self.prompts = []
        self.answer = {"statement_1": 0, "statement_2": 0.75, "statement_3": 0.25}

    def __call__(self, messages):
        self.prompts.append([message.text for message in messages])
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @property
    def model(self):
        return StructuredChatModel(reply=self)


def memview(scorer, backend=None, **options):
    return MemView(
        POLICY,
        backend or InMemoryBackend(),
        ledger=InMemoryLedger(),
        scorer=scorer,
        **options,
    )


def ask(served, operation="1"):
    return served.turn("pay", subject="ana", audience="app", operation=operation)


def test_a_memory_is_rated_once_when_it_is_written():
    rater = Rater()
    served = memview(ChatModelScorer.of(POLICY, rater.model))
    served.remember("ana", "Owes 9,000 on two cards.", slot="money")
    assert len(rater.prompts) == 1
    system, human = rater.prompts[0]
    assert "2. The user owes money.\n3. Spend freely." in system
    assert human == "Notes:\n- Owes 9,000 on two cards."
    ask(served)
    ask(served, "2")
    assert len(rater.prompts) == 1


def test_the_best_rating_of_a_view_is_its_support():
    rater = Rater()
    scorer = ChatModelScorer.of(POLICY, rater.model)
    rows = [scorer.prepare("one"), None]
    rater.answer = {"statement_2": 0.5, "statement_3": 0.5}
    rows.append(scorer.prepare("two"))
    assert scores(scorer, MONEY, "q", rows) == (
        Fraction(1, 4),
        Fraction(3, 4),
        Fraction(1, 2),
    )
    assert scores(scorer, MONEY, "q", [None]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"statement_2": 7, "statement_3": -3}, [0, 1, 0]),
        ({}, [1, 0, 0]),
    ],
)
def test_ratings_are_clamped_and_missing_ones_are_0(answer, expected):
    rater = Rater()
    rater.answer = answer
    scorer = ChatModelScorer.of(POLICY, rater.model)
    assert list(scores(scorer, MONEY, "q", [scorer.prepare("x")])) == expected


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("canary"), {"statement_2": "much"}, {"statement_2": float("nan")}],
)
def test_a_memory_that_is_not_rated_is_kept_and_rated_later(answer):
    rater, backend = Rater(), InMemoryBackend()
    served = memview(ChatModelScorer.of(POLICY, rater.model), backend)
    rater.answer = answer
    served.remember("ana", "Owes 9,000.", slot="money")
    assert backend.read("ana", {2}) == {2: "Owes 9,000."}
    assert served.prepare() == 1
    rater.answer = {"statement_2": 1}
    assert served.prepare() == 0


def test_other_statements_are_another_preparation():
    rater, backend = Rater(), InMemoryBackend()
    memview(ChatModelScorer.of(POLICY, rater.model), backend)
    other = Policy(
        "notes",
        POLICY.attributes,
        [Slot("money", views={"generic": "A.", "b": "B."}, capacity=4)],
        OnlineBudget(3),
    )
    with pytest.raises(WiringError, match="4 numbers are not 2"):
        MemView(
            other,
            backend,
            ledger=InMemoryLedger(),
            scorer=ChatModelScorer.of(other, rater.model),
        )


def test_a_live_scorer_asks_at_the_turn_and_needs_a_deadline():
    rater = Rater()
    rater.answer = {"statement_1": 1, "statement_2": 0}
    scorer = LiveChatScorer.of(rater.model, seconds=0.5)
    for deadline in (None, 0.5):
        with pytest.raises(WiringError, match=r"waits up to 0\.5 seconds"):
            memview(scorer, deadline=deadline)
    served = memview(
        scorer, InMemoryBackend({"ana": {2: "Owes.", 4: "Has a car."}}), deadline=0.6
    )
    assert ask(served).balances["debt"].spent == Fraction(2, 3)
    assert [human for _, human in rater.prompts] == ["Notes:\n- Owes.\n- Has a car."]
    assert scores(scorer, MONEY, "q", ["Owes."]) == (0, 1, 0)
    assert scores(scorer, MONEY, "q", ["", ""]) == (1, 0, 0)
    assert len(rater.prompts) == 2


def test_a_live_scorer_that_gets_no_answer_has_found_nothing():
    held = threading.Event()

    def never(messages):
        held.wait(5)
        return {}

    slow = LiveChatScorer.of(StructuredChatModel(reply=never), seconds=0.01)
    assert scores(slow, MONEY, "q", ["Owes."]) == (0, 0, 0)
    held.set()
    rater = Rater()
    rater.answer = RuntimeError("canary")
    failing = LiveChatScorer.of(rater.model, seconds=1)
    assert scores(failing, MONEY, "q", ["Owes."]) == (0, 0, 0)


def test_models_that_cannot_answer_silently_are_refused():
    rater = Rater()
    for model in (
        FakeListChatModel(responses=["x"]),
        rater.model.with_retry(),
        rater.model.with_fallbacks([rater.model]),
        "gpt",
    ):
        with pytest.raises(WiringError, match="no structured output"):
            ChatModelScorer.of(POLICY, model)
    with pytest.raises(WiringError, match="above 0"):
        LiveChatScorer.of(rater.model, seconds=0)


def test_the_representations_show_no_prompt():
    scorer = ChatModelScorer.of(POLICY, Rater().model, name="m")
    assert repr(scorer) == "ChatModelScorer('m')"
    assert (
        repr(LiveChatScorer.of(Rater().model, seconds=2)) == "LiveChatScorer(seconds=2)"
    )
