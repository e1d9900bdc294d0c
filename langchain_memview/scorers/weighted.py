"""The paper's scorer 0.4 r + 0.4 c + 0.2 s (Appendix C.5), over words.

r
    Public: the share of the view's words, sentence and cues, that the query contains,
    by stem, relative to the best view of the slot.
c
    Private: how many read positions contain one of the view's cues, relative to the
    best view of the slot; the generic view is compatible when no cue is found.
s
    Private: the share of the view's cues that the read set contains, which is how
    far it supports something as specific as the view; for the generic view as in c.

Each term is clamped to [0, 1], so Δu is the weight of c plus the weight of s: 0.6 for
the paper's weights. Any policy weights may be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from typing_extensions import override

from langchain_memview.core.policy import ScoreWeights, Slot
from langchain_memview.core.scoring import Scorer, Terms
from langchain_memview.core.views import View
from langchain_memview.scorers.cue import support_by_cues, view_cues
from langchain_memview.words import Passages, stems


@dataclass(frozen=True)
class WeightedScorer(Scorer):
    """Scores a view by relevance, compatibility and specificity.

    Attributes:
        weights: Weights of r, c and s.
    """

    weights: ScoreWeights = field(default_factory=ScoreWeights)

    @property
    @override
    def relevance_weight(self) -> Fraction:
        return Fraction(str(self.weights.relevance))

    @property
    @override
    def support_weights(self) -> tuple[Fraction, ...]:
        return (
            Fraction(str(self.weights.compatibility)),
            Fraction(str(self.weights.specificity)),
        )

    @override
    def relevance(self, query: str, slot: Slot) -> Terms:
        return relevance_by_words(query, slot)

    @override
    def support(self, slot: Slot, contents: Sequence[str]) -> Sequence[Terms]:
        views = tuple(slot.vocabulary.values())
        passages = Passages(contents)
        compatibility = support_by_cues(views, passages)
        specificity = [compatibility[0]]
        for view in views[1:]:
            found = [bool(passages.with_any([cue])) for cue in view_cues(view)]
            specificity.append(sum(found) / len(found) if found else 0.0)
        return [compatibility, specificity]

    @override
    def prior(self, query: str, slot: Slot) -> None:
        return None


def relevance_by_words(query: str, slot: Slot) -> list[float]:
    """Return the share of each view's words in the query, relative to the best view's.

    Args:
        query: q_t. Public.
        slot: The slot with its vocabulary of k views.
    """
    asked = frozenset(stems(query))
    words = [_view_stems(view) for view in slot.vocabulary.values()]
    shares = [len(asked & own) / len(own) if own else 0.0 for own in words]
    best = max(shares)
    return [share / best if best else 0.0 for share in shares]


@lru_cache(maxsize=1024)
def _view_stems(view: View) -> frozenset[str]:
    return frozenset(stems(" ".join([view.say, *view.cues])))
