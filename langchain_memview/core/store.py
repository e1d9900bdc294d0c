"""The memory store M and what two stores may differ in: the relation ~_a.

A store is a content for every position of the policy's layout; an empty position has
the content `""`. Its representation is blind, so that no log or error can show it.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MemoryStore:
    """The contents of one subject's positions. Private: it lives inside one function.

    Attributes:
        contents: Text of positions 1, 2, … n in order; `""` where nothing is stored.
    """

    contents: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, size: int, contents: Mapping[int, str]) -> "MemoryStore":
        """Return a store of `size` positions, empty where `contents` names no text.

        Args:
            size: Number of positions of the layout.
            contents: Position to text; positions beyond the layout are not read.
        """
        return cls(tuple(contents.get(i, "") for i in range(1, size + 1)))

    def read(self, positions: Collection[int]) -> tuple[str, ...]:
        """Return the contents of these positions, in the order of the positions."""
        return tuple(self.contents[position - 1] for position in sorted(positions))


def differing_positions(store: MemoryStore, other: MemoryStore) -> frozenset[int]:
    """Return D: the positions at which two stores of one layout have other contents.

    Raises:
        ValueError: The stores have different numbers of positions.
    """
    pairs = zip(store.contents, other.contents, strict=True)
    return frozenset(i for i, (mine, yours) in enumerate(pairs, 1) if mine != yours)


def are_adjacent(store: MemoryStore, other: MemoryStore, group: Set[int]) -> bool:
    """Return whether M ~_a M': same layout, and equal at every position outside I_a.

    Args:
        store: One store.
        other: Another store.
        group: The positions I_a of the attribute.
    """
    return len(store.contents) == len(other.contents) and (
        differing_positions(store, other) <= group
    )
