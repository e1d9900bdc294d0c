"""Exact likelihoods of every augmented transcript under two stores.

The walk runs the real turn of the trusted interface and puts an enumeration where the
draw is: each possible view is taken once, with its exact probability. What is compared
is everything that is released at a turn, so an interface that leaks by its control flow
is found as well as one whose law is wrong. All of this is on the trusted side: the
probabilities are functions of memory.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from langchain_memview.core.accounts import Decide
from langchain_memview.core.choice import Choice
from langchain_memview.core.guarantees import log_ratio
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.transcript import AugmentedTranscript, AugmentedTurn

Released = tuple[SlotRelease, ...]


@dataclass(frozen=True)
class Path:
    """One augmented transcript with its exact likelihoods.

    Attributes:
        turns: Query and releases of every turn.
        likelihood: Its probability under the first store, given the queries.
        other: Its probability under the second store.
        ledger: The ledger after it.
    """

    turns: tuple[tuple[str, Released], ...]
    likelihood: Fraction
    other: Fraction
    ledger: Ledger


@dataclass(frozen=True)
class Audit:
    """The worst transcript of a walk.

    Attributes:
        log_ratio: The largest |ln(P/P')| over all transcripts, in nats; infinite if a
            transcript is possible under one store only.
        worst: A transcript that attains it.
        paths: Number of transcripts.
    """

    log_ratio: float
    worst: Path
    paths: int


class _MoreChoices(Exception):  # noqa: N818 - a signal of the enumeration, no error
    def __init__(self, choices: int) -> None:
        super().__init__()
        self.choices = choices


class _Script:
    """Draws the scripted indices and multiplies their probabilities."""

    def __init__(self, indices: tuple[int, ...]) -> None:
        self._indices = list(indices)
        self.likelihood = Fraction(1)

    def draw(self, choice: Choice) -> int:
        law = choice.probabilities()
        if not self._indices:
            raise _MoreChoices(len(law))
        index = self._indices.pop(0)
        self.likelihood *= law[index]
        return index


def outcomes(
    interface: TrustedInterface,
    query: str,
    history: AugmentedTranscript,
    store: MemoryStore,
    ledger: Ledger,
) -> dict[Released, tuple[Fraction, Ledger]]:
    """Return every possible release of a turn with its probability and ledger.

    Args:
        interface: The interface that is audited.
        query: q_t.
        history: Released history before the turn.
        store: The memory. Private; the probabilities are too.
        ledger: The ledger before the turn.
    """
    found: dict[Released, tuple[Fraction, Ledger]] = {}
    scripts: list[tuple[int, ...]] = [()]

    def run(decide: Decide) -> Released:
        return tuple(decide(ledger))

    while scripts:
        indices = scripts.pop()
        script = _Script(indices)
        try:
            released = replace(interface, draw=script.draw).turn(
                query,
                history,
                lambda positions: {p: store.contents[p - 1] for p in positions},
                run,
            )
        except _MoreChoices as more:
            scripts += [(*indices, index) for index in range(more.choices)]
            continue
        if script.likelihood:
            after = ledger
            for slot in released:
                after = after.charge_each(slot.charges)
            likelihood = script.likelihood + found.get(released, (Fraction(0),))[0]
            found[released] = (likelihood, after)
    return found


def walk(
    interface: TrustedInterface,
    store: MemoryStore,
    other: MemoryStore,
    queries: Sequence[str],
    depth: int,
) -> Iterator[Path]:
    """Yield every augmented transcript of `depth` turns, over all choices of queries.

    Every adaptive application asks, after each prefix, one of the queries; so the
    largest ratio over these paths is the largest over all applications.

    Args:
        interface: The interface that is audited.
        store: One store.
        other: The other store.
        queries: What the application may ask at every turn.
        depth: Number of turns, >= 0.
    """
    start = Ledger.opened(interface.policy.caps)
    pending = [(Path((), Fraction(1), Fraction(1), start), AugmentedTranscript())]
    while pending:
        path, history = pending.pop()
        if len(path.turns) == depth:
            yield path
            continue
        for query in queries:
            mine = outcomes(interface, query, history, store, path.ledger)
            yours = outcomes(interface, query, history, other, path.ledger)
            for released in mine | yours:
                likelihood, ledger = mine.get(released, yours.get(released, _NEVER))
                pending.append(
                    (
                        Path(
                            (*path.turns, (query, released)),
                            path.likelihood * (likelihood if released in mine else 0),
                            path.other * yours.get(released, _NEVER)[0],
                            ledger,
                        ),
                        history.then(
                            AugmentedTurn(
                                query, views={s.slot: s.view for s in released}
                            )
                        ),
                    )
                )


_NEVER = (Fraction(0), Ledger({}))


def audit_transcripts(
    interface: TrustedInterface,
    store: MemoryStore,
    other: MemoryStore,
    *,
    queries: Sequence[str],
    depth: int,
) -> Audit:
    """Return the largest log-likelihood ratio of any augmented transcript, in nats.

    Compare it with the cap of the attribute in whose group the stores differ
    (`core.guarantees.respects` decides without rounding).

    Args:
        interface: The interface that is audited.
        store: One store.
        other: A store that differs from it inside one group.
        queries: What the application may ask at every turn; not empty.
        depth: Number of turns, >= 0. The number of paths grows exponentially.
    """
    worst, worst_ratio, count = None, -math.inf, 0
    for path in walk(interface, store, other, queries, depth):
        count += 1
        ratio = abs(log_ratio(path.likelihood, path.other))
        if ratio > worst_ratio:
            worst, worst_ratio = path, ratio
    if worst is None:
        raise ValueError("there is no transcript: give at least one query")
    return Audit(worst_ratio, worst, count)
