"""Backends: where the raw memories of every subject live, by position."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_memview.backends.in_memory import InMemoryBackend

if TYPE_CHECKING:
    from langchain_memview.backends.chroma import ChromaBackend
    from langchain_memview.backends.langgraph_store import LangGraphStoreBackend

__all__ = ["ChromaBackend", "InMemoryBackend", "LangGraphStoreBackend"]

_HOMES = {"ChromaBackend": "chroma", "LangGraphStoreBackend": "langgraph_store"}


def __getattr__(name: str) -> Any:
    """Return a backend whose library takes time to import, when it is asked for."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
