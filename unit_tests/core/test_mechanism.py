"""C3, Eq. (7): the law is exact, the loss is at most ε, and draws follow the law.

The statistical tests compare 20,000 draws with the exact law by Hoeffding's bound at a
deviation of 0.0235, so each of the (at most ten) frequencies raises a false alarm with
probability below 2·exp(−2·20000·0.0235²) < 6e-10. Their twin must fail at 2ε.
"""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_memview.core.exponent import exp_lower, exp_upper
from langchain_memview.core.mechanism import (
    GRID,
    MAX_CHOICES,
    ExponentialMechanism,
    RandomizedResponse,
    exponential_mechanism,
)
from langchain_memview.testing.strategies import epsilons, sensitivities

LEVELS = st.integers(0, GRID).map(lambda level: Fraction(level, GRID))


@st.composite
def score_pairs(draw, sensitivity):
    """Two score vectors in [0, 1] that differ by at most Δ in every entry."""
    count = draw(st.integers(1, 32))
    reach = int(sensitivity * GRID)
    scores, other = [], []
    for _ in range(count):
        level = draw(st.integers(0, GRID))
        low, high = max(0, level - reach), min(GRID, level + reach)
        scores.append(Fraction(level, GRID))
        other.append(Fraction(draw(st.integers(low, high)), GRID))
    return scores, other


def closed_form(epsilon, sensitivity, scores, prior=None):
    weights = prior or [1] * len(scores)
    top = max(scores)
    shares = [
        float(w) * math.exp(float(epsilon * (u - top) / (2 * sensitivity)))
        for w, u in zip(weights, scores, strict=True)
    ]
    return [share / sum(shares) for share in shares]


@given(st.data(), epsilons(), sensitivities())
def test_eq_7_probabilities_equal_the_closed_form_to_a_billionth(
    data, epsilon, sensitivity
):
    scores = data.draw(st.lists(LEVELS, min_size=1, max_size=32))
    prior = data.draw(
        st.none()
        | st.lists(st.integers(1, 9), min_size=len(scores), max_size=len(scores))
    )
    law = ExponentialMechanism(epsilon, sensitivity).probabilities(scores, prior)
    assert sum(law) == 1
    for exact, expected in zip(
        law, closed_form(epsilon, sensitivity, scores, prior), strict=True
    ):
        assert float(exact) == pytest.approx(expected, abs=1e-9, rel=1e-9)


@given(st.data(), epsilons(), sensitivities())
def test_c3_the_realised_loss_is_at_most_epsilon_decided_in_rationals(
    data, epsilon, sensitivity
):
    scores, other = data.draw(score_pairs(sensitivity))
    prior = data.draw(
        st.none()
        | st.lists(
            st.integers(0, 5), min_size=len(scores), max_size=len(scores)
        ).filter(any)
    )
    mechanism = ExponentialMechanism(epsilon, sensitivity)
    bound = exp_lower(epsilon)
    law = mechanism.probabilities(scores, prior)
    law_other = mechanism.probabilities(other, prior)
    for p, q in zip(law, law_other, strict=True):
        assert p <= bound * q
        assert q <= bound * p


def test_c3_the_loss_is_checked_on_every_pair_of_a_small_grid():
    epsilon, sensitivity = Fraction(2), Fraction(1)
    mechanism = ExponentialMechanism(epsilon, sensitivity)
    levels = [Fraction(i, 3) for i in range(4)]
    laws = [
        mechanism.probabilities([a, b, c])
        for a in levels
        for b in levels
        for c in levels
    ]
    bound = exp_lower(epsilon)
    worst = max(
        p / q for law in laws for one in laws for p, q in zip(law, one, strict=True)
    )
    assert worst <= bound
    # The cube-tight value of k=3, T=ε/2: ln[e^T(1+(k−1)e^T)/(e^T+k−1)].
    e = math.exp(1)
    assert math.log(worst) == pytest.approx(
        math.log(e * (1 + 2 * e) / (e + 2)), abs=1e-9
    )


