"""A law as whole shares of a power of two, and how an index is looked up in it."""

from collections.abc import Sequence

from langchain_memview.core.rng import RandomBits

MAX_CHOICES = 4096
"""Most views of one selection."""

SHARE_BITS = 200
"""Every share of a law is at least 2**200, so rounding it changes next to nothing."""


def drawn(shares: Sequence[int], bits: int, random_bits: RandomBits) -> int:
    """Return an index with probability share / 2**bits, after one read of `bits` bits.

    Args:
        shares: Share of every index; they sum to 2**bits. Private.
        bits: Number of coins; public.
        random_bits: Source of coins.
    """
    coins = random_bits(bits)
    index, edge = 0, 0
    for share in shares[:-1]:  # every edge is compared: no early exit on the result
        edge += share
        index += coins >= edge
    return index
