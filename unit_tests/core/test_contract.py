"""C1, C2, C4, C5, Lemma 1 and Theorem 1 over random policies, stores and queries.

Every probability is exact: the walk enumerates all releases of the real turn. The twins
at the end break one condition each and must be noticed by the same comparison.
"""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_memview.audit.counterexamples import counterexamples
from langchain_memview.audit.exact import audit_transcripts, outcomes, walk
from langchain_memview.core.charging import affected_attributes, charge_set
from langchain_memview.core.guarantees import respects
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.store import (
    MemoryStore,
    are_adjacent,
    differing_positions,
)
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.positions import PositionScorer
from langchain_memview.scorers.weighted import WeightedScorer
from langchain_memview.testing.strategies import SLOTS, adjacent_pairs, policies

QUERIES = ("food", "money and rest", "food, money and rest", "nothing known")
SCORERS = st.sampled_from([CueScorer(), WeightedScorer(), PositionScorer()])


def interface(policy, scorer=None):
    return TrustedInterface(policy, KeywordRouter.of(policy), scorer or CueScorer())


@given(adjacent_pairs(), SCORERS, st.lists(st.sampled_from(QUERIES), max_size=4))
@settings(max_examples=120)
def test_theorem_1_no_log_ratio_passes_the_final_ledger_or_the_cap(
    pair, scorer, queries
):
    audited = interface(pair.policy, scorer)
    cap = pair.policy.caps[pair.attribute]
    ledger, history = Ledger.opened(pair.policy.caps), AugmentedTranscript()
    frontier = [(Fraction(1), Fraction(1), ledger)]
    for query in queries:  # the adaptive order is covered by walking all prefixes
        following = []
        for p, q, before in frontier[:40]:
            mine = outcomes(audited, query, history, pair.store, before)
            yours = outcomes(audited, query, history, pair.other, before)
            assert mine.keys() == yours.keys()  # C1, C4: one support, one course
            following += [
                (p * chance, q * yours[released][0], after)
                for released, (chance, after) in mine.items()
            ]
        frontier = following
    for p, q, after in frontier:
        spent = after.balances[pair.attribute].spent
        assert spent <= cap
        assert respects(p, q, spent)
        assert respects(q, p, spent)


@given(adjacent_pairs())
@settings(max_examples=40)
def test_theorem_1_holds_for_every_adaptive_choice_of_two_queries(pair):
    cap = pair.policy.caps[pair.attribute]
    for path in walk(interface(pair.policy), pair.store, pair.other, QUERIES[:2], 2):
        spent = path.ledger.balances[pair.attribute].spent
        assert spent <= cap
        assert respects(path.likelihood, path.other, spent)
        assert respects(path.other, path.likelihood, spent)


@given(policies(), st.data())
def test_c1_the_vocabulary_of_a_slot_is_the_same_object_for_every_store(policy, data):
    slot = data.draw(st.sampled_from(policy.slots))
    assert next(iter(slot.vocabulary)) == "generic"
    assert set(slot.vocabulary) == set(slot.views)


@given(
    st.frozensets(st.integers(1, 9)),
    st.dictionaries(st.sampled_from("abc"), st.frozensets(st.integers(1, 9))),
    st.frozensets(st.sampled_from("abc")),
)
def test_c2_eq_4_a_charge_set_has_every_attribute_whose_group_is_read(
    read_set, groups, also
):
    affected = affected_attributes(read_set, groups)
    for name, group in groups.items():
        assert (name in affected) == any(position in group for position in read_set)
    assert affected <= charge_set(read_set, groups, also) == affected | also


@given(adjacent_pairs(), SCORERS, st.sampled_from(QUERIES))
def test_c2_every_released_selection_charges_all_affected_attributes(
    pair, scorer, query
):
    policy = pair.policy
    found = outcomes(
        interface(policy, scorer),
        query,
        AugmentedTranscript(),
        pair.store,
        Ledger.opened(policy.caps),
    )
    for released in found:
        for slot in released:
            affected = affected_attributes(slot.read_set, policy.groups)
            if slot.outcome == "selected":
                assert affected <= set(slot.charged)
                assert slot.epsilon > 0
            else:
                assert not slot.charged
                assert slot.epsilon == 0
            if slot.outcome == "uncharged":
                assert not affected


