"""Private selection of one index among k, with an exact law: Eq. (7), condition C3.

`ExponentialMechanism` is Eq. (7) with an optional public prior:
Pr[v] ∝ prior(v) · exp(ε·score(v) / 2Δ). `RandomizedResponse`, from `core.response`, is
the other kernel. Each is ε-differentially private against every change of its input.

How the real law is made exact. A law is a list of integer shares n_v of 2**bits, and a
draw reads `bits` random bits once and looks up their share. `bits` depends on public
values only, so neither the number of coins nor a rejection loop tells anything about
the scores. What is documented is what is drawn, bit for bit: `probabilities` returns
n_v / 2**bits.

Why the rounded law keeps ε. The exponent uses ε' = ε(1 − 2**-60). Weights are
`Decimal.exp` at 64 digits, which is correctly rounded, so each is off by a
factor within 1 ± 10**-49. Shares are rounded down, and the few left over go to the
first view with a positive prior, a public choice. Every share is at least 2**200, so
for scores that move by at most Δ

    Pr[v | M] / Pr[v | M'] <= e^ε' · ((1+δ)/(1−δ))² · (1 + k·2**-200)/(1 − 2**-200)

with δ = 10**-49 (Appendix B.2, case 3, with the rounding added). The constructor
proves in rational numbers that the right side is at most e^ε and refuses otherwise.

Where it is tight. e^ε is approached where one view's score rises by Δ, all others fall
by Δ and that view had almost no weight before: many views, or a small prior. For
one-hot scores over the whole range the loss is ε/2 only.

References:
    McSherry and Talwar (2007), Mechanism Design via Differential Privacy.
    Ilvento (2020), Implementing the Exponential Mechanism with Base-2 DP.
"""

import math
from collections.abc import Sequence
from decimal import MAX_EMAX, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from typing_extensions import override

from langchain_memview.core.exponent import exp_lower, exp_upper
from langchain_memview.core.response import RandomizedResponse
from langchain_memview.core.rng import RandomBits, system_bits
from langchain_memview.core.shares import MAX_CHOICES, SHARE_BITS, drawn

__all__ = [
    "GRID",
    "ExponentialMechanism",
    "RandomizedResponse",
    "exponential_mechanism",
]

GRID = 1000
"""Scores are compared on a public grid of thousandths (`scoring.on_grid`)."""

_WEIGHT_ERROR = Fraction(1, 10**49)
_SCALE = Decimal(10) ** 50
# Ten digits more than needed: an exponent may have that many before its point.
_DECIMAL = Context(prec=64, Emax=MAX_EMAX)
_HEADROOM = 1 - Fraction(1, 2**60)


