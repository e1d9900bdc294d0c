"""The public half of a scorer for which the query plays no part."""

from fractions import Fraction

from typing_extensions import override

from langchain_memview.core.policy import Slot
from langchain_memview.core.scoring import Scorer, Terms


class SupportOnlyScorer(Scorer):
    """A scorer with one private term of weight 1 and nothing public; Δu is 1."""

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
    def prior(self, query: str, slot: Slot) -> None:
        return None
