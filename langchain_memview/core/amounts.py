"""Exact privacy amounts in nats: read, floored to whole ticks, printed.

An amount is a `Fraction`; stored, it is a whole number of ticks. One nat has
9 009 000 000 ticks, a multiple of lcm(1..16) and of 10**6, so B/K is exact for K up to 16 and for caps with six
decimals. What is no whole number of ticks is rounded down, and the mechanism runs at
exactly the rounded amount, so a sum of charges is exact and never passes its cap.
"""

from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

TICKS_PER_NAT = 9_009_000_000
_EXPONENT_DIGITS = 3

Amount: TypeAlias = Fraction | Decimal | int | float | str
"""What a cap may be written as; a float is read as its decimal text."""


def amount(value: Amount) -> Fraction:
    """Return the amount in nats, rounded down to a whole tick.

    Args:
        value: A number or its text, such as `2`, `2.0`, `"2/3"` or `Decimal("0.5")`.

    Raises:
        ValueError: It is no finite number, or is a boolean.
    """
    return from_ticks(to_ticks(exact(value)))


def exact(value: Amount) -> Fraction:
    """Return a written number as the fraction that its text says: 0.1 is a tenth.

    Raises:
        ValueError: It is no finite number, or is a boolean, or has an exponent beyond
            a thousand.
    """
    text = str(value)
    if isinstance(value, bool):
        raise ValueError("a boolean is no amount")
    # Such a number is no privacy amount, and its fraction would fill the memory.
    if len(text.lower().partition("e")[2].lstrip("+-0")) > _EXPONENT_DIGITS:
        raise ValueError(f"{value!r} is no finite number of a usable size")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is no finite number") from None


def to_ticks(nats: Fraction) -> int:
    """Return the whole ticks in an amount of nats, rounded down."""
    return nats.numerator * TICKS_PER_NAT // nats.denominator


def from_ticks(ticks: int) -> Fraction:
    """Return the nats that a whole number of ticks is."""
    return Fraction(ticks, TICKS_PER_NAT)
