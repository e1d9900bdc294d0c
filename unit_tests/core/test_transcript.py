"""Eq. (1), C6 and the values that leave the interface."""

from fractions import Fraction

import pytest

from langchain_memview.core.accounts import (
    Account,
    Operation,
    Record,
    same_request,
)
from langchain_memview.core.ledger import Balance
from langchain_memview.core.release import Release, SlotRelease
from langchain_memview.core.routing import active_slots
from langchain_memview.core.transcript import (
    AugmentedTranscript,
    AugmentedTurn,
    Turn,
)
from langchain_memview.core.views import View, vocabulary
from langchain_memview.errors import OperationConflictError, WiringError


def test_eq_1_the_ordinary_transcript_is_the_augmented_one_without_views():
    turn = AugmentedTurn("q", None, "y", {"food": "generic"})
    assert AugmentedTranscript().then(turn).ordinary() == (Turn("q", None, "y"),)


def test_controls_and_views_of_a_release_cannot_be_changed():
    balances = {"debt": Balance(Fraction(1), Fraction(2))}
    slots = (SlotRelease("food", "cheap", "selected"),)
    release = Release("t1", {"food": View("Cheap.")}, balances, slots)
    assert release.outcomes == {"food": "selected"}
    assert release.control.balances == balances
    again = Release("t1", release.views, balances, slots, replayed=True)
    assert again.outcomes == {"food": "replayed"}
    with pytest.raises(TypeError):
        release.views["food"] = View("Else.")  # type: ignore[index]


def test_a_vocabulary_puts_the_generic_view_first():
    views = vocabulary({"b": "B.", "generic": "Any.", "a": View("A.", ["x"])})
    assert list(views) == ["generic", "b", "a"]
    assert views["a"] == View("A.", ["x"], "a")
    assert list(vocabulary({"b": "B."})) == ["b"]


def test_c4_active_slots_come_in_policy_order_and_unknown_ones_are_refused(
    debt_policy,
):
    class Router:
        def __init__(self, *names: str) -> None:
            self.names = names

        def active_slots(self, query, history):
            return self.names

    history = AugmentedTranscript()
    found = active_slots(debt_policy, Router("food", "food"), "q", history)
    assert [slot.name for slot in found] == ["food"]
    with pytest.raises(WiringError, match="'sports', which the policy does not have"):
        active_slots(debt_policy, Router("sports"), "q", history)


def test_an_account_names_its_audience_only_where_the_scope_says_so(debt_policy):
    shared = Account.of(debt_policy, "ana", "meal-app")
    assert shared.audience is None
    assert shared.key == Account.of(debt_policy, "ana", "bank").key
    object.__setattr__(debt_policy, "scope", "audience")
    own = Account.of(debt_policy, "ana", "meal-app")
    assert own.audience == "meal-app"
    assert own.key != Account.of(debt_policy, "ana", "bank").key


def test_a_repeated_operation_must_repeat_its_request():
    record = Record(1, Operation.of("t1", "app", "dinner?"), ())
    assert same_request(record, Operation.of("t1", "app", "dinner?")).replayed
    for other in (("app", "lunch?"), ("bank", "dinner?")):
        with pytest.raises(OperationConflictError, match="'t1' was recorded for"):
            same_request(record, Operation.of("t1", *other))
