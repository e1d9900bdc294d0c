"""Checks of a policy; every problem at once."""

from collections.abc import Mapping
from typing import Any

from langchain_memview.errors import Problem


def check_policy(document: Mapping[str, Any]) -> list[Problem]:  # noqa: ARG001
    """Return every problem of a policy in plain-document form."""
    return []
