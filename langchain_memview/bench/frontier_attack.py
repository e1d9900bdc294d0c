"""The best attack there is on an augmented transcript, computed and not simulated.

All draws are independent given the store, and their order says nothing, so the
log-likelihood ratio of a transcript is a sum of independent terms. Each law gives an
index with one of the ratios e^L, 1, e^−L; the sum is L times a difference of counts,
whose distribution is an n-fold convolution. An observer who thresholds it is optimal
(Neyman and Pearson), so no attack has a larger AUC or true-positive rate.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from langchain_memview.bench.frontier_runs import Law
from langchain_memview.core.guarantees import log_ratio, respects

_Chances = NDArray[np.float64]
FALSE_POSITIVES = 0.05


class Attack:
    """The Bayes-optimal observer of some draws.

    Args:
        draws: Pair of laws, under M and under M', to how many draws had it. All of them
            have the same three ratios.

    Raises:
        ValueError: The ratios are not e^L, 1 and e^−L for one L.
    """

    def __init__(self, draws: Mapping[tuple[Law, Law], int]) -> None:
        mine = yours = np.ones(1)
        self._step = 0.0
        self.worst = Fraction(1)
        for (law, other), count in draws.items():
            step, chances, others = _one(law, other)
            if self._step and not math.isclose(step, self._step, rel_tol=1e-9):
                raise ValueError("the draws have different ratios")
            self._step = step or self._step
            mine = np.convolve(mine, _power(chances, count))
            yours = np.convolve(yours, _power(others, count))
            ratios = (p / q for p, q in zip(law, other, strict=True) if q)
            self.worst *= max(ratios) ** count
        self._mine, self._yours = mine, yours

    @property
    def log_ratio(self) -> float:
        """Return the largest log-likelihood ratio of any transcript, in nats."""
        return log_ratio(self.worst, Fraction(1))

    def within(self, cap: Fraction) -> bool:
        """Return whether that is at most the cap, decided in rational numbers."""
        return respects(self.worst, Fraction(1), cap)

    @property
    def auc(self) -> float:
        """Return the area under the curve of the optimal observer."""
        below = np.concatenate([[0.0], np.cumsum(self._yours)[:-1]])
        return float(np.sum(self._mine * (below + self._yours / 2)))

    def true_positives(self, false_positives: float = FALSE_POSITIVES) -> float:
        """Return the largest share of M that is recognised at a rate of false alarms.

        Args:
            false_positives: Share of M' that is taken for M; in [0, 1].
        """
        alarms = np.concatenate([[0.0], np.cumsum(self._yours[::-1])])
        hits = np.concatenate([[0.0], np.cumsum(self._mine[::-1])])
        # Between two thresholds an observer may toss a coin.
        return float(np.interp(false_positives, alarms, hits))


def _one(law: Law, other: Law) -> tuple[float, _Chances, _Chances]:
    """Return L and the chances of the ratios e^−L, 1, e^L under either store."""
    found = np.zeros((2, 3))
    step = 0.0
    for p, q in zip(law, other, strict=True):
        ratio = log_ratio(p, q) if p or q else 0.0
        if abs(ratio) > 1e-12:
            if step and not math.isclose(abs(ratio), step, rel_tol=1e-9):
                raise ValueError("a law has more than three ratios")
            step = abs(ratio)
        sign = (ratio > 1e-12) - (ratio < -1e-12)
        found[:, sign + 1] += float(p), float(q)
    return step, found[0], found[1]


def _power(chances: _Chances, count: int) -> _Chances:
    """Return the distribution of the sum of `count` independent steps −1, 0, 1."""
    result, square = np.ones(1), chances
    while count:
        if count & 1:
            result = np.convolve(result, square)
        square = np.convolve(square, square)
        count >>= 1
    return result
