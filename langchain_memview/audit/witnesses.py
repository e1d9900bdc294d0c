"""Adjacent stores made of public words: what a policy is audited on without memories.

For every attribute, its positions are filled with texts that speak for one view of the
slots that read them, for all views but that one, or for nothing; all other positions
speak for nothing, for the first or for the last view. A view and all but that view are
as far apart as scores can be, so such a pair has the largest ratio of a single draw.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.store import MemoryStore

_MOST = 256
"""Combinations of views of one joint query; each is a step of the walk."""

_Words: TypeAlias = Callable[[Slot], str]


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
    reading = [s for s in policy.slots if group & frozenset(policy.read_set(s))]
    most = max((len(slot.vocabulary) for slot in reading), default=1)
    seen: set[frozenset[MemoryStore]] = set()
    for background in (_only(0), _only(1), _only(-1)):
        for number in range(most):
            texts = (_all_but(number), _only(number), _only(number + 1), _only(0))
            stores = [_filled(policy, group, text, background) for text in texts]
            for store, other in pairwise(stores):
                both = frozenset((store, other))
                if store != other and both not in seen:
                    seen.add(both)
                    yield Pair(attribute, store, other)


def public_queries(policy: Policy) -> tuple[str, ...]:
    """Return a query for every slot that a word activates, and joint ones.

    A joint query activates as many slots, one after the other, as have at most 256
    combinations of views together: one for all of them in a small policy.
    """
    words: list[str] = []
    joint: list[list[str]] = []
    combinations = 1
    for slot in policy.slots:
        word = next(iter(slot.when), None)
        if word is None:
            continue
        combinations *= len(slot.vocabulary)
        if not joint or combinations > _MOST:
            joint.append([])
            combinations = len(slot.vocabulary)
        words.append(word)
        joint[-1].append(word)
    return tuple(dict.fromkeys([*words, *map(" ".join, joint)]))


def _filled(
    policy: Policy, group: frozenset[int], inside: _Words, outside: _Words
) -> MemoryStore:
    """Return a store whose group holds some words, and all else some others."""
    texts = dict.fromkeys(policy.positions, "")
    for slot in policy.slots:
        for position in policy.read_set(slot):
            words = (inside if position in group else outside)(slot)
            texts[position] = f"{texts[position]} {words}".strip()
    return MemoryStore.of(len(texts), texts)


def _only(number: int) -> _Words:
    """Return words for one view of every slot; the generic one, 0, has none."""

    def words(slot: Slot) -> str:
        cues = _cues(slot)
        return cues[number % len(cues)]

    return words


def _all_but(number: int) -> _Words:
    """Return words for every view of every slot but one."""

    def words(slot: Slot) -> str:
        cues = _cues(slot)
        del cues[number % len(cues)]
        return " ".join(filter(None, cues))

    return words


def _cues(slot: Slot) -> list[str]:
    """Return a cue of every view, if possible one that no other view of the slot has."""
    views = tuple(slot.vocabulary.values())
    found = [""]
    for view in views[1:]:
        others = {cue for other in views if other is not view for cue in other.cues}
        own = [cue for cue in view.cues if cue not in others]
        found.append(next(iter(own or view.cues), ""))
    return found
