"""Seeded draws repeat, differ from one another, and follow the mechanism's law.

The statistical test accepts 2,000 draws within 5 standard deviations, so it fails by
chance with probability below 1e-6; it is seeded, so it does not flicker.
"""

from fractions import Fraction

import pytest

from langchain_memview import InMemoryLedger
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.choice import Choice
from langchain_memview.core.mechanism import ExponentialMechanism
from langchain_memview.demo.policy import meal_policy
from langchain_memview.demo.user import ANA, remember_ana
from langchain_memview.testing.draws import seeded_draw, seeded_memview

MECHANISM = ExponentialMechanism(Fraction(2, 3), 1)
SCORES = [Fraction(0), Fraction(1), Fraction(1, 2)]


def draws(seed, count):
    draw = seeded_draw(seed)
    return [draw(Choice(MECHANISM, (SCORES, None))) for _ in range(count)]


def test_equal_seeds_give_equal_draws_and_others_do_not():
    assert draws(7, 50) == draws(7, 50)
    assert draws(7, 50) != draws(8, 50)
    assert draws(-7, 50) != draws(7, 50)


def test_the_number_of_a_draw_decides_its_coins_whatever_was_drawn_before():
    draw = seeded_draw(7)
    other = ExponentialMechanism(Fraction(2), 1)
    draw(Choice(other, ([Fraction(1), Fraction(0)], None)))
    rest = [draw(Choice(MECHANISM, (SCORES, None))) for _ in range(20)]
    assert rest == draws(7, 21)[1:]


@pytest.mark.statistical
def test_seeded_draws_follow_eq_7():
    count = 2000
    drawn = draws(1, count)
    for index, p in enumerate(MECHANISM.probabilities(SCORES)):
        spread = 5 * (float(p) * (1 - float(p)) * count) ** 0.5
        assert abs(drawn.count(index) - float(p) * count) < spread


def test_a_seeded_memview_repeats_its_views_and_says_that_it_is_not_private():
    def views(seed):
        memview = seeded_memview(
            meal_policy(), InMemoryBackend(), ledger=InMemoryLedger(), seed=seed
        )
        remember_ana(memview)
        assert "not private" in repr(memview)
        return [
            memview.turn(
                "healthy, affordable, after work",
                subject=ANA,
                audience="a",
                operation=str(n),
            ).views
            for n in range(3)
        ]

    assert views(4) == views(4)
    assert any(views(4) != views(seed) for seed in range(4))
