"""Private selection of one index among k, with an exact law: Eq. (7), condition C3.

Two kernels, each ε-differentially private against every change of the private input:

`ExponentialMechanism`
    Eq. (7) with an optional public prior: Pr[v] ∝ prior(v) · exp(ε·score(v) / 2Δ).
`RandomizedResponse`
    k-ary randomized response: the given index with probability e^ε/(e^ε+k−1), or each
    of the j given ones with e^ε/(j·e^ε+k−j).

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

References:
    McSherry and Talwar (2007), Mechanism Design via Differential Privacy.
    Ilvento (2020), Implementing the Exponential Mechanism with Base-2 DP.
    Kairouz, Oh and Viswanath (2014), Extremal Mechanisms for Local DP.
    Ye and Barg (2018), Optimal Schemes for Discrete Distribution Estimation under LDP.
"""

import math
from collections.abc import Collection, Sequence
from decimal import MAX_EMAX, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from typing_extensions import override

from langchain_memview.core.exponent import exp_lower, exp_upper
from langchain_memview.core.rng import RandomBits, system_bits

GRID = 1000
"""Scores are compared on a public grid of thousandths (`scoring.on_grid`)."""

MAX_CHOICES = 4096
_SHARE_BITS = 200
_WEIGHT_ERROR = Fraction(1, 10**49)
_SCALE = Decimal(10) ** 50
# Ten digits more than needed: an exponent may have that many before its point.
_DECIMAL = Context(prec=64, Emax=MAX_EMAX)
_HEADROOM = 1 - Fraction(1, 2**60)


def _draw(shares: Sequence[int], bits: int, random_bits: RandomBits) -> int:
    """Return an index with probability share / 2**bits, after one read of `bits` bits."""
    coins = random_bits(bits)
    index, edge = 0, 0
    for share in shares[:-1]:  # every edge is compared: no early exit on the result
        edge += share
        index += coins >= edge
    return index


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
        small = Fraction(1, 2**_SHARE_BITS)
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
        return _draw(shares, bits, random_bits)

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
        bits = _SHARE_BITS + self._range_bits + (sum(odds) // positive).bit_length() + 1
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


class RandomizedResponse:
    """k-ary randomized response, or its top-j form, with an exact rational law.

    Each of the j given indices comes back with probability e^ε/(j·e^ε+k−j), each other
    one with 1/(j·e^ε+k−j), rounded so that their ratio is at most e^ε.

    Why it is ε-differentially private, whatever the change of the input: the
    denominator is the same for every input, so an index has one of two probabilities
    and their ratio is e^ε. The few shares that cannot be divided by j are added to
    index 0 under every input, which only lowers a ratio. The bound is attained by any
    index that is given under one input and not under the other. With j = 1 nothing
    shows the right one of k views more often under ε: for pairwise adjacent stores
    that support one view each, Σ_i P[i|M_i] (1 + (k−1)e^−ε) <= Σ_ij P[i|M_j] = k.

    Args:
        epsilon: Privacy parameter ε of one response, in nats; > 0.
        choices: Number k of indices, at least 2. Keyword only.
        top: j, from 1 to k − 1. Keyword only.

    Raises:
        ValueError: A parameter is out of range. Nothing private is in the message.
    """

    def __init__(
        self, epsilon: Fraction | int | str, *, choices: int, top: int = 1
    ) -> None:
        self.epsilon = Fraction(epsilon)
        self.choices = choices
        self.top = top
        if self.epsilon <= 0:
            raise ValueError(f"epsilon must be positive, got {self.epsilon}")
        if not 2 <= choices <= MAX_CHOICES:
            raise ValueError(f"choices must be 2 to {MAX_CHOICES}, got {choices}")
        if not 1 <= top < choices:
            raise ValueError(f"top must be 1 to {choices - 1}, got {top}")
        odds = exp_lower(self.epsilon)
        self._bits = _SHARE_BITS + int(top * odds + choices).bit_length()
        total = 1 << self._bits
        # The smaller share is rounded up and takes the slack, so the ratio of the
        # two is at most the lower bound of e^ε.
        self._other = -int(-total // (top * odds + choices - top))
        self._same, self._rest = divmod(total - (choices - top) * self._other, top)

    @override
    def __repr__(self) -> str:
        """Return the public parameters."""
        top = f", top={self.top}" if self.top > 1 else ""
        return f"RandomizedResponse({self.epsilon}, choices={self.choices}{top})"

    def probabilities(self, best: int | Collection[int]) -> list[Fraction]:
        """Return the exact probability of each index, as Fractions that sum to 1.

        Args:
            best: The true index, or the `top` true ones, different and each in
                range(choices). Private; so is the result.

        Raises:
            ValueError: `best` is out of range or has another number of indices.
        """
        return [Fraction(share, 1 << self._bits) for share in self._shares(best)]

    def draw(
        self, best: int | Collection[int], random_bits: RandomBits = system_bits
    ) -> int:
        """Return an index drawn from `probabilities(best)`.

        Args:
            best: As in `probabilities`. Private.
            random_bits: Source of coins; read once, for a public number of bits.

        Raises:
            ValueError: As in `probabilities`.
        """
        return _draw(self._shares(best), self._bits, random_bits)

    def _shares(self, best: int | Collection[int]) -> list[int]:
        given = {best} if isinstance(best, int) else set(best)
        if not given <= set(range(self.choices)):
            raise ValueError("an index is outside range(choices)")
        if len(given) != self.top:
            raise ValueError(f"top={self.top} different indices must be given")
        shares = [self._other] * self.choices
        for index in given:
            shares[index] = self._same
        shares[0] += self._rest
        return shares


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


@lru_cache(maxsize=256)
def randomized_response(
    epsilon: Fraction, choices: int, top: int = 1
) -> RandomizedResponse:
    """Return the mechanism for these public parameters, built once per process."""
    return RandomizedResponse(epsilon, choices=choices, top=top)