def test_an_extreme_ratio_keeps_every_view_possible():
    mechanism = ExponentialMechanism(8, Fraction(1, 1000))
    law = mechanism.probabilities([Fraction(1), Fraction(0), Fraction(1, 2)])
    assert all(law)
    assert sum(law) == 1


@given(st.lists(LEVELS, min_size=2, max_size=6))
def test_scores_off_the_grid_are_weighed_exactly_too(scores):
    law = ExponentialMechanism(1, 1).probabilities([u * Fraction(2, 3) for u in scores])
    expected = closed_form(1, 1, [u * Fraction(2, 3) for u in scores])
    assert [float(p) for p in law] == pytest.approx(expected, abs=1e-12)


def test_a_view_of_prior_zero_is_impossible_under_every_store():
    mechanism = ExponentialMechanism(2, 1)
    law = mechanism.probabilities([1, 0, 0], prior=[0, 1, 2])
    assert law[0] == 0
    assert sum(law) == 1


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "words"),
    [
        (0, 1, "epsilon must be positive"),
        (-1, 1, "epsilon must be positive"),
        (1, 0, "sensitivity must be in"),
        (1, 2, "sensitivity must be in"),
        (Fraction(1, 10**40), 1, "too small to prove"),
    ],
)
def test_parameters_out_of_range_are_refused(epsilon, sensitivity, words):
    with pytest.raises(ValueError, match=words):
        ExponentialMechanism(epsilon, sensitivity)


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf])
def test_a_score_outside_the_unit_interval_is_refused_without_naming_it(score):
    with pytest.raises(ValueError, match=r"outside \[0, 1\] \(Eq. 5\)") as caught:
        ExponentialMechanism(1, 1).probabilities([0.5, score])
    assert str(score) not in str(caught.value)


@pytest.mark.parametrize(
    ("count", "prior", "words"),
    [
        (0, None, "there must be 1 to"),
        (MAX_CHOICES + 1, None, "there must be 1 to"),
        (2, [1], "need 2 prior weights"),
        (2, [0, 0], "not all 0"),
        (2, [-1, 2], ">= 0"),
    ],
)
def test_scores_and_prior_of_a_wrong_shape_are_refused(count, prior, words):
    with pytest.raises(ValueError, match=words):
        ExponentialMechanism(1, 1).draw([0] * count, prior)


@given(epsilons(), st.integers(2, 40), st.data())
def test_randomized_response_has_its_law_and_its_ratio_is_at_most_e_to_epsilon(
    epsilon, choices, data
):
    best = data.draw(st.integers(0, choices - 1))
    law = RandomizedResponse(epsilon, choices=choices).probabilities(best)
    odds = math.exp(float(epsilon))
    assert sum(law) == 1
    assert float(law[best]) == pytest.approx(odds / (odds + choices - 1), abs=1e-12)
    others = {p for i, p in enumerate(law) if i != best}
    assert len(others) == 1
    assert law[best] <= exp_lower(epsilon) * others.pop()


def test_randomized_response_attains_the_optimum_of_two_nats_and_five_views():
    law = RandomizedResponse(2, choices=5).probabilities(3)
    assert float(law[3]) == pytest.approx(0.6488, abs=1e-4)


def test_randomized_response_refuses_parameters_out_of_range():
    with pytest.raises(ValueError, match="epsilon must be positive"):
        RandomizedResponse(0, choices=2)
    with pytest.raises(ValueError, match="choices must be 2 to"):
        RandomizedResponse(1, choices=1)
    with pytest.raises(ValueError, match=r"outside range\(choices\)"):
        RandomizedResponse(1, choices=2).draw(2)


