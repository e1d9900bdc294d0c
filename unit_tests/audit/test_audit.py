"""The audit accepts the real interface in every mode and rejects each ablation."""

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from langchain_memview.audit.ablations import (
    ABLATIONS,
    IncompleteCharge,
    NoCap,
    RefreshOnContent,
    ablations_of,
    verdict,
)
from langchain_memview.audit.contract import contract_findings
from langchain_memview.audit.exact import audit_transcripts, walk
from langchain_memview.audit.faults import Fault, faulty
from langchain_memview.audit.frequencies import frequencies
from langchain_memview.audit.replaying import replay_account
from langchain_memview.audit.witnesses import public_queries, witness_pairs
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import (
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.epochs import TurnEpochs
from langchain_memview.core.fallback import nothing_before
from langchain_memview.core.guarantees import log_ratio, respects
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.mechanism import ExponentialMechanism
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.standing import StandingInterface
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.views import View
from langchain_memview.ledgers import InMemoryLedger
from langchain_memview.memview import MemView
from langchain_memview.policies import load_policy
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers import CueScorer, PositionScorer
from langchain_memview.testing.strategies import adjacent_pairs

EXAMPLE = Path(__file__).parents[2] / "examples" / "meal_policy.yaml"
VIEWS = {"generic": "Any.", "a": View("A.", ["amber"]), "b": View("B.", ["birch"])}
BUDGETS = {
    "online": OnlineBudget(2),
    "latest": OnlineBudget(1, "latest"),
    "posterior": OnlineBudget(2, "posterior"),
    "preallocated": PreallocatedBudget({"one": 2, "two": 2}),
    "standing": StandingBudget(),
    "epochs": StandingBudget(TurnEpochs(1, 2)),
    "top two": StandingBudget(top=2),
}


def policy(budget, cap=1):
    """Two slots, two attributes, both charged by the first slot."""
    return Policy(
        "audited",
        {"one": ProtectedAttribute([1], cap), "two": ProtectedAttribute([1, 2], 1)},
        [
            Slot("food", when=["food"], views=VIEWS, capacity=1),
            Slot("money", when=["money"], views=VIEWS, capacity=1),
        ],
        budget,
    )


def interface(used, kind=TrustedInterface, scorer=None):
    return kind(used, KeywordRouter.of(used), scorer or CueScorer())


def pairs_of(used):
    return [pair for name in used.attributes for pair in witness_pairs(used, name)]


def audits(audited, used, depth):
    queries = public_queries(used)
    return [
        (
            pair.attribute,
            audit_transcripts(
                audited, pair.store, pair.other, queries=queries, depth=depth
            ),
        )
        for pair in pairs_of(used)
    ]


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_the_real_interface_is_accepted_in_every_mode(budget):
    used = policy(budget)
    audited, depth = interface(used), 2 if budget == BUDGETS["epochs"] else 3
    for attribute, audit in audits(audited, used, depth):
        assert audit.respects(used.caps[attribute])
        assert audit.respects(audit.worst.ledger.balances[attribute].spent)
    for finding in contract_findings(
        audited, pairs_of(used), public_queries(used), depth
    ):
        assert finding.holds, finding


MODES = {
    "online": OnlineBudget(2),
    "preallocated": PreallocatedBudget({"one": 2, "two": 2}),
    "standing": StandingBudget(),
}


@pytest.mark.parametrize(
    ("mode", "kind"),
    [(mode, kind) for mode in MODES for kind in ablations_of(policy(MODES[mode]))],
)
def test_every_ablation_is_rejected_by_the_condition_that_it_breaks(mode, kind):
    found = verdict(policy(MODES[mode]), kind, 3)
    assert found.rejected
    assert kind.breaks in found.broken
    if mode != "standing":
        assert found.broken == (kind.breaks,)
    if kind not in (IncompleteCharge, NoCap):
        assert found.log_ratio == math.inf


def test_a_refresh_can_only_be_planted_where_something_stays():
    kinds = {mode: set(ablations_of(policy(MODES[mode]))) for mode in MODES}
    assert kinds["standing"] == set(ABLATIONS)
    assert kinds["online"] == kinds["preallocated"] == {*ABLATIONS} - {RefreshOnContent}


@pytest.mark.parametrize("budget", MODES.values(), ids=MODES)
def test_without_a_fault_the_same_turns_break_nothing(budget):
    found = verdict(policy(budget), Fault, 2)
    assert (found.broken, found.rejected) == ((), False)
    assert found.log_ratio <= found.cap + 1e-12


@pytest.mark.parametrize("kind", [IncompleteCharge, NoCap])
def test_what_is_not_counted_adds_up_beyond_the_cap(kind):
    # The ledger of `one` has room, so a charge that is left out of `two` shows.
    used = policy(OnlineBudget(1), cap=9)
    ratio = max(
        audit.log_ratio
        for attribute, audit in audits(faulty(interface(used), kind), used, 3)
        if not audit.respects(used.caps[attribute])
    )
    if kind is NoCap:
        # One store supports no view, the other both, in each of six selections at ε = 1.
        e = math.exp(0.5)
        assert ratio == pytest.approx(6 * math.log(e * (1 + 2 * e) / (e + 2)))


def test_a_release_that_is_called_uncharged_is_a_charge_left_out():
    class Unpaid(TrustedInterface):
        """Charges nothing at all, and says so."""

        @override
        def turn(self, query, history, read, transact, released=nothing_before):
            def unpaid(decide):
                return transact(
                    lambda ledger: [
                        replace(slot, outcome="uncharged", charged=(), epsilon=0)
                        for slot in decide(ledger)
                    ]
                )

            return super().turn(query, history, read, unpaid, released)

    used = policy(OnlineBudget(1), cap=9)
    audited = interface(used, Unpaid)
    findings = contract_findings(audited, pairs_of(used), public_queries(used), 1)
    assert {f.condition for f in findings if not f.holds} >= {"C2", "C3"}
    assert "does not charge" in next(f.text for f in findings if f.condition == "C2")


def test_a_charge_below_what_a_release_reveals_is_noticed():
    class Cheap(TrustedInterface):
        """Charges half of the ε that it draws with."""

        @override
        def cost(self, slot):
            cost = super().cost(slot)
            halves = tuple(cost.epsilon / 2 for _ in cost.charge_set)
            return replace(cost, shares=halves)

    used = policy(OnlineBudget(1), cap=9)
    findings = contract_findings(
        interface(used, Cheap), pairs_of(used), public_queries(used), 1
    )
    assert [f.condition for f in findings if not f.holds] == ["C3"]


def test_a_slot_of_one_view_says_nothing_and_owes_nothing():
    used = policy(OnlineBudget(1))
    silent = replace(used.slots[0], views={"generic": "Any."})
    used = replace(used, slots=[silent, used.slots[1]])
    findings = contract_findings(
        interface(used), pairs_of(used), public_queries(used), 2
    )
    assert all(finding.holds for finding in findings)


def test_the_real_interface_passes_where_its_ablations_are_rejected():
    used = policy(OnlineBudget(1), cap=9)
    for attribute, audit in audits(interface(used), used, 3):
        assert audit.respects(used.caps[attribute])


def test_a_refresh_when_content_changes_would_be_an_infinite_loss():
    used = policy(StandingBudget())
    same = MemoryStore(("amber", ""))
    changed = MemoryStore(("birch", ""))
    stays, changes = [same, same], [same, changed]
    real = interface(used)
    queries = ["food"]
    honest = audit_transcripts(real, stays, changes, queries=queries, depth=2)
    assert honest.log_ratio == 0
    refreshed = faulty(real, RefreshOnContent)
    audit = audit_transcripts(refreshed, stays, changes, queries=queries, depth=2)
    assert audit.log_ratio == math.inf


def test_standing_on_one_facet_is_tight():
    used = policy(StandingBudget())
    used = replace(
        used, slots=[replace(slot, facet="all") for slot in used.slots], layout=None
    )
    found = max(
        (audit for _, audit in audits(interface(used), used, 2)),
        key=lambda audit: audit.log_ratio,
    )
    assert found.log_ratio == pytest.approx(1, abs=1e-9)
    assert found.respects(Fraction(1))
    assert not found.respects(Fraction(999, 1000))


@given(adjacent_pairs(), st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_the_search_finds_the_worst_of_all_walked_transcripts(pair, depth):
    audited = interface(pair.policy)
    queries = ("food", "money and rest")
    audit = audit_transcripts(
        audited, pair.store, pair.other, queries=queries, depth=depth
    )
    walked = list(walk(audited, pair.store, pair.other, queries, depth))
    ratios = [abs(log_ratio(path.likelihood, path.other)) for path in walked]
    assert audit.log_ratio == pytest.approx(max(ratios))
    assert audit.paths == len(walked)


def test_a_router_that_uses_the_history_is_walked_with_its_history():
    used = policy(OnlineBudget(3))
    keywords = KeywordRouter.of(used)

    class Once:
        def active_slots(self, query, history):
            before = {name for turn in history.turns for name in turn.views}
            return set(keywords.active_slots(query, history)) - before

    audited = TrustedInterface(used, Once(), CueScorer())
    store, other = MemoryStore(("amber", "")), MemoryStore(("", "birch"))
    audit = audit_transcripts(audited, store, other, queries=["food"], depth=3)
    ratios = [
        abs(log_ratio(path.likelihood, path.other))
        for path in walk(audited, store, other, ["food"], 3)
    ]
    assert audit.log_ratio == pytest.approx(max(ratios))


def test_the_witnesses_of_the_example_are_adjacent_and_public():
    used = load_policy(EXAMPLE)
    texts = EXAMPLE.read_text("utf-8")
    for name, group in used.groups.items():
        pairs = list(witness_pairs(used, name))
        assert len(pairs) >= 6
        for pair in pairs:
            for position, (mine, yours) in enumerate(
                zip(pair.store.contents, pair.other.contents, strict=True), 1
            ):
                assert mine == yours or position in group
                assert all(word in texts for word in (mine + " " + yours).split())


def test_the_witnesses_have_the_largest_ratio_of_a_single_draw():
    used = replace(
        policy(OnlineBudget(1)), attributes={"one": ProtectedAttribute([1], 1)}
    )
    found = max(
        audit_transcripts(
            interface(used), pair.store, pair.other, queries=["food"], depth=1
        ).log_ratio
        for pair in witness_pairs(used, "one")
    )
    # By hand: all scores that cues can give to three views, against all others.
    scores = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]
    law = {u: ExponentialMechanism(1, 1).probabilities(u) for u in scores}
    best = max(
        log_ratio(law[u][v], law[w][v]) for u in law for w in law for v in (0, 1, 2)
    )
    assert found == pytest.approx(best)


def test_many_slots_are_asked_for_in_several_joint_queries():
    slots = [
        Slot(f"s{i}", when=[f"word{i}"], views=VIEWS, capacity=1) for i in range(12)
    ]
    slots[0] = replace(slots[0], views={"generic": "Any."})
    slots[1] = replace(slots[1], when=[])
    used = Policy("many", {"a": ProtectedAttribute([3], 1)}, slots, OnlineBudget(2))
    queries = public_queries(used)
    joint = [query.split() for query in queries if " " in query]
    assert len(queries) == 11 + len(joint)
    assert sorted(word for words in joint for word in words) == sorted(queries[:11])
    assert [len(words) for words in joint] == [6, 5]


# -- one recorded path ------------------------------------------------------------------


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
def test_a_recorded_account_never_passes_what_it_was_charged(budget):
    used = policy(budget)
    memory = {1: "amber", 2: "birch"}
    memview = MemView(used, InMemoryBackend({"ana": memory}), ledger=InMemoryLedger())
    for number in range(4):
        memview.turn(
            "food money", subject="ana", audience="app", operation=f"t{number}"
        )
    store = MemoryStore.of(2, memory)
    for other in ({}, {1: "birch"}, {1: "amber", 2: "amber"}, memory):
        replayed = replay_account(
            memview.interface,
            memview.history("ana"),
            store,
            MemoryStore.of(2, other),
        )
        assert replayed.holds
        assert abs(replayed.log_ratio) <= float(replayed.bound) + 1e-12
        assert replayed.draws == sum(
            slot.outcome == "selected"
            for record in memview.history("ana")
            for slot in record.slots
        )
    assert replayed.log_ratio == replayed.bound == 0
    spent = memview.balances("ana")["two"].spent
    assert (
        replay_account(
            memview.interface, memview.history("ana"), store, MemoryStore(("", ""))
        ).bound
        <= 2 * spent
    )


def test_an_account_of_another_policy_is_refused():
    used = policy(OnlineBudget(2))
    memview = MemView(used, InMemoryBackend(), ledger=InMemoryLedger())
    memview.turn("food", subject="ana", audience="app", operation="t1")
    money = replace(used.slots[1], capacity=None, read=None)
    fewer = replace(used, slots=[money], layout={1: "money", 2: "money"})
    with pytest.raises(ValueError, match="under the policy that released it"):
        replay_account(
            interface(fewer),
            memview.history("ana"),
            MemoryStore(("", "")),
            MemoryStore(("", "")),
        )


def test_additive_charges_are_audited_like_all_others():
    used = policy(OnlineBudget(1))
    audited = interface(used, scorer=PositionScorer())
    for pair in pairs_of(used):
        audit = audit_transcripts(
            audited, pair.store, pair.other, queries=public_queries(used), depth=3
        )
        spent = audit.worst.ledger.balances[pair.attribute].spent
        p, q = audit.worst.likelihood, audit.worst.other
        assert respects(p, q, spent)
        assert respects(q, p, spent)
    assert StandingInterface(interface(policy(StandingBudget()))).trusted.policy


@pytest.mark.parametrize("budget", [OnlineBudget(2), StandingBudget()])
def test_seeded_draws_of_public_stores_follow_their_law(budget):
    # Five standard errors on six views: a false alarm has probability below 1e-5, and
    # the coins are seeded, so it does not flicker.
    used = policy(budget)
    store = MemoryStore(("amber", "birch"))
    found = frequencies(interface(used), "food money", store)
    assert len(found) == 6
    assert sum(one.law for one in found) == pytest.approx(2)
    assert all(abs(one.drawn - one.law) <= one.error for one in found)


def test_draws_of_another_law_are_noticed():
    used = policy(OnlineBudget(2))
    sharp = interface(policy(OnlineBudget(1)))
    store = MemoryStore(("amber", "birch"))
    law = {(f.slot, f.view): f for f in frequencies(interface(used), "food", store)}
    found = frequencies(sharp, "food", store)
    assert any(
        abs(f.drawn - law[f.slot, f.view].law) > law[f.slot, f.view].error
        for f in found
    )
