"""The adapters to LangChain and LangGraph, and the only code that knows them."""

from langchain_memview.graph.middleware import MemViewMiddleware
from langchain_memview.graph.node import memview_node, views_message
from langchain_memview.graph.state import MemViewAgentState, MemViewState

__all__ = [
    "MemViewAgentState",
    "MemViewMiddleware",
    "MemViewState",
    "memview_node",
    "views_message",
]
