"""The keyword router: whole words, inflections, phrases, and nothing else."""

import pytest

from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.routers import KeywordRouter

VIEWS = {"generic": "Any.", "other": "Other."}
POLICY = Policy(
    "words",
    {"a": ProtectedAttribute([1], cap=1)},
    [
        Slot(
            "food", when=["dinner", "cook", "grocery", "dish"], views=VIEWS, capacity=1
        ),
        Slot("finance", when=["count", "affordable"], views=VIEWS, capacity=1),
        Slot("work", when=["after work", "quick"], views=VIEWS, capacity=1),
        Slot("odd", when=["!!", "café"], views=VIEWS, capacity=1),
    ],
    OnlineBudget(1),
)
ROUTER = KeywordRouter.of(POLICY)


def routed(query):
    return ROUTER.active_slots(query, AugmentedTranscript())


@pytest.mark.parametrize(
    ("query", "slots"),
    [
        ("Two quick DINNERS, please!", {"food", "work"}),
        ("What was cooked?", {"food"}),
        ("I love cooking", {"food"}),
        ("A dinner's worth of groceries", {"food"}),
        ("dishes", {"food"}),
        ("My first encounter", set()),
        ("over the counter", set()),
        ("counting calories", {"finance"}),
        ("something affordably good", {"finance"}),
        ("after work", {"work"}),
        ("work after that", set()),
        ("after, well, work", set()),
        ("Meet me at the CAFÉ", {"odd"}),
        ("", set()),
        ("   ", set()),
        ("Was koche ich heute Abend?", set()),
        ("今晚吃什么", set()),
        ("🍝🍷", set()),
        ("!!", set()),
        ("undercooked", set()),
    ],
)
def test_a_query_activates_the_slots_of_its_words(query, slots):
    assert routed(query) == slots


def test_a_query_of_a_megabyte_is_routed_like_any_other():
    words = " ".join(f"co{i:x} any{i}" for i in range(60_000))
    assert len(words) > 800_000
    assert routed(words + " dinner") == {"food"}
    assert routed(words) == set()
