"""A small policy that many tests of the core use."""

import pytest

from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.views import View


@pytest.fixture
def debt_policy() -> Policy:
    """One slot, one position, one attribute, cap 2, K = 3."""
    return Policy(
        "small",
        {"debt": ProtectedAttribute([1], cap=2)},
        [
            Slot(
                "food",
                when=["dinner"],
                views={"generic": "Any dish.", "cheap": View("Cheap.", ["owes"])},
                capacity=1,
            )
        ],
        OnlineBudget(3),
    )
