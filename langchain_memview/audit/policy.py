"""A policy audited as a whole: every attribute, on public or on given stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.audit.contract import Contract, Finding
from langchain_memview.audit.exact import Audit, Search, asks_of
from langchain_memview.audit.turns import Interface, Turns
from langchain_memview.audit.witnesses import Pair, public_queries, witness_pairs
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.names import EVERYTHING
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy
from langchain_memview.core.store import MemoryStore, are_adjacent
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.default import default_scorer


@dataclass(frozen=True)
class AttributeAudit:
    """The worst transcript for one attribute.

    Attributes:
        attribute: Its name.
        cap: B_a in nats.
        audit: The worst transcript of the worst pair of stores.
        spent: What the ledger had charged to the attribute on it, in nats.
        pairs: Number of pairs of stores.
        transcripts: Number of transcripts of all pairs together.
        holds: Whether no transcript passes e^{B_a}, decided in fractions.
        within_ledger: Whether the worst one does not pass e^{spent} either.
    """

    attribute: str
    cap: Fraction
    audit: Audit
    spent: Fraction
    pairs: int
    transcripts: int
    holds: bool
    within_ledger: bool


@dataclass(frozen=True)
class PolicyAudit:
    """The audit of a policy.

    Attributes:
        depth: Number of turns.
        queries: What the application could ask at every turn.
        attributes: One audit per attribute that any pair differs in.
        findings: One finding per condition of the contract.
    """

    depth: int
    queries: tuple[str, ...]
    attributes: tuple[AttributeAudit, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Return whether every cap and every condition held."""
        return all(a.holds and a.within_ledger for a in self.attributes) and all(
            finding.holds for finding in self.findings
        )


def interface_of(policy: Policy) -> TrustedInterface:
    """Return the trusted interface that `MemView` builds from a policy alone.

    Where the policy is calibrated for an embedding model, cues stand in for it: the
    stores that are compared are made of cues, and the bound holds for every scorer.
    """
    calibrated = isinstance(policy.scorer, EmbeddingScore)
    scorer = CueScorer() if calibrated else default_scorer(policy)
    return TrustedInterface(policy, KeywordRouter.of(policy), scorer)


def audit_policy(
    interface: Interface,
    depth: int,
    queries: Sequence[str] = (),
    pairs: Sequence[Pair] = (),
) -> PolicyAudit:
    """Return the audit of an interface with its policy.

    Args:
        interface: For example `interface_of(policy)` or `MemView(...).interface`.
        depth: Number of turns, >= 1.
        queries: What the application may ask; by default a word of every slot, and
            all of them together.
        pairs: Adjacent stores, private; by default those of `witness_pairs`.
    """
    turns = Turns(interface)
    policy = turns.policy
    asked = tuple(queries) or public_queries(policy)
    chosen = list(pairs) or [
        pair for name in policy.attributes for pair in witness_pairs(policy, name)
    ]
    contract = Contract(policy)
    found: dict[str, list[Audit]] = {}
    for pair in chosen:
        search = Search(turns, pair.store, pair.other, asks_of(turns, asked, depth))
        found.setdefault(pair.attribute, []).append(search.audit(depth))
        contract.look(pair, search.visits)
    return PolicyAudit(
        depth,
        asked,
        tuple(_attribute(policy, name, audits) for name, audits in found.items()),
        contract.findings(),
    )


def given_pairs(policy: Policy, store: MemoryStore, other: MemoryStore) -> list[Pair]:
    """Return an operator's two stores as a pair for each attribute they differ within.

    Raises:
        ValueError: They are equal, have other positions than the layout, or differ
            beyond the group of every single attribute. No content is in the message.
    """
    if len(store.contents) != len(policy.positions) or len(other.contents) != len(
        policy.positions
    ):
        raise ValueError(f"a store has {len(policy.positions)} positions here")
    if store == other:
        raise ValueError("the two stores are equal, so there is nothing to compare")
    pairs = [
        Pair(name, store, other)
        for name, group in policy.groups.items()
        if are_adjacent(store, other, group)
    ]
    if not pairs:
        raise ValueError(
            "the two stores differ beyond the group of any one attribute; an attribute "
            f"named {EVERYTHING!r} would cover every difference"
        )
    return pairs


def _attribute(policy: Policy, name: str, audits: list[Audit]) -> AttributeAudit:
    worst = max(audits, key=lambda audit: audit.log_ratio)
    spent = worst.worst.ledger.balances[name].spent
    return AttributeAudit(
        name,
        policy.caps[name],
        worst,
        spent,
        len(audits),
        sum(audit.paths for audit in audits),
        all(audit.respects(policy.caps[name]) for audit in audits),
        worst.respects(spent),
    )
