"""The order of the tour makes the ledgers tell their story, whatever is drawn."""

from fractions import Fraction

import pytest

from langchain_memview import InMemoryLedger, MemView
from langchain_memview.backends import InMemoryBackend
from langchain_memview.demo.policy import meal_policy
from langchain_memview.demo.tour import FIGURE_2_QUESTION, SEED, TOUR
from langchain_memview.demo.turns import SlotLine, Turn, document
from langchain_memview.demo.user import ANA, remember_ana
from langchain_memview.testing.draws import seeded_memview

OUTCOMES = [
    {"health": "selected"},
    {"health": "selected"},
    {"health": "selected"},
    {"food": "generic", "finance": "selected"},
    {"work": "selected"},
    {},
    {"schedule": "uncharged"},
    {"household": "selected"},
    {"food": "generic", "finance": "selected", "work": "selected"},
    {"finance": "selected"},
    {"food": "generic", "finance": "generic", "schedule": "uncharged"},
    {
        "food": "generic",
        "work": "selected",
        "schedule": "uncharged",
        "household": "selected",
    },
]


def play(memview):
    remember_ana(memview)
    return [
        memview.turn(q.text, subject=ANA, audience="app", operation=str(number))
        for number, q in enumerate(TOUR, 1)
    ]


def as_turn(question, release):
    lines = tuple(SlotLine.of(meal_policy(), s) for s in release.slots)
    return Turn(question, lines, "An answer.", release.balances)


@pytest.fixture(scope="module")
def releases():
    memview = seeded_memview(
        meal_policy(), InMemoryBackend(), ledger=InMemoryLedger(), seed=SEED
    )
    return play(memview)


def test_the_course_of_the_tour_is_the_same_for_every_draw():
    memview = MemView(meal_policy(), InMemoryBackend(), ledger=InMemoryLedger())
    assert [dict(release.outcomes) for release in play(memview)] == OUTCOMES


def test_the_course_of_the_tour_is_the_same_for_an_empty_memory():
    memview = MemView(meal_policy(), InMemoryBackend(), ledger=InMemoryLedger())
    outcomes = [
        dict(
            memview.turn(
                q.text, subject=ANA, audience="app", operation=str(number)
            ).outcomes
        )
        for number, q in enumerate(TOUR, 1)
    ]
    assert outcomes == OUTCOMES


def test_figure_2_is_the_fourth_turn_and_no_other(releases):
    turns = [as_turn(q.text, r) for q, r in zip(TOUR, releases, strict=True)]
    assert [turn.is_figure_2 for turn in turns].index(True) == 3
    assert sum(turn.is_figure_2 for turn in turns) == 1
    assert TOUR[3].text == FIGURE_2_QUESTION
    food, finance = turns[3].slots
    assert food.reason == (
        "Capped: type 2 diabetes would pass its cap, so the generic view is used"
    )
    assert finance.reason == "Charged 2/3 to severe debt"
    assert finance.say == "Keep the meal very cheap."


def test_debt_is_spent_at_the_tenth_turn(releases):
    spent = [release.balances["severe_debt"].spent for release in releases]
    assert spent[9] == 2
    assert spent[8] == Fraction(4, 3)


def test_reasons_name_every_attribute_in_the_way():
    line = SlotLine("food", "generic", "…", "generic", (), Fraction(0), ())
    blocked = ("severe_debt", "type2_diabetes")
    assert line.reason == "Free: no protected attribute is read"
    assert SlotLine(
        "food", "generic", "…", "generic", (), Fraction(0), blocked
    ).reason.startswith("Capped: severe debt, type 2 diabetes would pass their caps")


def test_the_document_states_the_same_facts(releases):
    turns = [as_turn(q.text, r) for q, r in zip(TOUR, releases, strict=True)]
    plain = document(turns, "embedded", SEED)
    assert plain["schema"] == "memview.demo/1"
    assert plain["seed"] == SEED
    fourth = plain["turns"][3]
    assert fourth["figure_2"] is True
    assert [slot["view"] for slot in fourth["slots"]] == ["generic", "strict_budget"]
    assert fourth["slots"][0]["blocked_by"] == ["type2_diabetes"]
    assert fourth["ledgers"]["severe_debt"] == {
        "spent": "2/3",
        "spent_float": 0.666667,
        "cap": "2",
    }
