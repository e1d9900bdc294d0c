"""Scores of the views of a slot and the bound on their change: Eqs. (5) and (6).

A scorer gives terms between 0 and 1 for every view: a public one, the relevance of the
view to the query, and private ones, computed from the contents of the read set. Its
weights are fixed. `scores` clamps every term and adds them up, so a score is in [0, 1]
(Eq. 5) and adjacent stores move no score by more than the sum of the private weights.
That sum *is* the sensitivity Δu of Eq. (6): it comes out of the clamps, for any scorer
whatever, a chat model included, and nobody types it.

A scorer that raises, or returns NaN, an infinity or the wrong number of values, counts
as having found nothing: the term is 0, which the clamp allows. Nothing is raised or
logged, because whether a scorer fails may depend on memory.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from langchain_memview.core.mechanism import GRID
from langchain_memview.core.policy import Slot
from langchain_memview.errors import WiringError

Terms = Sequence[float]
"""One value between 0 and 1 per view, in the order of the slot's vocabulary."""


@runtime_checkable
class Scorer(Protocol):
    """Scores a slot's views from the query and the contents of its read set."""

    @property
    def relevance_weight(self) -> Fraction:
        """Return the weight of the public term; >= 0."""
        ...

    @property
    def support_weights(self) -> tuple[Fraction, ...]:
        """Return the weight of each private term; >= 0, their sum in (0, 1]."""
        ...

    def relevance(self, query: str, slot: Slot) -> Terms:
        """Return the public term: how well each view fits the query, shape `(k,)`."""
        ...

    def support(self, slot: Slot, contents: Sequence[Any]) -> Sequence[Terms]:
        """Return the private terms, one row per weight, each of shape `(k,)`.

        Args:
            slot: The slot with its vocabulary of k views.
            contents: Contents of the read set in position order: texts, or what a
                `PreparingScorer` prepared from them. Private.
        """
        ...

    def prior(self, query: str, slot: Slot) -> Sequence[Fraction | int] | None:
        """Return a public weight per view for the mechanism, or None for none.

        It must not depend on memory; a weight of 0 excludes a view for every store,
        in slots that are drawn.
        """
        ...


@runtime_checkable
class AdditiveScorer(Scorer, Protocol):
    """A scorer whose private part is the mean of one term per read position.

    Then an attribute pays for the positions that it has in the read set only: see
    `charging.additive_share`. The package calls it with one content at a time and
    takes the mean itself, so the sum is one by construction.
    """

    def position_support(self, slot: Slot, content: str) -> Terms:
        """Return how far one content supports every view, shape `(k,)`.

        Args:
            slot: The slot with its vocabulary of k views.
            content: Content of one read position. Private.
        """
        ...


def sensitivity(scorer: Scorer) -> Fraction:
    """Return Δu: the most by which adjacent stores can move one score (Eq. 6)."""
    return sum(scorer.support_weights, Fraction(0))


def public_prior(scorer: Scorer, query: str, slot: Slot) -> tuple[Fraction, ...] | None:
    """Return the scorer's public weight of each view, checked; None for none.

    It is asked for before anything is read, so whatever is wrong with it is the same
    for every memory and may be said.

    Raises:
        WiringError: The weights are not one number >= 0 per view, or are all 0.
    """
    weights = scorer.prior(query, slot)
    if weights is None:
        return None
    try:
        prior = tuple(Fraction(weight) for weight in weights)
    except (TypeError, ValueError, OverflowError):
        prior = ()
    if len(prior) != len(slot.vocabulary) or min(prior) < 0 or not any(prior):
        raise WiringError(
            f"the scorer's prior for slot {slot.name!r} must be one number >= 0 per "
            f"view, {len(slot.vocabulary)} in all and not all 0; nothing was read."
        )
    return prior


def scores(
    scorer: Scorer, slot: Slot, query: str, contents: Sequence[Any]
) -> tuple[Fraction, ...]:
    """Return u(q, v; M_R) of every view, in [0, 1], on the grid of thousandths (Eq. 5).

    The private part lies in [0, Δu] and is rounded down to the grid, which keeps it
    there; so does the public part. The result is private: it stays in the caller's
    local variables.

    Args:
        scorer: Gives the terms and their weights.
        slot: The slot whose views are scored.
        query: q_t. Public.
        contents: Contents of the slot's read set in position order. Private.
    """
    count = len(slot.vocabulary)
    total = _private(scorer, slot, contents, scorer.support_weights)
    known = scorer.relevance_weight
    if known:
        fit = _levels(lambda: [scorer.relevance(query, slot)], 1, count)
        total = [
            found + public
            for found, public in zip(total, _weighted((known,), fit), strict=True)
        ]
    return tuple(Fraction(level, GRID) for level in total)


def supports(
    scorer: Scorer, slot: Slot, contents: Sequence[Any]
) -> tuple[Fraction, ...]:
    """Return how far the contents support every view, in [0, 1]. Private.

    It is the private part of the score as a share of the most it can be, so 1 means
    that every private term is 1. The query has no part in it.

    Args:
        scorer: Gives the private terms and their weights.
        slot: The slot whose views are scored.
        contents: Contents of the slot's read set in position order. Private.
    """
    most = sensitivity(scorer)
    weights = [weight / most for weight in scorer.support_weights]
    shares = _private(scorer, slot, contents, weights)
    return tuple(Fraction(level, GRID) for level in shares)


def _private(
    scorer: Scorer, slot: Slot, contents: Sequence[Any], weights: Sequence[Fraction]
) -> list[int]:
    """Return the private part of every score, in whole thousandths."""
    count = len(slot.vocabulary)
    if isinstance(scorer, AdditiveScorer):
        rows = [_position_levels(scorer, slot, content) for content in contents]
        parts = len(rows) or 1
        return [
            int(weights[0] * sum(column) / parts)
            for column in zip(*rows or [[0] * count], strict=True)
        ]
    levels = _levels(lambda: scorer.support(slot, contents), len(weights), count)
    return _weighted(weights, levels)


def _position_levels(scorer: AdditiveScorer, slot: Slot, content: str) -> list[int]:
    rows = _levels(
        lambda: [scorer.position_support(slot, content)], 1, len(slot.vocabulary)
    )
    return rows[0]


def _weighted(weights: Sequence[Fraction], rows: Sequence[Sequence[int]]) -> list[int]:
    """Return the weighted sum of the rows, in whole thousandths, rounded down."""
    whole = math.lcm(*(weight.denominator for weight in weights))
    parts = [weight.numerator * (whole // weight.denominator) for weight in weights]
    return [
        sum(part * level for part, level in zip(parts, column, strict=True)) // whole
        for column in zip(*rows, strict=True)
    ]


def _levels(
    compute: Callable[[], Sequence[Terms]], rows: int, count: int
) -> list[list[int]]:
    """Return each term as a whole number of thousandths; zeros where there is none."""
    nothing = [[0] * count] * rows
    try:
        found = [list(row) for row in compute()]
        levels = [[_level(value) for value in row] for row in found]
    except Exception:  # noqa: BLE001 - what a scorer raises may depend on memory
        return nothing
    if len(levels) != rows or any(len(row) != count for row in levels):
        return nothing
    return levels


def _level(value: float) -> int:
    if not math.isfinite(value):
        return 0
    return int(min(1.0, max(0.0, value)) * GRID + 0.5)