class Coins:
    """A source of coins that yields every value of a coarse grid once."""

    def __init__(self, numerator: int, denominator: int) -> None:
        self.at = Fraction(numerator, denominator)
        self.asked: list[int] = []

    def __call__(self, bits: int) -> int:
        self.asked.append(bits)
        return int(self.at * 2**bits)


@pytest.mark.parametrize(
    "mechanism", [ExponentialMechanism(2, 1), RandomizedResponse(2, choices=3)]
)
def test_a_draw_looks_its_coins_up_in_the_law(mechanism):
    private = [Fraction(1), Fraction(0), Fraction(1, 2)]
    argument = private if isinstance(mechanism, ExponentialMechanism) else 1
    law = mechanism.probabilities(argument)
    edges = [sum(law[: i + 1]) for i in range(len(law))]
    for step in range(200):
        coins = Coins(step, 200)
        index = mechanism.draw(argument, random_bits=coins)
        assert index == next(i for i, edge in enumerate(edges) if coins.at < edge)
        assert len(coins.asked) == 1


@pytest.mark.parametrize(
    ("mechanism", "private"),
    [
        (ExponentialMechanism(2, 1), [Fraction(1), Fraction(0), Fraction(1, 2)]),
        (RandomizedResponse(2, choices=3), 1),
    ],
)
def test_each_index_is_drawn_for_exactly_its_number_of_coins(mechanism, private):
    edge = Fraction(0)
    for index, share in enumerate(mechanism.probabilities(private)):
        first = mechanism.draw(private, random_bits=lambda b, at=edge: int(at * 2**b))
        edge += share
        last = mechanism.draw(
            private, random_bits=lambda b, at=edge: int(at * 2**b) - 1
        )
        assert first == last == index


@given(
    st.lists(LEVELS, min_size=3, max_size=3), st.lists(LEVELS, min_size=3, max_size=3)
)
@example([Fraction(0)] * 3, [Fraction(1), Fraction(0), Fraction(0)])
def test_the_number_of_coins_is_the_same_for_all_scores(scores, other):
    mechanism, coins = ExponentialMechanism(2, 1), Coins(1, 3)
    mechanism.draw(scores, random_bits=coins)
    mechanism.draw(other, random_bits=coins)
    assert len(set(coins.asked)) == 1


def frequencies(epsilon, draws=20_000):
    mechanism = ExponentialMechanism(epsilon, 1)
    counts = [0, 0, 0, 0]
    for _ in range(draws):
        counts[mechanism.draw([1, 0, 0, Fraction(1, 2)])] += 1
    return [count / draws for count in counts]


def deviation(found, epsilon):
    law = ExponentialMechanism(epsilon, 1).probabilities([1, 0, 0, Fraction(1, 2)])
    return max(abs(f - float(p)) for f, p in zip(found, law, strict=True))


@pytest.mark.statistical
def test_draws_with_the_system_s_coins_follow_eq_7():
    assert deviation(frequencies(Fraction(2)), Fraction(2)) < 0.0235


@pytest.mark.statistical
def test_the_check_above_notices_a_factor_of_two_in_epsilon():
    assert deviation(frequencies(Fraction(4)), Fraction(2)) > 0.0235


@given(st.fractions(min_value=0, max_value=50, max_denominator=10_000))
def test_exponential_bounds_enclose_the_exponential_tightly(exponent):
    low, high = exp_lower(exponent), exp_upper(exponent)
    assert low <= high <= low * (1 + Fraction(1, 10**60))
    assert float(low) == pytest.approx(math.exp(float(exponent)), rel=1e-12)


def test_mechanisms_are_built_once_and_show_public_parameters_only():
    built = exponential_mechanism(Fraction(2, 3), Fraction(1))
    assert built is exponential_mechanism(Fraction(2, 3), Fraction(1))
    assert repr(built) == "ExponentialMechanism(2/3, 1)"
    assert repr(RandomizedResponse(1, choices=2)) == "RandomizedResponse(1, choices=2)"
