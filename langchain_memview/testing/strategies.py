"""Hypothesis strategies: policies, stores and pairs of adjacent stores.

They need the package `hypothesis`. Policies are small, so that an exact walk over all
their transcripts stays fast; groups overlap, read sets are arbitrary and caps differ.
"""

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from langchain_memview.core.budget import OnlineBudget, PreallocatedBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.views import View

WORDS = ("amber", "birch", "cobalt", "dune")
"""Cue words of the generated policies; generated memories are made of them."""

SLOTS = ("food", "money", "rest")


@dataclass(frozen=True)
class AdjacentPair:
    """A policy and two stores that differ inside one attribute's group only.

    Attributes:
        policy: The policy.
        attribute: The attribute a of the relation ~_a.
        store: M.
        other: M'.
    """

    policy: Policy
    attribute: str
    store: MemoryStore
    other: MemoryStore


def contents() -> st.SearchStrategy[str]:
    """Return a strategy for one memory: some cue words, or nothing at all."""
    return st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join)


@st.composite
def policies(draw: st.DrawFn, positions: int = 4) -> Policy:
    """Return a strategy for policies with up to three slots and three attributes.

    Args:
        draw: Given by Hypothesis.
        positions: Number of positions of the layout.
    """
    numbers = st.integers(1, positions)
    names = SLOTS[: draw(st.integers(1, len(SLOTS)))]
    layout = {i: draw(st.sampled_from(names)) for i in range(1, positions + 1)}
    cap = st.fractions(min_value="1/10", max_value=3, max_denominator=12)
    attributes = {
        f"a{i}": ProtectedAttribute(draw(st.frozensets(numbers, min_size=1)), draw(cap))
        for i in range(draw(st.integers(1, 3)))
    }
    slots = [
        Slot(
            name,
            when=[name],
            views={
                "generic": f"{name}: answer plainly.",
                **{
                    f"v{j}": View(f"{name}: answer in way {j}.", [WORDS[j]])
                    for j in range(draw(st.integers(1, 2)))
                },
            },
            read=draw(st.none() | st.frozensets(numbers)),
        )
        for name in names
    ]
    budget = draw(
        st.builds(OnlineBudget, st.integers(1, 3))
        | st.fixed_dictionaries({name: st.integers(1, 3) for name in attributes}).map(
            PreallocatedBudget
        )
    )
    return Policy("generated", attributes, slots, budget, layout=layout)


@st.composite
def adjacent_pairs(draw: st.DrawFn, positions: int = 4) -> AdjacentPair:
    """Return a strategy for a policy with a pair of adjacent stores.

    Args:
        draw: Given by Hypothesis.
        positions: Number of positions of the layout.
    """
    policy = draw(policies(positions))
    attribute = draw(st.sampled_from(sorted(policy.attributes)))
    store = {i: draw(contents()) for i in range(1, positions + 1)}
    changed = {i: draw(contents()) for i in sorted(policy.groups[attribute])}
    return AdjacentPair(
        policy,
        attribute,
        MemoryStore.of(positions, store),
        MemoryStore.of(positions, store | changed),
    )


def epsilons() -> st.SearchStrategy[Fraction]:
    """Return a strategy for ε in nats, from a hundredth to 8."""
    return st.fractions(min_value="1/100", max_value=8, max_denominator=1000)


def sensitivities() -> st.SearchStrategy[Fraction]:
    """Return a strategy for Δu, from a thousandth to 1."""
    return st.fractions(min_value="1/1000", max_value=1, max_denominator=1000)
