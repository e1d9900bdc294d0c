"""Ledger stores: where spent amounts and recorded releases of all accounts live."""

from typing import TYPE_CHECKING

from langchain_memview.ledgers.from_checkpointer import ledger_from_checkpointer
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger

if TYPE_CHECKING:
    from langchain_memview.ledgers.postgres import PostgresLedger

__all__ = [
    "InMemoryLedger",
    "PostgresLedger",
    "SqliteLedger",
    "ledger_from_checkpointer",
]


def __getattr__(name: str) -> object:
    """Return the ledger that needs an extra, imported when it is asked for."""
    if name == "PostgresLedger":
        from langchain_memview.ledgers.postgres import PostgresLedger

        return PostgresLedger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
