"""Numbers, names and lists of a policy document: read without trust, shown safely.

A document may hold any number a YAML file can spell, so `1e999999999` is refused before
anything computes it, and text is shown without control characters.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

from langchain_memview.errors import Problem

# An exponent of three digits has the size of every float; more only costs time.
_NUMBER = re.compile(
    r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?"
    r"|[+-]?\d{1,40}/0*[1-9]\d{0,39}"
)
_MOST_BITS = 4096
_LONGEST_SHOWN = 60
_LONGEST_NAME = 100


def number(value: object) -> Fraction | None:
    """Return the exact number, a float read as its decimal text; None if it is none.

    Args:
        value: A number, or its text such as `"2/3"`; booleans, NaN, infinity and
            numbers of more than 4096 bits are no numbers here.
    """
    exact: Fraction | None = None
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        exact = Fraction(value)
    elif isinstance(value, float | Decimal | str) and _NUMBER.fullmatch(str(value)):
        exact = Fraction(str(value))
    if exact is None or max(_bits(exact)) > _MOST_BITS:
        return None
    return exact


def _bits(value: Fraction) -> tuple[int, int]:
    return value.numerator.bit_length(), value.denominator.bit_length()


def whole(value: object, *, least: int = 1) -> TypeGuard[int]:
    """Return whether the value is a whole number of at least `least`, no boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def shown(value: object) -> str:
    """Return the value as text for a message: short, quoted, on one line.

    Args:
        value: Anything that a policy document may hold.
    """
    if value is None:
        return "nothing"
    try:
        # A number as text, 0.5 and not Fraction(1, 2), but text in quotes.
        is_number = isinstance(value, Fraction | Decimal)
        text = str(value) if is_number else repr(value)
    except ValueError:  # Python refuses to spell whole numbers of over 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def listed(names: Iterable[str]) -> str:
    """Return names in alphabetical order with commas, without control characters."""
    return ", ".join(bare(name) for name in sorted(names)) or "nothing"


def bare(name: object) -> str:
    """Return a name without quotes, for lists and commands; else as `shown`."""
    text = shown(name)
    return text[1:].removesuffix(text[0]) if text[0] in "'\"" else text


def short(value: Fraction) -> str:
    """Return a number as a person would write it: `2`, `0.67`, `0.3`."""
    return f"{float(value):.4g}"


def mistake(code: str, path: tuple[Any, ...], text: str, fix: str = "") -> Problem:
    """Return an error at the value that the path leads to."""
    return Problem(code, "error", path, text, fix)


def name_problems(path: tuple[Any, ...], name: object) -> list[Problem]:
    """Return the problem of a name that could not be stored or printed, if it has one.

    Args:
        path: Where the name stands; a key of the document unless it has one part.
        name: What was typed.
    """
    if (
        isinstance(name, str)
        and name.isprintable()
        and name == name.strip()
        and 0 < len(name) <= _LONGEST_NAME
    ):
        return []
    text = (
        f"{shown(name)} is no name: a name is 1 to {_LONGEST_NAME} printable "
        "characters without blanks around it"
    )
    return [Problem("MV110", "error", path, text, at_key=len(path) > 1)]
