"""The demo's policy and Ana's memories fit each other, and no group has a gap."""

import re

import pytest

from langchain_memview import InMemoryLedger, MemView
from langchain_memview.backends import InMemoryBackend
from langchain_memview.demo.policy import LABELS, meal_policy
from langchain_memview.demo.user import ANA, MEMORIES, remember_ana

HINTS = {
    "type2_diabetes": "diabet|metformin|hba1c|glucose|sugar|diagnosis|carbs",
    "pregnancy": "pregnan|midwife|ultrasound|nursery|crib|pram|folic",
    "severe_debt": "owe|loan|debt|bailiff|pawn|collector|overdue|unaffordable",
    "job_loss": "unemploy|let me go|cannery|vacanc|applications",
}
"""What a reader would take for a hint at the attribute."""


def test_there_are_28_positions_in_six_slots_and_all_are_filled():
    policy = meal_policy()
    sizes = {slot.name: slot.capacity for slot in policy.slots}
    assert sizes == {
        "health": 6,
        "food": 6,
        "finance": 5,
        "work": 4,
        "schedule": 4,
        "household": 3,
    }
    assert set(MEMORIES) == set(policy.positions) == set(range(1, 29))


@pytest.mark.parametrize("attribute", HINTS)
def test_a_memory_hints_at_an_attribute_exactly_if_it_is_in_its_group(attribute):
    hint = re.compile(rf"\b(?:{HINTS[attribute]})", re.IGNORECASE)
    hinting = {position for position, text in MEMORIES.items() if hint.search(text)}
    group = meal_policy().groups[attribute]
    assert hinting <= group
    assert 4 <= len(group) <= 6


def test_one_position_is_in_two_groups():
    groups = meal_policy().groups
    assert groups["type2_diabetes"] & groups["severe_debt"] == {8}


def test_what_a_selection_is_charged_to():
    policy = meal_policy()
    assert {s.name: set(policy.charge_set(s)) for s in policy.slots} == {
        "health": {"type2_diabetes"},
        "food": {"type2_diabetes", "severe_debt"},
        "finance": {"severe_debt"},
        "work": {"job_loss"},
        "schedule": set(),
        "household": {"pregnancy"},
    }


def test_every_position_is_read_by_some_slot():
    policy = meal_policy()
    assert set(MEMORIES) == set().union(*(policy.read_set(s) for s in policy.slots))


def test_a_slot_has_few_views_and_the_screen_knows_every_attribute():
    policy = meal_policy()
    assert all(2 <= len(slot.vocabulary) <= 4 for slot in policy.slots)
    assert set(LABELS) == set(policy.attributes)


def test_writing_ana_twice_changes_nothing():
    backend = InMemoryBackend()
    memview = MemView(meal_policy(), backend, ledger=InMemoryLedger())
    remember_ana(memview)
    remember_ana(memview)
    assert backend.read(ANA, set(MEMORIES)) == MEMORIES
