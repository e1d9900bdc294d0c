"""Seeded draws, for demonstrations and tests only. A KNOWN SEED MEANS NO PRIVACY.

Whoever knows the seed can tell from a released view what it was drawn from, so the
guarantee does not hold for a single turn. That is why the library's own interface has
no seed: an application that serves a person must use `MemView` itself, whose coins
come from the operating system.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from typing_extensions import override

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.choice import Choice, Draw
from langchain_memview.core.policy import Policy
from langchain_memview.core.scoring import Scorer
from langchain_memview.memview import MemView


def seeded_memview(
    policy: Policy, backend: Backend, *, ledger: LedgerStore, seed: int
) -> MemView:
    """Return a `MemView` whose coins can be repeated, and which is NOT PRIVATE.

    Everything else is the real thing: routing, scores, charges, caps, ledger. The
    first draw of the returned object is draw 0, whatever the ledger holds already.

    Args:
        policy: As in `MemView`.
        backend: As in `MemView`.
        ledger: As in `MemView`.
        seed: Any whole number; equal seeds give equal coins for equal calls.
    """
    return memview_with(seeded_draw(seed), policy, backend, ledger=ledger)


def memview_with(
    draw: Draw,
    policy: Policy,
    backend: Backend,
    *,
    ledger: LedgerStore,
    scorer: Scorer | None = None,
) -> MemView:
    """Return a `MemView` that draws as the function says, and which is NOT PRIVATE.

    With a draw that ignores the scores, everything that still differs between two
    memories has leaked by another way.

    Args:
        draw: Given a choice, returns the index of a view.
        policy: As in `MemView`.
        backend: As in `MemView`.
        ledger: As in `MemView`.
        scorer: As in `MemView`.
    """
    return _DrawnMemView(policy, backend, ledger=ledger, draw=draw, scorer=scorer)


def seeded_draw(seed: int) -> Draw:
    """Return a function that draws with the coins of this seed, draw 0 first."""
    numbers = count()

    def draw(choice: Choice) -> int:
        return choice.draw(_coins(seed, next(numbers)))

    return draw


def _coins(seed: int, number: int) -> Callable[[int], int]:
    """Return a source of coins: SHA-256 over seed, draw number and block number."""

    def bits(length: int) -> int:
        blocks = range(-(-length // 256))
        stream = b"".join(
            hashlib.sha256(f"memview:{seed}:{number}:{block}".encode()).digest()
            for block in blocks
        )
        return int.from_bytes(stream) >> (256 * len(blocks) - length)

    return bits


class _DrawnMemView(MemView):
    def __init__(
        self,
        policy: Policy,
        backend: Backend,
        *,
        ledger: LedgerStore,
        draw: Draw,
        scorer: Scorer | None = None,
    ) -> None:
        super().__init__(policy, backend, ledger=ledger, scorer=scorer)
        self.interface = replace(self.interface, draw=draw)

    @override
    def __repr__(self) -> str:
        """Return the name of the policy and the warning."""
        return f"MemView({self.policy.name!r}, injected draws: not private)"
