"""Scorers: how well the contents of a read set support each view."""

from typing import TYPE_CHECKING

from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.positions import PositionScorer
from langchain_memview.scorers.weighted import WeightedScorer

if TYPE_CHECKING:
    from langchain_memview.scorers.embedding import EmbeddingScorer

__all__ = ["CueScorer", "EmbeddingScorer", "PositionScorer", "WeightedScorer"]


def __getattr__(name: str) -> object:
    """Return a scorer that needs more than words, imported when it is asked for."""
    if name == "EmbeddingScorer":
        from langchain_memview.scorers.embedding import EmbeddingScorer

        return EmbeddingScorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
