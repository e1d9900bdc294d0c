"""The cue scorer and the paper's weighted scorer."""

import pytest

from langchain_memview.core.policy import Slot
from langchain_memview.core.scoring import scores
from langchain_memview.core.views import View
from langchain_memview.scorers import CueScorer, WeightedScorer

SLOT = Slot(
    "food",
    views={
        "generic": "Suggest broadly appealing dishes.",
        "lower_sugar": View("Favour lower-sugar dishes.", ["carb", "sugar", "diabet"]),
        "protein": View("Favour high-protein dishes.", ["protein", "gym"]),
        "bare": "Favour soup.",
    },
)


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["Counts CARBS since 2019", "Goes to the gym"], [0, 1, 1, 0]),
        (["Diabetic", "sugar-free gum", "gym"], [0, 1, 0.5, 0]),
        (["Likes pasta", ""], [1, 0, 0, 0]),
        ([], [1, 0, 0, 0]),
        (["An escarbot is a beetle"], [1, 0, 0, 0]),
    ],
)
def test_cues_speak_for_views_and_their_absence_for_the_generic_one(contents, expected):
    found = [float(u) for u in scores(CueScorer(), SLOT, "dinner", contents)]
    assert found == expected


def test_a_cue_of_several_words_may_be_broken_over_lines():
    slot = Slot(
        "h", views={"generic": "G.", "heart": View("H.", ["blood pressure", " "])}
    )
    assert scores(CueScorer(), slot, "", ["High blood\npressure"])[1] == 1


def test_a_slot_with_the_generic_view_alone_has_one_score():
    slot = Slot("h", views={"generic": "G."})
    assert scores(CueScorer(), slot, "", ["anything"]) == (1,)
    assert scores(WeightedScorer(), slot, "", ["anything"])[0] == pytest.approx(0.6)


def test_the_weighted_score_is_relevance_compatibility_and_specificity():
    u = scores(WeightedScorer(), SLOT, "a protein dinner", ["Goes to the gym"])
    # protein: r = 1, c = 1, s = 1/2 (one of its two cues); the others: nothing.
    assert [float(x) for x in u] == [0, 0, pytest.approx(0.9), 0]


def test_relevance_depends_on_the_query_alone():
    empty = scores(WeightedScorer(), SLOT, "a sugar free dish", [])
    assert float(empty[0]) > 0.6  # the generic view, by absence of any cue
    assert empty[1] > empty[2]
    assert [float(x) for x in scores(WeightedScorer(), SLOT, "zzz", [])] == [
        0.6,
        0,
        0,
        0,
    ]
