"""Long-term memory for agents whose whole transcript is differentially private.

Names are imported when they are first used, so that a command-line start or a policy
check does not wait for LangChain.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_memview.core.budget import (
        OnlineBudget,
        PreallocatedBudget,
        StandingBudget,
    )
    from langchain_memview.core.epochs import (
        CalendarEpochs,
        OneEpoch,
        SubjectEpochs,
        TurnEpochs,
    )
    from langchain_memview.core.policy import (
        EmbeddingScore,
        Policy,
        ProtectedAttribute,
        ScoreWeights,
        Slot,
    )
    from langchain_memview.core.release import Release
    from langchain_memview.core.views import View
    from langchain_memview.errors import LedgerError, MemViewError, PolicyError
    from langchain_memview.graph.middleware import MemViewMiddleware
    from langchain_memview.graph.node import (
        memview_node,
        messages_with_views,
        views_message,
    )
    from langchain_memview.graph.state import MemViewState
    from langchain_memview.ledgers.from_checkpointer import ledger_from_checkpointer
    from langchain_memview.ledgers.in_memory import InMemoryLedger
    from langchain_memview.ledgers.postgres import PostgresLedger
    from langchain_memview.ledgers.sqlite import SqliteLedger
    from langchain_memview.memview import MemView
    from langchain_memview.policies.load import load_policy

_HOMES = {
    "CalendarEpochs": "core.epochs",
    "EmbeddingScore": "core.policy",
    "InMemoryLedger": "ledgers.in_memory",
    "LedgerError": "errors",
    "MemView": "memview",
    "MemViewError": "errors",
    "MemViewMiddleware": "graph.middleware",
    "MemViewState": "graph.state",
    "OneEpoch": "core.epochs",
    "OnlineBudget": "core.budget",
    "Policy": "core.policy",
    "PolicyError": "errors",
    "PostgresLedger": "ledgers.postgres",
    "PreallocatedBudget": "core.budget",
    "ProtectedAttribute": "core.policy",
    "Release": "core.release",
    "ScoreWeights": "core.policy",
    "Slot": "core.policy",
    "SqliteLedger": "ledgers.sqlite",
    "StandingBudget": "core.budget",
    "SubjectEpochs": "core.epochs",
    "TurnEpochs": "core.epochs",
    "View": "core.views",
    "ledger_from_checkpointer": "ledgers.from_checkpointer",
    "load_policy": "policies.load",
    "memview_node": "graph.node",
    "messages_with_views": "graph.node",
    "views_message": "graph.node",
}

__all__ = [
    "CalendarEpochs",
    "EmbeddingScore",
    "InMemoryLedger",
    "LedgerError",
    "MemView",
    "MemViewError",
    "MemViewMiddleware",
    "MemViewState",
    "OneEpoch",
    "OnlineBudget",
    "Policy",
    "PolicyError",
    "PostgresLedger",
    "PreallocatedBudget",
    "ProtectedAttribute",
    "Release",
    "ScoreWeights",
    "Slot",
    "SqliteLedger",
    "StandingBudget",
    "SubjectEpochs",
    "TurnEpochs",
    "View",
    "ledger_from_checkpointer",
    "load_policy",
    "memview_node",
    "messages_with_views",
    "views_message",
]


def __getattr__(name: str) -> Any:
    """Return a public name, imported from the module that is its home."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*globals(), *__all__])
