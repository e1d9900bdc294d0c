"""Two preparations are the same where nothing that is known of them differs."""

from dataclasses import replace

import pytest

from langchain_memview.core.preparation import Preparation, same_direction, sound

MADE = Preparation("minilm", 2, "abc", (0.6, 0.8))


@pytest.mark.parametrize(
    "other",
    [
        MADE,
        replace(MADE, digest=""),
        replace(MADE, probe=()),
        replace(MADE, probe=(0.61, 0.79)),
        replace(MADE, probe=(6.0, 8.0)),
    ],
)
def test_what_is_not_known_does_not_differ(other: Preparation) -> None:
    assert MADE.differs(other) == other.differs(MADE) == ""


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(MADE, model="mpnet"), "is not 'mpnet'"),
        (replace(MADE, size=3, probe=(1.0, 0.0, 0.0)), "2 numbers are not 3"),
        (replace(MADE, digest="def"), "has another hash"),
        (replace(MADE, probe=(0.8, -0.6)), "gives other numbers"),
    ],
)
def test_the_first_difference_is_said_in_words(other: Preparation, said: str) -> None:
    assert said in MADE.differs(other)


def test_directions_and_numbers() -> None:
    assert same_direction([], [1.0])
    assert not same_direction([1.0, 0.0], [0.0, 1.0])
    assert sound([0.0, 1.0], 2)
    assert not sound([0.0, 0.0], 2)
    assert not sound([float("nan"), 1.0], 2)
    assert not sound([1.0], 2)
