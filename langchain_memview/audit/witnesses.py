"""Adjacent stores made of public words: what a policy is audited on without memories.

For every attribute, its positions are filled with the cues of the first, second, …
view of the slots that read them, or left empty; all other positions are empty, or hold
the cues of the first view. So the pairs move every slot's scores as far as its cues can.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import combinations

from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.store import MemoryStore


@dataclass(frozen=True)
class Pair:
    """Two stores that differ inside one attribute's group.

    Attributes:
        attribute: The attribute.
        store: M.
        other: M'.
    """

    attribute: str
    store: MemoryStore
    other: MemoryStore


def witness_pairs(policy: Policy, attribute: str) -> Iterator[Pair]:
    """Yield pairs of adjacent stores for an attribute, made of the policy's cues."""
    group = policy.groups[attribute]
    most = max((len(s.vocabulary) for s in _reading(policy, group)), default=1)
    for background in ((), (1,)):
        stores = [_filled(policy, group, kind, background) for kind in range(most)]
        distinct = list(dict.fromkeys(stores))
        for store, other in combinations(distinct, 2):
            yield Pair(attribute, store, other)


def public_queries(policy: Policy) -> tuple[str, ...]:
    """Return a query for every slot that a word activates, and one for all of them."""
    words = [slot.when[0] for slot in policy.slots if slot.when]  # type: ignore[index]
    together = " ".join(words)
    return tuple(dict.fromkeys([*words, together]))


def _reading(policy: Policy, positions: Set[int]) -> list[Slot]:
    return [s for s in policy.slots if positions & frozenset(policy.read_set(s))]


def _filled(
    policy: Policy, group: Set[int], kind: int, background: tuple[int, ...]
) -> MemoryStore:
    """Return a store whose group speaks for view number `kind`, 0 for none."""
    return MemoryStore(
        tuple(
            " ".join(_cue(slot, number) for slot in _reading(policy, {position}))
            if (number := kind if position in group else sum(background))
            else ""
            for position in policy.positions
        )
    )


def _cue(slot: Slot, number: int) -> str:
    specific = [view for view in slot.vocabulary.values() if view.cues]
    return specific[(number - 1) % len(specific)].cues[0] if specific else ""
