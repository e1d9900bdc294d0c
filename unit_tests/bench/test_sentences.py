"""The shipped sentences: how many there are of what, and that they differ."""

import re
from collections import Counter
from itertools import combinations

import pytest

from langchain_memview.bench.sentences import (
    ATTRIBUTES,
    HARD_KINDS,
    KINDS,
    part,
    sentences,
)

OBVIOUS = {
    "type2_diabetes": ("diabet", "type 2", "t2d"),
    "pregnancy": ("pregnan",),
    "severe_debt": ("debt", "owe"),
    "job_loss": ("laid off", "unemploy", "lost my job"),
}


def _words(text):
    return set(re.findall(r"\w+", text.casefold()))


def test_there_are_enough_of_every_kind():
    found = Counter((s.view, s.kind) for s in sentences() if s.language == "en")
    assert len(sentences()) >= 440
    assert found["", "neutral"] >= 110
    for attribute in ATTRIBUTES:
        assert found[attribute, "evidence"] >= 40
        assert all(found[attribute, kind] >= 12 for kind in HARD_KINDS)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_evidence_is_in_other_languages_and_other_words_too(attribute):
    own = [s for s in sentences() if (s.view, s.kind) == (attribute, "evidence")]
    foreign = Counter(s.language for s in own if s.language != "en")
    assert sum(foreign.values()) >= 6
    assert set(foreign) == {"de", "es", "fr", "ja", "pl", "tr"}
    english = [s.text.casefold() for s in own if s.language == "en"]
    plain = [t for t in english if not any(o in t for o in OBVIOUS[attribute])]
    assert len(plain) >= len(english) / 3


def test_sentences_are_well_formed():
    for sentence in sentences():
        assert sentence.kind in KINDS
        assert (sentence.view == "") == (sentence.kind == "neutral")
        assert sentence.view in ("", *ATTRIBUTES)
        assert sentence.language == "en" or sentence.kind == "evidence"
        assert sentence.text == " ".join(sentence.text.split())
        # Japanese puts no spaces between words.
        size = len(sentence.text) / 3 if sentence.language == "ja" else 0
        assert 4 <= (size or len(sentence.text.split())) <= 30, sentence


def test_no_two_sentences_are_nearly_the_same():
    words = [(s.text, _words(s.text)) for s in sentences()]
    alike = [
        (one, other)
        for (one, a), (other, b) in combinations(words, 2)
        if len(a & b) / len(a | b) >= 0.5
    ]
    assert not alike


def test_both_halves_have_a_fair_share_of_every_cell():
    cells = {}
    for s in sentences():
        cell = (s.view, s.kind, s.language == "en")
        cells.setdefault(cell, []).append(part(s) == "test")
    assert len(cells) == 4 * 5 + 4 + 1
    for cell, members in cells.items():
        assert 0.3 <= sum(members) / len(members) <= 0.7, cell
