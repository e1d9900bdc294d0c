"""Scorers: how well the contents of a read set support each view."""

from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.positions import PositionScorer
from langchain_memview.scorers.weighted import WeightedScorer

__all__ = ["CueScorer", "PositionScorer", "WeightedScorer"]
