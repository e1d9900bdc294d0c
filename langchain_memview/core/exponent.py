"""Rational bounds of e^x, so that a privacy bound is decided and never rounded.

The exponential series has positive terms, so a partial sum is a lower bound; what is
left out is smaller than a geometric series, which gives the upper bound.
"""

from fractions import Fraction


def exp_lower(exponent: Fraction) -> Fraction:
    """Return a rational lower bound of e^exponent, tight to about 10**-70 relative.

    Args:
        exponent: A number >= 0.
    """
    return _exp_partial_sum(exponent)[0]


def exp_upper(exponent: Fraction) -> Fraction:
    """Return a rational upper bound of e^exponent, tight to about 10**-70 relative.

    Args:
        exponent: A number >= 0.
    """
    total, next_term, count = _exp_partial_sum(exponent)
    # The terms left out fall at least as fast as a geometric series of this ratio.
    return total + next_term / (1 - exponent / (count + 1))


def _exp_partial_sum(exponent: Fraction) -> tuple[Fraction, Fraction, int]:
    """Return the partial sum of the series, the next term and its index."""
    term = total = Fraction(1)
    count = 1
    while True:
        term = term * exponent / count
        if count > 2 * exponent and term * 10**70 < total:
            return total, term, count
        total += term
        count += 1
