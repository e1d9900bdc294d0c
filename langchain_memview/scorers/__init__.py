"""Scorers: how well the contents of a read set support each view."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.positions import PositionScorer
from langchain_memview.scorers.weighted import WeightedScorer

if TYPE_CHECKING:
    from langchain_memview.scorers.chat import ChatModelScorer, LiveChatScorer
    from langchain_memview.scorers.embedding import EmbeddingScorer

__all__ = [
    "ChatModelScorer",
    "CueScorer",
    "EmbeddingScorer",
    "LiveChatScorer",
    "PositionScorer",
    "WeightedScorer",
]

_HOMES = {
    "ChatModelScorer": "chat",
    "EmbeddingScorer": "embedding",
    "LiveChatScorer": "chat",
}


def __getattr__(name: str) -> Any:
    """Return a scorer that needs a model, imported when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