class ExponentialMechanism:
    """Eq. (7) with an exact rational law and an optional public prior.

    Args:
        epsilon: Privacy parameter ε of one selection, in nats; > 0.
        sensitivity: Bound Δ of Eq. (6) on the change of any score between adjacent
            stores; in (0, 1].

    Raises:
        ValueError: A parameter is out of range, or the bound e^ε cannot be proved
            for it. Both are policy values; nothing private is in the message.
    """

    def __init__(
        self, epsilon: Fraction | int | str, sensitivity: Fraction | int | str
    ) -> None:
        self.epsilon = Fraction(epsilon)
        self.sensitivity = Fraction(sensitivity)
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive, got {self.epsilon}")
        if not 0 < self.sensitivity <= 1:
            raise ValueError(f"sensitivity must be in (0, 1], got {self.sensitivity}")
        self._rate = self.epsilon * _HEADROOM / (2 * self.sensitivity)
        # log2 of e^rate, rounded up: how many bits the largest weight may add.
        self._range_bits = int(self._rate * Fraction(1_4427, 1_0000)) + 2
        rounding = ((1 + _WEIGHT_ERROR) / (1 - _WEIGHT_ERROR)) ** 2
        small = Fraction(1, 2**SHARE_BITS)
        rounding *= (1 + MAX_CHOICES * small) / (1 - small)
        worst = exp_upper(self.epsilon * _HEADROOM) * rounding
        if worst > exp_lower(self.epsilon):
            raise ValueError(
                f"epsilon={self.epsilon} is too small to prove the bound e^epsilon"
            )

    @override
    def __repr__(self) -> str:
        """Return the public parameters."""
        return f"ExponentialMechanism({self.epsilon}, {self.sensitivity})"

    def probabilities(
        self,
        scores: Sequence[Fraction | float],
        prior: Sequence[Fraction | int] | None = None,
    ) -> list[Fraction]:
        """Return the exact probability of each index, as Fractions that sum to 1.

        The result is private, as the scores are: never log, store or return it to
        the application. Tests and the audit compare it with the closed form.

        Args:
            scores: Score of each view, shape `(k,)`, each in [0, 1]. Private.
            prior: Public weight of each view, shape `(k,)`, >= 0 and not all 0; it
                must not depend on memory. None gives every view the weight 1. A view
                of weight 0 is never drawn, under any store.

        Raises:
            ValueError: Shape or range is wrong. The message names the condition only.
        """
        shares, bits = self._shares(scores, prior)
        return [Fraction(share, 2**bits) for share in shares]

    def draw(
        self,
        scores: Sequence[Fraction | float],
        prior: Sequence[Fraction | int] | None = None,
        random_bits: RandomBits = system_bits,
    ) -> int:
        """Return an index drawn from `probabilities(scores, prior)`.

        Args:
            scores: As in `probabilities`. Private.
            prior: As in `probabilities`. Public.
            random_bits: Source of coins; read once, for a public number of bits.

        Raises:
            ValueError: As in `probabilities`.
        """
        shares, bits = self._shares(scores, prior)
        return drawn(shares, bits, random_bits)

    def _shares(
        self,
        scores: Sequence[Fraction | float],
        prior: Sequence[Fraction | int] | None,
    ) -> tuple[list[int], int]:
        odds = _whole_numbers(len(scores), prior)
        weights = [
            share * self._weight(score)
            for share, score in zip(odds, scores, strict=True)
        ]
        positive = min(share for share in odds if share)
        bits = SHARE_BITS + self._range_bits + (sum(odds) // positive).bit_length() + 1
        total = sum(weights)
        shares = [(weight << bits) // total for weight in weights]
        first = next(index for index, share in enumerate(odds) if share)
        shares[first] += (1 << bits) - sum(shares)
        return shares, bits

    def _weight(self, score: Fraction | float) -> int:
        if not 0 <= score <= 1:  # a NaN is not either
            raise ValueError("a score is outside [0, 1] (Eq. 5)")
        numerator, denominator = score.as_integer_ratio()
        level, rest = divmod(numerator * GRID, denominator)
        if not rest:
            return self._grid_weights[level]
        return self._exp(Fraction(numerator, denominator))

    @cached_property
    def _grid_weights(self) -> tuple[int, ...]:
        # Filled as a whole, so that no later cost depends on which scores occur.
        return tuple(self._exp(Fraction(level, GRID)) for level in range(GRID + 1))

    def _exp(self, score: Fraction) -> int:
        exponent = self._rate * score
        ratio = _DECIMAL.divide(
            Decimal(exponent.numerator), Decimal(exponent.denominator)
        )
        return int(_DECIMAL.multiply(_DECIMAL.exp(ratio), _SCALE))


def _whole_numbers(count: int, prior: Sequence[Fraction | int] | None) -> list[int]:
    """Return the prior as integers in the same proportions; all ones without one."""
    if not 1 <= count <= MAX_CHOICES:
        raise ValueError(f"there must be 1 to {MAX_CHOICES} scores, got {count}")
    if prior is None:
        return [1] * count
    weights = [Fraction(weight) for weight in prior]
    if len(weights) != count:
        raise ValueError(f"{count} scores need {count} prior weights")
    if min(weights) < 0 or not any(weights):
        raise ValueError("prior weights must be >= 0 and not all 0")
    scale = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * scale) for weight in weights]


@lru_cache(maxsize=256)
def exponential_mechanism(
    epsilon: Fraction, sensitivity: Fraction
) -> ExponentialMechanism:
    """Return the mechanism for these public parameters, built once per process."""
    return ExponentialMechanism(epsilon, sensitivity)
