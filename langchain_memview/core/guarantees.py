"""What a transcript can reveal: Theorem 1, Corollary 1, Eqs. (3), (8), (9) and B.4.

All amounts are in nats. Theorem 1: for every attribute the augmented transcript is pure
B_a-DP, because on each path the factors of the likelihood ratio multiply to at most
e^{L_a} and the ledger keeps L_a <= B_a. Corollary 1: stores that differ in several
groups are κ apart, the least total cap of attributes whose groups cover the difference.
B.4: prior odds change at most e^{B_a}-fold, in either direction.
"""

import math
from collections.abc import Mapping, Set
from fractions import Fraction

from langchain_memview.core.exponent import exp_lower


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


def minimum_cover_cost(
    attributes: Mapping[str, tuple[Set[int], Fraction]], differing: Set[int]
) -> Fraction | float:
    """Return κ (Eq. 8): the least total cap of groups that cover the differing positions.

    Exact, by branching on the position that fewest attributes cover; the cheapest cover
    found so far bounds the rest.

    Args:
        attributes: Attribute to its group of positions and its cap in nats, >= 0.
        differing: D, the positions at which two stores differ.

    Returns:
        κ in nats: 0 if nothing differs, `math.inf` if no cover exists.
    """
    groups = [(frozenset(group), cap) for group, cap in attributes.values()]
    return _cheapest(groups, frozenset(differing), math.inf)


def _cheapest(
    groups: list[tuple[frozenset[int], Fraction]],
    open_positions: frozenset[int],
    limit: Fraction | float,
) -> Fraction | float:
    if not open_positions:
        return Fraction(0)
    useful = [(g & open_positions, cap) for g, cap in groups if g & open_positions]
    covering = {p: [u for u in useful if p in u[0]] for p in open_positions}
    hardest = min(sorted(covering), key=lambda p: len(covering[p]))
    best: Fraction | float = math.inf
    for group, cap in sorted(covering[hardest], key=lambda u: (u[1], -len(u[0]))):
        if cap >= min(best, limit):
            break
        rest = _cheapest(useful, open_positions - group, min(best, limit) - cap)
        best = min(best, cap + rest)
    return best


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
