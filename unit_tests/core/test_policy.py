"""A policy is one immutable value, whichever way it is written."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import pytest

from langchain_memview.core.budget import OnlineBudget, PreallocatedBudget
from langchain_memview.core.policy import (
    Policy,
    ProtectedAttribute,
    ScoreWeights,
    Slot,
)
from langchain_memview.core.views import View
from langchain_memview.errors import PolicyError

VIEWS = {"generic": "Any.", "cheap": View("Cheap.", ["owes"])}


def policy(**changes):
    parts = {
        "name": "small",
        "attributes": {"debt": ProtectedAttribute({1, 2}, cap=2.0)},
        "slots": [Slot("food", when=["dinner"], views=VIEWS, capacity=3)],
        "budget": OnlineBudget(3),
    }
    return Policy(**(parts | changes))


def test_capacities_number_the_positions_slot_after_slot():
    slots = [
        Slot("food", views=VIEWS, capacity=2),
        Slot("money", views=VIEWS, capacity=1),
    ]
    numbered = policy(slots=slots)
    assert dict(numbered.positions) == {1: "food", 2: "food", 3: "money"}
    laid_out = policy(
        slots=[Slot("food", views=VIEWS), Slot("money", views=VIEWS)],
        layout={3: "money", 2: "food", 1: "food"},
    )
    assert numbered == laid_out
    assert hash(numbered) == hash(laid_out)
    assert numbered.lineage == laid_out.lineage


def test_a_slot_name_stands_for_all_its_positions():
    named = policy(attributes={"debt": ProtectedAttribute(["food"], "2")})
    assert named.groups == {"debt": {1, 2, 3}}
    assert named.caps == {"debt": Fraction(2)}


def test_normal_forms_are_stable_and_check_again():
    first = policy(
        scorer=ScoreWeights(0.5, 0.25, 0.25),
        sensitivity="0.75",
        scope="audience",
        when_full="oldest",
        slots=[
            Slot("food", views=VIEWS, capacity=3, read={1, 3}, charge={"debt"}),
        ],
    )
    again = replace(first)
    assert again == first
    assert again.fingerprint == first.fingerprint
    assert first.scorer == ScoreWeights(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    assert first.sensitivity == Fraction(3, 4)
    assert first.document()["scope"] == "audience"
    assert first.document()["when_full"] == "oldest"
    slot = first.slots_by_name["food"]
    assert first.read_set(slot) == (1, 3)
    assert first.charge_set(slot) == ("debt",)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"attributes": {"debt": ProtectedAttribute({1, 2}, cap=1)}},
        {"attributes": {"debt": ProtectedAttribute({1}, cap=2)}},
        {"budget": OnlineBudget(2)},
        {"budget": PreallocatedBudget({"debt": 3})},
        {"scorer": ScoreWeights()},
        {"scope": "audience"},
        {"slots": [Slot("food", when=["lunch"], views=VIEWS, capacity=3)]},
        {
            "slots": [
                Slot("food", when=["dinner"], views=VIEWS | {"x": "X."}, capacity=3)
            ]
        },
    ],
)
def test_c1_everything_that_affects_a_release_changes_the_fingerprint(changes):
    assert policy(**changes).fingerprint != policy().fingerprint


def test_another_layout_is_another_lineage_and_another_cap_is_not():
    longer = policy(slots=[Slot("food", when=["dinner"], views=VIEWS, capacity=4)])
    assert longer.lineage != policy().lineage
    lower = policy(attributes={"debt": ProtectedAttribute({1, 2}, cap=1)})
    assert lower.lineage == policy().lineage


def test_a_policy_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        policy().name = "other"
    with pytest.raises(TypeError):
        policy().positions[9] = "food"  # type: ignore[index]


def test_an_unusable_policy_raises_every_problem_at_once():
    with pytest.raises(PolicyError) as caught:
        policy(
            attributes={"debt": ProtectedAttribute({9}, cap=0)},
            slots=[Slot("food", views={"cheap": "Cheap."}, capacity=3)],
        )
    codes = {problem.code for problem in caught.value.problems}
    assert {"MV201", "MV301", "MV304"} <= codes
    assert "attributes.debt.cap error[MV304] cap of 'debt' is 0" in str(caught.value)
    assert "fix: " in str(caught.value)
