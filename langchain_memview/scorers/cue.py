"""The default scorer: which views do the words of the memories speak for?

The private term of a view is the number of read positions that contain one of its cues,
divided by the largest such number in the slot; the generic view has the term 1 when no
position contains any cue, and 0 otherwise. One private weight of 1, so Δu = 1 comes out
of the clamp.

A cue is the beginning of a word or of several, and stands for the inflections of its
words too: `lose job` finds "lost my job", `owe` "owing", `get laid off` "got laid off".
Write words as a dictionary has them; a form such as `fired` is not "fire". Cues see
neither negation nor whose or when: "my brother owes" speaks for `owe` as "I owe" does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from typing_extensions import override

from langchain_memview.core.policy import Slot
from langchain_memview.core.scoring import Terms
from langchain_memview.core.views import View
from langchain_memview.scorers.inflections import inflections
from langchain_memview.scorers.support_only import SupportOnlyScorer
from langchain_memview.words import Cue, Passages, folded, words


@dataclass(frozen=True)
class CueScorer(SupportOnlyScorer):
    """Scores a view by how many read positions contain one of its cues."""

    @override
    def support(self, slot: Slot, contents: Sequence[str]) -> Sequence[Terms]:
        return [support_by_cues(tuple(slot.vocabulary.values()), Passages(contents))]


def support_by_cues(views: tuple[View, ...], passages: Passages) -> list[float]:
    """Return the share of cue hits of each view, the generic view (first) by absence.

    Args:
        views: The vocabulary, generic view first.
        passages: Contents of the read set. Private, and so is the result.
    """
    hits = [len(passages.with_any(view_cues(view))) for view in views[1:]]
    most = max(hits, default=0)
    if not most:
        return [1.0] + [0.0] * len(hits)
    return [0.0] + [count / most for count in hits]


@lru_cache(maxsize=1024)
def view_cues(view: View) -> tuple[Cue, ...]:
    """Return the view's cues as `Passages` compares them."""
    return tuple(_cue(text) for text in map(folded, view.cues) if text)


def _cue(text: str) -> Cue:
    parts = words(text)
    if not parts:
        return Cue(text, (), "")
    first, *others = map(inflections, parts)
    if not others:
        # What begins with the cue is found by its beginning, and faster.
        first = frozenset(form for form in first if not form.startswith(text))
    return Cue(text, (first, *others), parts[-1])
