"""Checks of a configuration by exact enumeration, and what each condition is for."""

from langchain_memview.audit.counterexamples import counterexamples
from langchain_memview.audit.exact import Audit, audit_transcripts, walk

__all__ = ["Audit", "audit_transcripts", "counterexamples", "walk"]
