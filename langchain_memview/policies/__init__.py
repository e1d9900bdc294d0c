"""The policy file: YAML in, a `Policy` out, and every problem with line and column."""

from langchain_memview.policies.load import (
    Finding,
    check_policy_file,
    load_policy,
    policy_from_text,
)
from langchain_memview.policies.shape import policy_schema

__all__ = [
    "Finding",
    "check_policy_file",
    "load_policy",
    "policy_from_text",
    "policy_schema",
]
