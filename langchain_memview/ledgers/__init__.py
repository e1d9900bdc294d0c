"""Ledger stores: where spent amounts and recorded releases of all accounts live."""

from langchain_memview.ledgers.from_checkpointer import ledger_from_checkpointer
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger

__all__ = ["InMemoryLedger", "SqliteLedger", "ledger_from_checkpointer"]
