"""Shares and areas under the curve with 95 % intervals, in closed form: no resampling.

A share has Wilson's interval. An area has DeLong's (1988): its variance is that of the
share of negatives that each positive beats, plus that of the share of positives that
beat each negative. The mean of several areas is treated in the same way: negatives that
are common to all of them count as one sample. An interval is cut to [0, 1]; it has no
width where every positive beats every negative.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Z = 1.959964

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval.

    Attributes:
        value: The figure, in [0, 1].
        low: Lower end of the interval.
        high: Upper end.
        count: How many sentences it is the share of, or positives and negatives.
    """

    value: float
    low: float
    high: float
    count: int


def share(values: Scores) -> Estimate:
    """Return the mean of values in [0, 1], shape `(n,)`, with Wilson's interval."""
    n, mean = len(values), float(np.mean(values))
    middle = (mean + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return Estimate(mean, max(0.0, middle - _Z * half), min(1.0, middle + _Z * half), n)


def area(
    positives: Sequence[Scores], negatives: Sequence[Scores], *, common: Sequence[int]
) -> Estimate:
    """Return the mean of the areas under the curve of several attributes.

    Args:
        positives: Scores of the positives of each attribute.
        negatives: Scores of its negatives.
        common: Which sample of negatives each attribute has; equal numbers say that
            the same texts stand in the same order.
    """
    count = len(positives)
    wins = [_wins(p, n) for p, n in zip(positives, negatives, strict=True)]
    mean = float(np.mean([won.mean() for won in wins]))
    variance = sum(_variance(won.mean(axis=1)) for won in wins) / count**2
    for sample in set(common):
        own = [won for won, one in zip(wins, common, strict=True) if one == sample]
        beaten = np.sum([won.mean(axis=0) for won in own], axis=0) / count
        variance += _variance(beaten)
    half = _Z * math.sqrt(variance)
    texts = sum(map(len, positives)) + sum(
        len(negatives[common.index(sample)]) for sample in set(common)
    )
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), texts)


def _wins(positives: Scores, negatives: Scores) -> Scores:
    """Return 1 where a positive beats a negative, 1/2 where they tie, else 0."""
    gaps = positives[:, None] - negatives[None, :]
    wins: Scores = (np.sign(gaps) + 1) / 2
    return wins


def _variance(values: Scores) -> float:
    """Return the variance of the mean of the values."""
    return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0
