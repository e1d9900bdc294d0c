"""A scorer that counts positions, so an attribute pays for its own positions only.

The private term of a view is the share of read positions that contain one of its cues;
the generic view has the share of those that contain none. Where an attribute has few of
the positions that a slot reads, a selection costs it that share of ε, and the mechanism
can run at a larger ε for the same caps (`core.cost.additive_cost`). Where it has all of
them, the scorer is weaker than `CueScorer`: one memory among many moves a score little.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from langchain_memview.core.policy import Slot
from langchain_memview.core.scoring import AdditiveScorer, Terms
from langchain_memview.scorers.cue import view_cues
from langchain_memview.scorers.support_only import SupportOnlyScorer
from langchain_memview.words import Passages


@dataclass(frozen=True)
class PositionScorer(SupportOnlyScorer, AdditiveScorer):
    """Scores a view by the share of read positions that contain one of its cues."""

    @override
    def position_support(self, slot: Slot, content: str) -> Terms:
        passages = Passages([content])
        found = [
            float(bool(passages.with_any(view_cues(view))))
            for view in tuple(slot.vocabulary.values())[1:]
        ]
        return [1.0 - max(found, default=0.0), *found]

    @override
    def support(self, slot: Slot, contents: Sequence[str]) -> Sequence[Terms]:
        rows = [self.position_support(slot, content) for content in contents]
        columns = zip(*rows or [[0.0] * len(slot.vocabulary)], strict=True)
        return [[sum(column) / (len(rows) or 1) for column in columns]]
