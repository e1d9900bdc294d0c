"""A recorded account against a store that could have been: one path, exactly.

What an account has released is one transcript. Its likelihood under the real memory and
under another one is a product over the recorded draws, and the ratio of the two never
passes what the ledger says it spent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from langchain_memview.core.accounts import Record
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.choice import Choice
from langchain_memview.core.guarantees import differing_loss, log_ratio, respects
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.mechanism import exponential_mechanism
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.scoring import public_prior, scores
from langchain_memview.core.standing import StandingInterface
from langchain_memview.core.store import MemoryStore, differing_positions


@dataclass(frozen=True)
class Replayed:
    """How far a recorded account tells two stores apart. Private: it depends on both.

    Attributes:
        log_ratio: ln(P/P') of what was drawn, in nats.
        bound: Σ ε of the recorded draws that read a differing position, in nats;
            infinite if an uncharged release has read one.
        holds: Whether the ratio is at most e^bound either way, decided in fractions.
        draws: Number of recorded draws.
    """

    log_ratio: float
    bound: Fraction | float
    holds: bool
    draws: int


def replay_account(
    interface: TrustedInterface,
    records: Sequence[Record],
    store: MemoryStore,
    other: MemoryStore,
    queries: Mapping[str, str] | None = None,
) -> Replayed:
    """Return the log-likelihood ratio of a recorded account under two stores.

    The stores stand for the whole account: memory is taken to have been the same at
    every draw, the policy to be that of every record, and a standing draw to have been
    among all views.

    Args:
        interface: The interface, for example `MemView(...).interface`.
        records: What `MemView.history` returns.
        store: The memory. Private.
        other: A memory that could have been. Private.
        queries: Operation id to its query, for scorers that look at the query; records
            keep a hash of it only.

    Raises:
        ValueError: A record names a slot, facet or view that the policy does not have.
    """
    p = q = Fraction(1)
    drawn = [
        (record, slot)
        for record in records
        for slot in record.slots
        if slot.outcome == "selected"
    ]
    as_it_was = [
        (frozenset(slot.read_set), math.inf)
        for record in records
        for slot in record.slots
        if slot.outcome == "uncharged"
    ]
    for record, slot in drawn:
        query = (queries or {}).get(record.operation.id, "")
        p *= _chance(interface, slot, query, store)
        q *= _chance(interface, slot, query, other)
    releases = [(frozenset(slot.read_set), slot.epsilon) for _, slot in drawn]
    bound = differing_loss([*releases, *as_it_was], differing_positions(store, other))
    holds = isinstance(bound, float) or (
        respects(p, q, bound) and respects(q, p, bound)
    )
    return Replayed(log_ratio(p, q), bound, holds, len(drawn))


def _chance(
    interface: TrustedInterface, release: SlotRelease, query: str, store: MemoryStore
) -> Fraction:
    """Return the probability of a recorded draw under a store. Private."""
    policy = interface.policy
    try:
        if isinstance(policy.budget, StandingBudget):
            facet = next(f for f in policy.facets if f.name == release.slot)
            facet = replace(facet, epsilon=release.epsilon)
            choice, views = StandingInterface(interface).choice(
                facet,
                None,
                lambda positions: {p: store.contents[p - 1] for p in positions},
            )
            return choice.probabilities()[views.index(release.view)]
        slot = policy.slots_by_name[release.slot]
        index = tuple(slot.vocabulary).index(release.view)
    except (KeyError, StopIteration, ValueError):
        raise ValueError(
            f"the policy has no view {release.view!r} of {release.slot!r}, which is "
            "recorded; replay an account under the policy that released it"
        ) from None
    u = scores(interface.scorer, slot, query, store.read(policy.read_set(slot)))
    mechanism = exponential_mechanism(release.epsilon, interface.sensitivity)
    prior = public_prior(interface.scorer, query, slot)
    return Choice(mechanism, (u, prior)).probabilities()[index]
