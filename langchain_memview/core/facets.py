"""Facets: what one standing release serves, a slot or several that share view ids."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.core.names import RESERVED


@dataclass(frozen=True)
class Facet:
    """One question about the user that is answered once per epoch.

    Attributes:
        name: Its name; that of its slot unless slots share it.
        slots: Names of the slots that it serves, in the order of the policy.
        views: The view ids that they share, the generic one first (C1).
        read_set: R, what its selection reads: all that its slots read, sorted.
        charge_set: Γ, sorted; empty if no protected attribute is affected.
        epsilon: ε of one release in nats; 0 if none is affected.
    """

    name: str
    slots: tuple[str, ...]
    views: tuple[str, ...]
    read_set: tuple[int, ...]
    charge_set: tuple[str, ...]
    epsilon: Fraction

    def key(self, epoch: int) -> str:
        """Return the name of its release in an epoch; the operation id in the ledger."""
        return f"{RESERVED}standing:{epoch}:{self.name}"


def union(sets: Iterable[Collection[int]]) -> tuple[int, ...]:
    """Return all positions of several read sets, sorted."""
    return tuple(sorted(frozenset().union(*map(frozenset, sets))))
