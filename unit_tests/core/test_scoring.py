"""Eqs. (5) and (6): scores lie in [0, 1] and move by at most the derived Δu."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.mechanism import GRID
from langchain_memview.core.policy import ScoreWeights, Slot
from langchain_memview.core.scoring import scores, sensitivity
from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.weighted import WeightedScorer

SLOT = Slot("food", views={"generic": "Any.", "a": "In way a.", "b": "In way b."})
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
WEIGHTS = st.fractions(min_value="1/20", max_value="1/3", max_denominator=60)


@dataclass(frozen=True)
class Fixed:
    """A scorer that returns what a test wants."""

    public: object
    private: object
    relevance_weight: Fraction = Fraction(2, 5)
    support_weights: tuple[Fraction, ...] = (Fraction(2, 5), Fraction(1, 5))

    def relevance(self, query, slot):
        return _made(self.public)

    def support(self, slot, contents):
        return _made(self.private)

    def prior(self, query, slot):
        return None


def _made(value):
    if isinstance(value, Exception):
        raise value
    return value


ROWS = st.lists(st.lists(ANY_FLOAT, min_size=3, max_size=3), min_size=2, max_size=2)


@given(
    st.lists(ANY_FLOAT, min_size=3, max_size=3), ROWS, ROWS, WEIGHTS, WEIGHTS, WEIGHTS
)
def test_eq_5_and_6_hold_for_any_numbers_a_scorer_returns(
    public, rows, other_rows, r, c, s
):
    mine = scores(Fixed(public, rows, r, (c, s)), SLOT, "q", ())
    yours = scores(Fixed(public, other_rows, r, (c, s)), SLOT, "q", ())
    bound = sensitivity(Fixed(public, rows, r, (c, s)))
    assert bound == c + s
    for u, w in zip(mine, yours, strict=True):
        assert 0 <= u <= 1
        assert (u * GRID).denominator == 1
        assert abs(u - w) <= bound


@pytest.mark.parametrize(
    "private",
    [
        RuntimeError("Ana owes 4000"),
        [[math.nan] * 3, [1.0] * 3],
        [[math.inf] * 3, [-math.inf] * 3],
        [[-1.0] * 3, [-2.0] * 3],
        [[1.0] * 2, [1.0] * 3],
        [[1.0] * 3],
        [],
        None,
        "no numbers",
    ],
)
def test_a_scorer_that_fails_counts_as_having_found_nothing(private):
    public = [1.0, 0.5, 0.0]
    found = scores(Fixed(public, private), SLOT, "q", ("Ana owes 4000",))
    if isinstance(private, list) and private and math.isnan(private[0][0]):
        # Only the NaN term is 0; the other one stands.
        assert found == (Fraction(3, 5), Fraction(2, 5), Fraction(1, 5))
    else:
        assert found == (Fraction(2, 5), Fraction(1, 5), Fraction(0))


def test_a_value_of_two_counts_as_one():
    found = scores(Fixed([2.0] * 3, [[2.0] * 3, [2.0] * 3]), SLOT, "q", ())
    assert found == (Fraction(1),) * 3


def test_a_failing_public_term_is_zero_as_well():
    found = scores(Fixed(ValueError("x"), [[1.0] * 3, [0.0] * 3]), SLOT, "q", ())
    assert found == (Fraction(2, 5),) * 3


def test_the_papers_sensitivity_comes_out_of_the_clamps():
    assert sensitivity(WeightedScorer()) == Fraction(3, 5)
    assert sensitivity(CueScorer()) == 1
    half = WeightedScorer(ScoreWeights("0.5", "0.25", "0.25"))
    assert sensitivity(half) == Fraction(1, 2)
