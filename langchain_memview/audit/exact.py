"""The largest log-likelihood ratio of any augmented transcript under two stores.

Every adaptive application asks, after each prefix, one of the queries; so the largest
ratio over all choices of queries is the largest over all applications. It need not be
searched path by path. What can follow depends on the public state alone, so the worst
continuation V of a state satisfies

    V(state) = max over queries and steps of  P[step | M] / P[step | M'] · V(state after)

and is worked out once for every state. Ratios are fractions and are compared as such.
All of this is on the trusted side: the probabilities are functions of memory.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from langchain_memview.audit.turns import (
    Ask,
    Interface,
    Law,
    Released,
    State,
    Step,
    Turns,
)
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.guarantees import log_ratio, respects
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.transcript import AugmentedTranscript

Memory: TypeAlias = MemoryStore | Sequence[MemoryStore]
"""A store, or the store at turn 1, 2, …; the last one stays for all later turns."""

Ratio: TypeAlias = Fraction | float
"""A fraction, or infinity."""


@dataclass(frozen=True)
class Path:
    """One augmented transcript with its exact likelihoods.

    Attributes:
        turns: What was asked and what it made public, turn by turn.
        likelihood: Its probability under the first store, given the queries.
        other: Its probability under the second store.
        ledger: The ledger after it.
    """

    turns: tuple[tuple[Ask, Step], ...]
    likelihood: Fraction
    other: Fraction
    ledger: Ledger


@dataclass(frozen=True)
class Audit:
    """The worst transcript.

    Attributes:
        log_ratio: The largest |ln(P/P')| over all transcripts, in nats; infinite if a
            transcript is possible under one store only.
        worst: A transcript that attains it, up to where it became infinite.
        paths: Number of transcripts that the result covers.
    """

    log_ratio: float
    worst: Path
    paths: int

    def respects(self, bound: Fraction) -> bool:
        """Return whether no transcript passes e^bound, decided in fractions.

        Args:
            bound: B_a or κ in nats, >= 0.
        """
        p, q = self.worst.likelihood, self.worst.other
        return respects(p, q, bound) and respects(q, p, bound)


@dataclass(frozen=True)
class Visit:
    """One public state with what a turn does there under both stores. Private.

    Attributes:
        state: The state before the turn.
        ask: What is asked.
        mine: Law of the turn under the first store.
        yours: Law of the turn under the second store.
    """

    state: State
    ask: Ask
    mine: Law
    yours: Law


@dataclass(frozen=True)
class _Best:
    """The largest ratio from a state on, and the steps that attain it."""

    ratio: Ratio = Fraction(1)
    steps: tuple[tuple[Ask, Step], ...] = ()


@dataclass(frozen=True)
class _Value:
    """What is known of a state: the worst ratio in both directions, the path count."""

    mine: _Best = _Best()
    yours: _Best = _Best()
    paths: int = 1


class Search:
    """Works out the worst transcripts of a pair of stores, state by state.

    Args:
        turns: The laws of the interface that is audited.
        store: One store, or one for each turn.
        other: The other store, or one for each turn.
        asks: What the application may do at every turn.
    """

    def __init__(
        self, turns: Turns, store: Memory, other: Memory, asks: Sequence[Ask]
    ) -> None:
        self._turns, self._asks = turns, asks
        self._stores = (_stream(store), _stream(other))
        self._values: dict[tuple[object, ...], _Value] = {}
        self.visits: list[Visit] = []

    def audit(self, depth: int) -> Audit:
        """Return the worst transcript of `depth` turns."""
        start = self._turns.state()
        merged = not self._turns.uses_history
        value = self._value(start, 0, depth)
        if merged and self._turns.uses_history:
            # States were merged over the history before a turn looked at it.
            self._values.clear()
            self.visits.clear()
            value = self._value(start, 0, depth)
        best = max(value.mine, value.yours, key=lambda best: best.ratio)
        path = Path((), Fraction(1), Fraction(1), start.ledger)
        state = start
        for number, (ask, step) in enumerate(best.steps):
            mine, yours = self._laws(ask, state, number)
            state = state.then(ask, step)
            path = Path(
                (*path.turns, (ask, step)),
                path.likelihood * mine.get(step, 0),
                path.other * yours.get(step, 0),
                state.ledger,
            )
        ratio = abs(log_ratio(path.likelihood, path.other))
        return Audit(ratio, path, value.paths)

    def _laws(self, ask: Ask, state: State, number: int) -> tuple[Law, Law]:
        mine, yours = (stream[min(number, len(stream) - 1)] for stream in self._stores)
        return self._turns.law(mine, ask, state), self._turns.law(yours, ask, state)

    def _value(self, state: State, number: int, depth: int) -> _Value:
        if number == depth:
            return _Value()
        key = (number, self._turns.key(state))
        if key in self._values:
            return self._values[key]
        mine = yours = _Best(Fraction(0))
        paths = 0
        for ask in self._asks:
            p, q = self._laws(ask, state, number)
            self.visits.append(Visit(state, ask, p, q))
            for step in {**p, **q}:
                chance, other = p.get(step, Fraction(0)), q.get(step, Fraction(0))
                if not chance and not other:
                    continue
                after = self._value(state.then(ask, step), number + 1, depth)
                paths += after.paths
                mine = _larger(mine, _extended(ask, step, chance, other, after.mine))
                yours = _larger(yours, _extended(ask, step, other, chance, after.yours))
        self._values[key] = _Value(mine, yours, paths)
        return self._values[key]


def _extended(ask: Ask, step: Step, p: Fraction, q: Fraction, rest: _Best) -> _Best:
    if not q:
        # Infinite already, and nothing that follows can make up for it.
        return _Best(math.inf, ((ask, step),))
    ratio = p / q
    # What cannot happen under M stays at 0, whatever the rest would be.
    return _Best(ratio * rest.ratio if p else ratio, ((ask, step), *rest.steps))


def _larger(best: _Best, new: _Best) -> _Best:
    return new if new.ratio > best.ratio else best


def _stream(memory: Memory) -> Sequence[MemoryStore]:
    return [memory] if isinstance(memory, MemoryStore) else memory


def asks_of(turns: Turns, queries: Sequence[str], depth: int) -> tuple[Ask, ...]:
    """Return all that an application may do at a turn: any query in any epoch.

    In `depth` turns there can be no more than that many epochs, and all are alike.
    """
    epochs = 1
    if isinstance(turns.policy.budget, StandingBudget):
        epochs = max(1, min(turns.policy.budget.epochs.planned, depth))
    return tuple(Ask(query, epoch) for epoch in range(epochs) for query in queries)


def audit_transcripts(
    interface: Interface,
    store: Memory,
    other: Memory,
    *,
    queries: Sequence[str],
    depth: int,
) -> Audit:
    """Return the largest log-likelihood ratio of any augmented transcript, in nats.

    It is exact for these two stores, and covers every adaptive application that asks
    these queries. That all other pairs obey the cap is proved by the mechanisms'
    bound, which no enumeration replaces. The budget mode is that of the policy.

    Args:
        interface: The interface that is audited, for example `MemView(...).interface`.
        store: One store, or one for each turn if memory changes.
        other: A store, or stores, that differ from it inside one group.
        queries: What the application may ask at every turn; not empty.
        depth: Number of turns, >= 0.

    Raises:
        ValueError: There is no query.
    """
    turns = Turns(interface)
    asks = asks_of(turns, queries, depth)
    if depth and not asks:
        raise ValueError("there is no transcript: give at least one query")
    return Search(turns, store, other, asks).audit(depth)


def outcomes(
    interface: Interface,
    query: str,
    history: AugmentedTranscript,
    store: MemoryStore,
    ledger: Ledger,
) -> dict[Released, tuple[Fraction, Ledger]]:
    """Return every possible release of one turn with its probability and ledger.

    Args:
        interface: The interface that is audited.
        query: q_t.
        history: Released history before the turn.
        store: The memory. Private; the probabilities are too.
        ledger: The ledger before the turn.
    """
    turns, state, ask = Turns(interface), State(ledger, history=history), Ask(query)
    return {
        step.shown: (chance, state.then(ask, step).ledger)
        for step, chance in turns.law(store, ask, state).items()
        if chance
    }


def walk(
    interface: Interface,
    store: Memory,
    other: Memory,
    queries: Sequence[str],
    depth: int,
) -> Iterator[Path]:
    """Yield every augmented transcript of `depth` turns, one by one.

    Their number grows exponentially; `audit_transcripts` finds the worst of them
    without meeting each.

    Args:
        interface: The interface that is audited.
        store: One store, or one for each turn.
        other: The other store, or one for each turn.
        queries: What the application may ask at every turn.
        depth: Number of turns, >= 0.
    """
    turns = Turns(interface)
    # Merged states give equal laws, so a history that counts has to count from the start.
    turns.uses_history = True
    asks = asks_of(turns, queries, depth)
    start = turns.state()
    streams = (_stream(store), _stream(other))
    pending = [(Path((), Fraction(1), Fraction(1), start.ledger), start)]
    while pending:
        path, state = pending.pop()
        number = len(path.turns)
        if number == depth:
            yield path
            continue
        now = [stream[min(number, len(stream) - 1)] for stream in streams]
        for ask in asks:
            p, q = (turns.law(memory, ask, state) for memory in now)
            for step in {**p, **q}:
                chance, rival = p.get(step, Fraction(0)), q.get(step, Fraction(0))
                if chance or rival:
                    after = state.then(ask, step)
                    longer = Path(
                        (*path.turns, (ask, step)),
                        path.likelihood * chance,
                        path.other * rival,
                        after.ledger,
                    )
                    pending.append((longer, after))
