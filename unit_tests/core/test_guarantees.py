"""Theorem 1, Corollary 1, Eqs. (3), (8), (9) and B.4 as functions."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.guarantees import (
    approximate_bound,
    attack_ceilings,
    differing_loss,
    log_ratio,
    minimum_cover_cost,
    posterior_odds_bounds,
    respects,
    suspicion_in_words,
)


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.tuples(
            st.frozensets(st.integers(1, 6)),
            st.fractions(min_value=0, max_value=5, max_denominator=4),
        ),
    ),
    st.frozensets(st.integers(1, 6)),
)
def test_eq_8_the_minimum_cover_cost_equals_the_best_of_all_covers(
    attributes, differing
):
    best: Fraction | float = math.inf
    for size in range(len(attributes) + 1):
        for chosen in itertools.combinations(attributes.values(), size):
            if differing <= frozenset().union(*(group for group, _ in chosen)):
                best = min(best, sum((cap for _, cap in chosen), Fraction(0)))
    assert minimum_cover_cost(attributes, differing) == best


def test_a_greedy_cover_would_be_too_dear():
    attributes = {
        "wide": ({1, 2, 3, 4}, Fraction(5)),
        "left": ({1, 2, 5}, Fraction(3)),
        "right": ({3, 4, 6}, Fraction(3)),
    }
    assert minimum_cover_cost(attributes, differing={1, 2, 3, 4, 5, 6}) == 6
    assert minimum_cover_cost(attributes, differing=set()) == 0
    assert minimum_cover_cost(attributes, differing={9}) == math.inf


def test_eq_3_is_decided_at_the_bound_itself():
    assert respects(Fraction(1, 2), Fraction(1, 2), Fraction(0))
    assert not respects(
        Fraction(1, 2), Fraction(1, 2) - Fraction(1, 10**30), Fraction(0)
    )
    assert not respects(Fraction(1, 10**9), Fraction(0), Fraction(8))


@pytest.mark.parametrize(
    ("p", "q", "expected"), [(0, 0, 0.0), (1, 0, math.inf), (0, 1, -math.inf)]
)
def test_log_ratios_of_impossible_transcripts(p, q, expected):
    assert log_ratio(Fraction(p), Fraction(q)) == expected


def test_log_ratios_of_numbers_that_no_float_holds():
    assert log_ratio(Fraction(1), Fraction(1, 10**5000)) == pytest.approx(
        5000 * math.log(10)
    )


def test_b_4_a_suspicion_of_ten_in_a_hundred_stays_within_one_and_forty_five():
    low, high = posterior_odds_bounds(prior=0.1, cap=2)
    assert (low, high) == pytest.approx((0.0148, 0.4509), abs=1e-4)
    assert posterior_odds_bounds(0.5, Fraction(0)) == (0.5, 0.5)
    assert posterior_odds_bounds(0.5, 1e9) == (0.0, 1.0)


@pytest.mark.parametrize(("prior", "cap"), [(0, 1), (1, 1), (0.5, -1), (0.5, math.nan)])
def test_posterior_bounds_refuse_what_is_no_prior_or_cap(prior, cap):
    with pytest.raises(ValueError, match="prior must be in"):
        posterior_odds_bounds(prior, cap)


@pytest.mark.parametrize(
    ("cap", "auc", "tpr"),
    [(1, 0.731, 0.136), (2, 0.881, 0.369), (4, 0.982, 0.983), (800, 1.0, 1.0)],
)
def test_attack_ceilings_of_pure_dp(cap, auc, tpr):
    assert attack_ceilings(cap) == pytest.approx((auc, tpr), abs=6e-4)


def test_attack_ceilings_refuse_what_is_out_of_range():
    with pytest.raises(ValueError, match="cap must be at least 0"):
        attack_ceilings(-1)
    with pytest.raises(ValueError, match="rate in"):
        attack_ceilings(1, 2)


def test_eq_8_sixty_four_overlapping_groups_are_covered_exactly():
    # Pairs, and one group per ten pairs that costs as much as nine of them.
    pairs = {f"p{i}": ({2 * i, 2 * i + 1}, Fraction(1)) for i in range(60)}
    tens = {f"t{i}": (set(range(20 * i, 20 * i + 20)), Fraction(9)) for i in range(4)}
    assert minimum_cover_cost(pairs | tens, set(range(120))) == 2 * 10 + 4 * 9
    assert minimum_cover_cost(pairs | tens, set(range(18))) == 9
    assert minimum_cover_cost(pairs | tens, {0, 20, 40}) == 3


@pytest.mark.parametrize(
    ("prior", "cap", "words"),
    [
        (0.1, 2, "10 in 100 stays within 1 to 45 in 100"),
        (0.5, 0, "50 in 100 stays within 50 to 50 in 100"),
        (0.9, Fraction(5), "90 in 100 stays within 6 to more than 99 in 100"),
    ],
)
def test_b_4_a_suspicion_is_said_in_words(prior, cap, words):
    assert suspicion_in_words(prior, cap) == words


def test_releases_that_read_no_differing_position_cost_nothing():
    releases = [({1, 2}, Fraction(1)), ({2, 3}, Fraction(2)), ({4}, Fraction(4))]
    assert differing_loss(releases, {2}) == 3
    assert differing_loss(releases, {1, 3}) == 3
    assert differing_loss(releases, {9}) == differing_loss([], {1}) == 0


@given(
    st.lists(st.tuples(st.frozensets(st.integers(1, 4)), st.integers(1, 3))),
    st.dictionaries(st.sampled_from("ab"), st.frozensets(st.integers(1, 4))),
    st.frozensets(st.integers(1, 4)),
)
def test_the_loss_of_differing_releases_never_passes_kappa(releases, groups, differing):
    # With caps that are just what was charged to each attribute.
    charged = {
        name: (group, Fraction(sum(e for read, e in releases if read & group)))
        for name, group in groups.items()
    }
    loss = differing_loss([(r, Fraction(e)) for r, e in releases], differing)
    assert loss <= minimum_cover_cost(charged, differing)


def test_the_approximate_line_only_helps_for_many_small_releases():
    # Figures of a zCDP conversion that was computed elsewhere, at δ = 1e-6.
    assert approximate_bound([Fraction(2, 3)] * 3, 1e-6) == pytest.approx(2)
    assert approximate_bound([Fraction(1, 8)] * 16, 1e-6) == pytest.approx(
        1.35, abs=5e-3
    )
    assert approximate_bound([Fraction(1, 500)] * 1000, 1e-6) == pytest.approx(
        0.17, abs=5e-3
    )
    assert approximate_bound([], 0.5) == 0
    for delta in (0, 1, -1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            approximate_bound([Fraction(1)], delta)
