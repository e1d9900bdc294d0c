"""Conformance suites and helpers for tests, also for those of users.

Some need an extra package (`hypothesis`, LangGraph's savers); each is imported when it
is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_memview.testing.channels import aassert_no_canary, assert_no_canary

__all__ = ["aassert_no_canary", "assert_no_canary"]

_HOMES = {"aassert_no_canary": "channels", "assert_no_canary": "channels"}


def __getattr__(name: str) -> Any:
    """Return a helper, imported from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
