"""A calibration is written into a policy file, and nothing else is changed."""

import pytest

from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.errors import PolicyError
from langchain_memview.policies import policy_from_text
from langchain_memview.policies.edit import with_calibration

TEXT = """# A comment that stays.
version: 1
name:   notes
attributes: {debt: {positions: [money], cap: 2}}
budget: {mode: online, k: 3}   # three times
slots:
  money: {capacity: 3, views: {generic: Any., cheap: {say: Cheap., cues: [owe]}}}
"""
SCORE = EmbeddingScore("mini: lm", "0.412", "12.5", "1/5")
LINE = 'scorer: {model: "mini: lm", midpoint: 0.412, slope: 12.5, relevance: 1/5}\n'


def test_a_new_section_stands_before_the_slots() -> None:
    changed = with_calibration(TEXT, SCORE)
    assert changed == TEXT.replace("slots:", f"{LINE}slots:")
    assert policy_from_text(changed).scorer == policy_from_text(changed).scorer


@pytest.mark.parametrize(
    "old",
    [
        "scorer: {model: old, midpoint: 0, slope: 1}\n",
        "scorer:   # old\n  model: old\n  midpoint: 0\n  # within\n  slope: 1\n",
        "scorer: {relevance: 0.4, compatibility: 0.4, specificity: 0.2}\n",
    ],
)
def test_an_old_section_is_replaced(old: str) -> None:
    text = TEXT.replace("slots:", f"{old}\nslots:")
    assert with_calibration(text, SCORE) == TEXT.replace("slots:", f"{LINE}\nslots:")


def test_a_section_at_the_end_of_a_file_is_replaced() -> None:
    text = TEXT + "scorer: {model: old, midpoint: 0, slope: 1}"
    assert with_calibration(text, SCORE) == TEXT + LINE


def test_a_section_that_cannot_be_replaced_is_left_to_the_author() -> None:
    text = TEXT.replace(
        "slots:", '"scorer": {model: old, midpoint: 0, slope: 1}\nslots:'
    )
    with pytest.raises(PolicyError):
        with_calibration(text, SCORE)
