"""Routers: which slots a query activates, from public inputs alone."""

from langchain_memview.routers.keyword import KeywordRouter

__all__ = ["KeywordRouter"]
