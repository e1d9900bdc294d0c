"""Checks of a configuration by exact enumeration, and what each condition is for."""

from langchain_memview.audit.contract import contract_findings
from langchain_memview.audit.counterexamples import counterexamples
from langchain_memview.audit.exact import Audit, audit_transcripts, walk
from langchain_memview.audit.policy import audit_policy
from langchain_memview.audit.replaying import replay_account
from langchain_memview.audit.witnesses import witness_pairs

__all__ = [
    "Audit",
    "audit_policy",
    "audit_transcripts",
    "contract_findings",
    "counterexamples",
    "replay_account",
    "walk",
    "witness_pairs",
]