@given(adjacent_pairs(), SCORERS, st.sampled_from(QUERIES))
def test_lemma_1_an_uncharged_attribute_loses_nothing(pair, scorer, query):
    policy = pair.policy
    audited = interface(policy, scorer)
    start, history = Ledger.opened(policy.caps), AugmentedTranscript()
    mine = outcomes(audited, query, history, pair.store, start)
    yours = outcomes(audited, query, history, pair.other, start)
    for released, (chance, _) in mine.items():
        if all(pair.attribute not in slot.charged for slot in released):
            assert yours[released][0] == chance


@given(adjacent_pairs(), st.sampled_from(QUERIES))
def test_c4_slots_order_reads_charges_and_amounts_do_not_depend_on_the_store(
    pair, query
):
    audited = interface(pair.policy)
    start, history = Ledger.opened(pair.policy.caps), AugmentedTranscript()

    def course(store):
        return {
            tuple(replace(slot, view="") for slot in released)
            for released in outcomes(audited, query, history, store, start)
        }

    mine = course(pair.store)
    assert mine == course(pair.other)
    assert all(
        [s.slot for s in released]
        == [n for n in SLOTS if n in {s.slot for s in released}]
        for released in mine
    )


@given(adjacent_pairs())
def test_adjacent_stores_differ_inside_the_group_only(pair):
    group = pair.policy.groups[pair.attribute]
    assert are_adjacent(pair.store, pair.other, group)
    assert differing_positions(pair.store, pair.other) <= group
    longer = MemoryStore((*pair.store.contents, ""))
    assert not are_adjacent(pair.store, longer, group)


def test_a_store_shows_no_content():
    store = MemoryStore.of(2, {1: "Has taken metformin since 2019"})
    assert store.read({1, 2}) == ("Has taken metformin since 2019", "")
    assert "metformin" not in repr(store)


@pytest.mark.parametrize("broken", counterexamples(), ids=lambda c: c.condition)
def test_proposition_1_leaving_a_condition_out_passes_the_cap(broken):
    assert not respects(broken.likelihood, broken.other, broken.cap)


def test_the_walk_reports_a_ratio_beyond_the_cap_where_the_sensitivity_is_too_small(
    debt_policy,
):
    audited = interface(debt_policy)
    store, other = MemoryStore(("Owes money",)), MemoryStore(("",))
    fine = audit_transcripts(audited, store, other, queries=["dinner"], depth=3)
    assert fine.log_ratio <= 2

    class Broken(TrustedInterface):
        """Runs at a tenth of the sensitivity that its scorer has."""

        sensitivity = Fraction(1, 10)

    broken = Broken(debt_policy, KeywordRouter.of(debt_policy), CueScorer())
    found = audit_transcripts(broken, store, other, queries=["dinner"], depth=3)
    assert found.log_ratio > 2


def test_an_audit_counts_its_paths_and_names_the_worst(debt_policy):
    audited = interface(debt_policy)
    store, other = MemoryStore(("Owes money",)), MemoryStore(("",))
    audit = audit_transcripts(audited, store, other, queries=["dinner", "hi"], depth=2)
    # "dinner" has two outcomes, "hi" one: (2 + 1)² paths.
    assert audit.paths == 9
    # With one-hot scores each release at ε = 2/3 moves the odds by ε/2 on this pair.
    assert audit.log_ratio == pytest.approx(2 / 3, abs=1e-9)
    assert [ask.query for ask, _ in audit.worst.turns] == ["dinner", "dinner"]
    with pytest.raises(ValueError, match="at least one query"):
        audit_transcripts(audited, store, other, queries=[], depth=1)
