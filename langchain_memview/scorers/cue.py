"""The default scorer: which views do the words of the memories speak for?

The private term of a view is the number of read positions that contain one of its cues,
divided by the largest such number in the slot; the generic view has the term 1 when no
position contains any cue, and 0 otherwise. One private weight of 1, so Δu = 1 comes out
of the clamp. A cue is the beginning of a word. Cues see neither negation nor whose or
when: "my brother owes" speaks for `owes` as "I owe" would not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from typing_extensions import override

from langchain_memview.core.policy import Slot
from langchain_memview.core.scoring import Scorer, Terms
from langchain_memview.core.views import View
from langchain_memview.words import cue_pattern


@dataclass(frozen=True)
class CueScorer(Scorer):
    """Scores a view by how many read positions contain one of its cues."""

    @property
    @override
    def relevance_weight(self) -> Fraction:
        return Fraction(0)

    @property
    @override
    def support_weights(self) -> tuple[Fraction, ...]:
        return (Fraction(1),)

    @override
    def relevance(self, query: str, slot: Slot) -> Terms:
        return [0.0] * len(slot.vocabulary)

    @override
    def support(self, slot: Slot, contents: Sequence[str]) -> Sequence[Terms]:
        return [support_by_cues(tuple(slot.vocabulary.values()), contents)]

    @override
    def prior(self, query: str, slot: Slot) -> None:
        return None


def support_by_cues(views: tuple[View, ...], contents: Sequence[str]) -> list[float]:
    """Return the share of cue hits of each view, the generic view (first) by absence.

    Args:
        views: The vocabulary, generic view first.
        contents: Contents of the read set. Private, and so is the result.
    """
    patterns = _patterns(views)
    folded = [text.casefold() for text in contents]
    hits = [
        sum(pattern.search(text) is not None for text in folded) if pattern else 0
        for pattern in patterns
    ]
    most = max(hits[1:], default=0)
    if not most:
        return [1.0] + [0.0] * (len(views) - 1)
    return [0.0] + [count / most for count in hits[1:]]


@lru_cache(maxsize=1024)
def _patterns(views: tuple[View, ...]) -> tuple[re.Pattern[str] | None, ...]:
    return tuple(cue_pattern(view.cues) for view in views)
