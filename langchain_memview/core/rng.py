"""The only door to randomness; an import contract lets only the mechanism through.

The source is the operating system's, through `secrets`: it has no state in the
process that a fork, a snapshot or a seed could repeat. Tests hand another source to
the function that draws; the public interface has no parameter for one.
"""

import secrets
from collections.abc import Callable

RandomBits = Callable[[int], int]
"""Given a number of bits n, returns an integer uniform on [0, 2**n)."""


def system_bits(count: int) -> int:
    """Return `count` fresh random bits of the operating system as an integer."""
    return secrets.randbits(count)
