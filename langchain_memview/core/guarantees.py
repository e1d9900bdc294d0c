"""What a transcript can reveal: Theorem 1, Eqs. (3), (9) and B.4.

All amounts are in nats. Theorem 1: for every attribute the augmented transcript is pure
B_a-DP, because on each path the factors of the likelihood ratio multiply to at most
e^{L_a} and the ledger keeps L_a <= B_a. B.4: prior odds change at most e^{B_a}-fold, in
either direction. What holds for stores that differ in several groups is in `cover`.
"""

import math
from collections.abc import Iterable, Set
from fractions import Fraction

from langchain_memview.core.cover import minimum_cover_cost
from langchain_memview.core.exponent import exp_lower

__all__ = [
    "approximate_bound",
    "attack_ceilings",
    "differing_loss",
    "in_100",
    "log_ratio",
    "minimum_cover_cost",
    "posterior_odds_bounds",
    "respects",
    "suspicion_in_words",
]


def respects(likelihood: Fraction, other: Fraction, bound: Fraction) -> bool:
    """Return whether P <= e^bound · P' (Eq. 3 and 9), decided without rounding up.

    Args:
        likelihood: P, probability of a transcript under one store, in [0, 1].
        other: P', its probability under the other store, in [0, 1].
        bound: B_a, L_a or κ in nats, >= 0. e^bound is replaced by a rational lower
            bound that is tight to about 10**-70, so True is a proof.
    """
    return likelihood <= exp_lower(bound) * other


def log_ratio(likelihood: Fraction, other: Fraction) -> float:
    """Return ln(P / P') in nats: 0 for 0/0, and ±infinity when one of them is 0."""
    if likelihood == other:
        return 0.0
    if not likelihood:
        return -math.inf
    if not other:
        return math.inf
    ratio = likelihood / other
    # math.log takes integers of any size; the ratio as a float could overflow.
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def posterior_odds_bounds(prior: float, cap: Fraction | float) -> tuple[float, float]:
    """Return the least and greatest posterior probability after any transcript (B.4).

    Args:
        prior: Probability of the attribute before, in (0, 1).
        cap: B_a, or L_a for a bound after the fact, in nats, >= 0.

    Returns:
        `(low, high)`, both probabilities: odds divided and multiplied by e^cap.

    Raises:
        ValueError: An argument is out of range.
    """
    if not 0 < prior < 1 or not cap >= 0:
        raise ValueError("prior must be in (0, 1) and cap at least 0")
    log_odds = math.log(prior) - math.log1p(-prior)
    return _logistic(log_odds - float(cap)), _logistic(log_odds + float(cap))


def _logistic(log_odds: float) -> float:
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))


def attack_ceilings(
    cap: Fraction | float, false_positive_rate: float = 0.05
) -> tuple[float, float]:
    """Return the greatest AUC and true-positive rate of any attack on pure B-DP.

    AUC <= e^B/(1+e^B); TPR at FPR f <= min(f·e^B, 1 − (1−f)·e^−B). Both follow from
    Eq. (3) applied to the events "score above a threshold" and its complement.

    Args:
        cap: B_a in nats, >= 0.
        false_positive_rate: f, in [0, 1].

    Raises:
        ValueError: An argument is out of range.
    """
    if not cap >= 0 or not 0 <= false_positive_rate <= 1:
        raise ValueError("cap must be at least 0 and the rate in [0, 1]")
    shrink = math.exp(-float(cap))
    upper = 1 - (1 - false_positive_rate) * shrink
    # f·e^B is compared through f <= upper·e^−B, so that a large cap cannot overflow.
    if false_positive_rate < upper * shrink:
        return 1 / (1 + shrink), false_positive_rate / shrink
    return 1 / (1 + shrink), upper


def in_100(probability: float) -> str:
    """Return a probability as `45`, or `more than 99` where rounding would say all."""
    percent = round(100 * probability)
    return "more than 99" if percent > 99 else str(percent)


def suspicion_in_words(prior: float, cap: Fraction | float) -> str:
    """Return what a suspicion can become, such as `10 in 100 stays within 1 to 45 in 100`.

    Args:
        prior: Probability of the attribute before, in (0, 1).
        cap: B_a, or L_a for a bound after the fact, in nats, >= 0.

    Raises:
        ValueError: An argument is out of range.
    """
    low, high = posterior_odds_bounds(prior, cap)
    return f"{in_100(prior)} in 100 stays within {in_100(low)} to {in_100(high)} in 100"


def differing_loss(
    releases: Iterable[tuple[Set[int], Fraction | float]], differing: Set[int]
) -> Fraction | float:
    """Return a bound on the loss of recorded releases for stores that differ anywhere.

    Σ ε over the releases that read a differing position. A mechanism's ε holds for
    every change of what it reads, so releases that touch two groups are counted once;
    that is at most κ, and often much less. Proof: on the recorded path each factor of
    the likelihood ratio is at most e^ε, and 1 where nothing that is read differs.
    Tight for one randomized response that reads a differing position.

    Args:
        releases: Read set and ε in nats of every recorded release; `math.inf` for one
            that was shown as it was, because no attribute had a position that it read.
        differing: D, the positions at which two stores differ.
    """
    losses = [epsilon for read, epsilon in releases if read & differing]
    return math.inf if math.inf in losses else sum(losses, Fraction(0))


def approximate_bound(epsilons: Iterable[Fraction], delta: float) -> float:
    """Return ε' such that planned releases of the exponential mechanism are (ε', δ)-DP.

    An extra line for a report, never a cap: a cap is pure, and the ε must be fixed in
    advance: those of an adaptive path that happened give no bound. The mechanism
    is ε-bounded-range, so it is ε²/8-zCDP (Cesar and Rogers 2021); ρ adds up over an
    adaptive transcript and gives ρ + 2·√(ρ·ln(1/δ)) (Bun and Steinke 2016). The sum of
    all ε holds as well, with δ = 0, so the smaller one is returned; for fewer than
    about 16 releases that is the sum. Randomized response has no such bound.

    Args:
        epsilons: ε in nats of every release that the attribute can be charged for, as
            planned by the policy.
        delta: δ, in (0, 1).

    Raises:
        ValueError: δ is out of range.
    """
    if not 0 < delta < 1:
        raise ValueError("delta must be in (0, 1)")
    charges = [float(epsilon) for epsilon in epsilons]
    rho = sum(epsilon**2 for epsilon in charges) / 8
    return min(sum(charges), rho + 2 * math.sqrt(rho * math.log(1 / delta)))
