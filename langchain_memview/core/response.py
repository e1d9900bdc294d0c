"""Randomized response among k views with an exact law: the kernel of standing releases.

References:
    Warner (1965), Randomized Response.
    Kairouz, Oh and Viswanath (2014), Extremal Mechanisms for Local DP.
    Ye and Barg (2018), Optimal Schemes for Discrete Distribution Estimation under LDP.
"""

from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

from typing_extensions import override

from langchain_memview.core.exponent import exp_lower
from langchain_memview.core.rng import RandomBits, system_bits
from langchain_memview.core.shares import MAX_CHOICES, SHARE_BITS, drawn


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
        self._bits = SHARE_BITS + int(top * odds + choices).bit_length()
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
        return drawn(self._shares(best), self._bits, random_bits)

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


@lru_cache(maxsize=256)
def randomized_response(
    epsilon: Fraction, choices: int, top: int = 1
) -> RandomizedResponse:
    """Return the mechanism for these public parameters, built once per process."""
    return RandomizedResponse(epsilon, choices=choices, top=top)
