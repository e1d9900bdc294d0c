"""Backends: where the raw memories of every subject live, by position."""

from typing import TYPE_CHECKING

from langchain_memview.backends.in_memory import InMemoryBackend

if TYPE_CHECKING:
    from langchain_memview.backends.chroma import ChromaBackend

__all__ = ["ChromaBackend", "InMemoryBackend"]


def __getattr__(name: str) -> object:
    """Return the backend that needs an extra, imported when it is asked for."""
    if name == "ChromaBackend":
        from langchain_memview.backends.chroma import ChromaBackend

        return ChromaBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
