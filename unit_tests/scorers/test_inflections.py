"""Cues find the inflections of their words, and all that they found before."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.views import View
from langchain_memview.scorers.cue import view_cues
from langchain_memview.scorers.inflections import inflections
from langchain_memview.words import Passages, _stem, folded


def found(cue, *texts):
    return Passages(texts).with_any(view_cues(View("V.", [cue])))


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("lose job", "I lost my job."),
        ("lose job", "losing the jobs at the mill"),
        ("lose my job", "I keep losing my job"),
        ("get laid off", "She got laid-off"),
        ("owe", "Owing 400 to Bob"),
        ("OWE", "I OWED him"),
        ("can't pay", "We can’t pay"),
        ("have a baby", "Had a baby"),
        ("pregnancy", "two pregnancies"),
        ("child", "three children"),
        ("get diabet", "he's getting diabetic"),
        ("max out", "It is maxed out"),
        ("blood pressure", "blood\n pressures"),
    ],
)
def test_a_cue_finds_the_inflections_of_its_words(cue, text):
    assert found(cue, "", text, "x") == {1}


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("lose job", "I lost. Job done"),
        ("lose job", "I lost, job or no job"),
        ("lose job", "Lost the other job"),
        ("lose job", "job lost"),
        ("fired pan", "a fire pan"),
        ("carb", "escarbot"),
        ("have a baby", "having the baby"),
        ("my insulin", "insulin"),
        ("lose", "loss"),
        ("!", "no"),
    ],
)
def test_a_cue_finds_nothing_else(cue, text):
    assert found(cue, text) == set()


def test_no_cue_reaches_from_one_text_into_the_next():
    assert found("lose job", "I lost my", "job", "", "lost job") == {3}
    assert found("lose job") == set()


def test_forms_are_inflections_and_not_relatives():
    assert {"owe", "owes", "owed", "owing"} <= inflections("owe")
    assert {"stopped", "stopping"} <= inflections("stop")
    assert {"lie", "lying", "lay", "lain"} <= inflections("lie")
    assert "cared" not in inflections("car")
    assert "thing" not in inflections("the")
    assert "university" not in inflections("universal")
    assert inflections("laid") >= {"laid"}
    assert "lay" not in inflections("laid")


_TEXT = st.text(st.sampled_from("ab .,'’-_\n\u00e9\u0130ß9"), max_size=30)


@given(_TEXT, _TEXT)
def test_what_begins_with_a_cue_is_found_as_before(cue, text):
    beginning = folded(cue)
    by_hand = beginning and re.search(
        r"(?<![^\W_])(?<!_)" + re.escape(beginning), folded(text)
    )
    if by_hand:
        assert found(cue, "", text) >= {1}


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_cue_and_any_texts_can_be_compared(cue, texts):
    assert found(cue, *texts) <= set(range(len(texts)))


def test_words_of_a_memory_are_not_remembered():
    cues = view_cues(View("V.", ["carb", "lose job"]))
    before = _stem.cache_info(), inflections.cache_info()
    assert Passages(["Losing jobs, carbs and flimflams"]).with_any(cues) == {0}
    assert (_stem.cache_info(), inflections.cache_info()) == before
