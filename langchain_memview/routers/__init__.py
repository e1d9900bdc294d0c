"""Routers: which slots a query activates, from public inputs alone."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_memview.routers.keyword import KeywordRouter

if TYPE_CHECKING:
    from langchain_memview.routers.chat import ChatModelRouter
    from langchain_memview.routers.embedding import EmbeddingRouter

__all__ = ["ChatModelRouter", "EmbeddingRouter", "KeywordRouter"]

_HOMES = {"ChatModelRouter": "chat", "EmbeddingRouter": "embedding"}


def __getattr__(name: str) -> Any:
    """Return a router that needs a model, imported when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
