"""What a selection by an additive scorer costs each attribute, against the exact law."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_memview.audit.exact import outcomes
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import (
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.charging import additive_share
from langchain_memview.core.cost import additive_cost
from langchain_memview.core.guarantees import respects
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.recount import recomputed
from langchain_memview.core.release import SlotRelease
from langchain_memview.core.store import MemoryStore
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.core.views import View
from langchain_memview.errors import WiringError
from langchain_memview.ledgers import InMemoryLedger, SqliteLedger
from langchain_memview.memview import MemView
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.scorers import CueScorer, PositionScorer

VIEWS = {"generic": "Any.", "a": View("A.", ["amber"]), "b": View("B.", ["birch"])}


def policy(groups, capacity=4, budget=None, **slot):
    return Policy(
        "additive",
        {name: ProtectedAttribute(group, 2) for name, group in groups.items()},
        [Slot("food", when=["food"], views=VIEWS, capacity=capacity, **slot)],
        budget or OnlineBudget(2),
    )


def law(used, contents):
    trusted = TrustedInterface(used, KeywordRouter.of(used), PositionScorer())
    found = outcomes(
        trusted,
        "food",
        AugmentedTranscript(),
        MemoryStore.of(len(used.positions), contents),
        Ledger.opened(used.caps),
    )
    return {slots[0].view: (p, slots[0]) for slots, (p, _) in found.items()}


def test_an_attribute_pays_for_the_positions_that_it_has_in_the_read_set():
    used = policy({"one": [1], "two": [2, 3]})
    cost = additive_cost(used, used.slots[0])
    # B/K = 1 for the attribute with half of the positions, so ε = 2 and half of that
    # for the other one; CueScorer would run at 1 and charge 1 to both.
    assert cost.epsilon == 2
    assert cost.charges == {"one": Fraction(1, 2), "two": Fraction(1)}


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {n: st.frozensets(st.integers(1, 4), min_size=1) for n in ("one", "two")}
    ),
    st.sampled_from([OnlineBudget(3), PreallocatedBudget({"one": 5, "two": 2})]),
    st.data(),
)
def test_no_change_inside_a_group_loses_more_than_its_charge(groups, budget, data):
    used = policy(groups, budget=budget)
    word = st.sampled_from(["amber", "birch", ""])
    background = {position: data.draw(word) for position in range(1, 5)}
    for name, group in groups.items():
        mine, yours = (
            law(used, background | {position: data.draw(word) for position in group})
            for _ in range(2)
        )
        for view, (p, slot) in mine.items():
            assert respects(p, yours[view][0], slot.charges[name])
            assert respects(yours[view][0], p, slot.charges[name])


def test_the_charge_is_attained_in_the_limit_of_many_views():
    # Eq. (7) is tight where one view rises, all others fall and the rest weighs little.
    share = additive_share(Fraction(2), [1, 2], frozenset({1}))
    assert share == 1
    used = policy({"one": [1]}, capacity=2, budget=OnlineBudget(1))
    p = law(used, {1: "amber", 2: "amber"})["a"][0]
    q = law(used, {1: "birch", 2: "amber"})["a"][0]
    assert 0.5 < math.log(p / q) < 2


@given(
    st.fractions(min_value="1/10", max_value=8),
    st.frozensets(st.integers(1, 9), min_size=1),
    st.frozensets(st.integers(1, 9)),
)
def test_a_share_is_a_whole_number_of_ticks_and_no_less_than_the_loss(e, read, group):
    share = additive_share(e, read, group)
    touched = Fraction(len(read & group), len(read))
    assert (share * 9_009_000_000).denominator == 1
    assert e * touched <= share <= e * touched + e / 1000 + Fraction(1, 9_009_000_000)


def test_an_added_attribute_pays_for_everything_and_no_read_costs_what_it_says():
    used = policy(
        {"one": [1], "two": [5]}, capacity=5, read=[1, 2], charge=["one", "two"]
    )
    cost = additive_cost(used, used.slots[0])
    assert cost.charges == {"one": Fraction(1, 2), "two": Fraction(1)}
    nothing = policy({"one": [1]}, read=[], charge=["one"])
    assert additive_cost(nothing, nothing.slots[0]).charges == {"one": Fraction(1)}
    standing = policy({"one": [1]}, budget=StandingBudget())
    with pytest.raises(TypeError, match="standing"):
        additive_cost(standing, standing.slots[0])


def test_a_large_group_of_singletons_does_not_ask_for_an_endless_law():
    used = policy({"one": [1]}, capacity=1000, budget=OnlineBudget(1))
    cost = additive_cost(used, used.slots[0])
    assert cost.epsilon == 100
    assert cost.charges == {"one": Fraction(1, 10)}


def test_shares_are_charged_recorded_and_counted_again(tmp_path):
    used = policy({"one": [1], "two": [2, 3]})
    for ledger in (InMemoryLedger(), SqliteLedger(tmp_path / "l.sqlite")):
        memview = MemView(
            used, InMemoryBackend(), ledger=ledger, scorer=PositionScorer()
        )
        for number in range(3):
            release = memview.turn(
                "food", subject="ana", audience="app", operation=f"t{number}"
            )
        assert release.outcomes == {"food": "generic"}
        assert release.slots[0].blocked_by == ("two",)
        spent = {n: b.spent for n, b in memview.balances("ana").items()}
        assert spent == {"one": Fraction(1), "two": Fraction(2)}
        first = memview.history("ana")[0].slots[0]
        assert first.charges == {"one": Fraction(1, 2), "two": Fraction(1)}
        # Position 3 joins the other group: half of what was read could tell about it.
        wider = policy({"one": [1, 3], "two": [2, 3]})
        again = MemView(wider, InMemoryBackend(), ledger=ledger)
        assert again.balances("ana")["one"] == Balance(Fraction(2), Fraction(2))


def test_a_recount_takes_the_larger_of_what_was_charged_and_what_could_be_lost():
    shared = SlotRelease(
        "food", "a", "selected", (1, 2), ("one",), Fraction(2), shares=(Fraction(2),)
    )
    plain = SlotRelease("food", "a", "selected", (1,), ("one",), Fraction(1))
    groups = {"one": frozenset({1}), "new": frozenset({2}), "off": frozenset({9})}
    caps = dict.fromkeys(groups, Fraction(9))
    found = recomputed([shared, plain], groups, caps, Ledger.opened(caps))
    assert {n: b.spent for n, b in found.balances.items()} == {
        "one": Fraction(3),
        "new": Fraction(1),
        "off": Fraction(0),
    }


def test_an_additive_scorer_with_another_weight_is_refused():
    class Half(PositionScorer):
        @property
        def support_weights(self):
            return (Fraction(1, 2),)

    with pytest.raises(WiringError, match="the one private weight 1"):
        MemView(
            policy({"one": [1]}),
            InMemoryBackend(),
            ledger=InMemoryLedger(),
            scorer=Half(),
        )


def test_a_scorer_that_fails_at_one_position_counts_as_having_found_nothing_there():
    class Failing(PositionScorer):
        def position_support(self, slot, content):
            if "birch" in content:
                raise ZeroDivisionError(content)
            return super().position_support(slot, content)

    used = policy({"one": [1]}, capacity=2)
    trusted = TrustedInterface(used, KeywordRouter.of(used), Failing())
    store = MemoryStore.of(2, {1: "birch", 2: "amber"})
    found = outcomes(
        trusted, "food", AugmentedTranscript(), store, Ledger.opened(used.caps)
    )
    best = max(found, key=lambda slots: found[slots][0])
    assert best[0].view == "a"


def test_the_rows_of_an_additive_scorer_agree_with_its_sum():
    used = policy({"one": [1]})
    texts = ["amber", "birch amber", "", "dune"]
    (row,) = PositionScorer().support(used.slots[0], texts)
    assert row == [0.5, 0.5, 0.25]
    assert PositionScorer().support(used.slots[0], []) == [[0, 0, 0]]
    assert not isinstance(CueScorer(), type(PositionScorer()))
