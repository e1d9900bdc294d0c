"""The trusted interface put together: turns, replays, memories, balances."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction

import pytest

from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.ledger import Balance
from langchain_memview.core.policy import (
    Policy,
    ProtectedAttribute,
    ScoreWeights,
    Slot,
)
from langchain_memview.core.transcript import AugmentedTranscript, AugmentedTurn
from langchain_memview.core.views import View
from langchain_memview.errors import (
    OperationConflictError,
    PositionError,
    WiringError,
)
from langchain_memview.ledgers import InMemoryLedger
from langchain_memview.memview import MemView

FOOD = {"generic": "Any dish.", "cheap": View("Cheap dishes.", ["owes"])}
POLICY = Policy(
    "meals",
    {"debt": ProtectedAttribute([1, 2], cap=2)},
    [
        Slot("food", when=["dinner"], views=FOOD, capacity=2),
        Slot(
            "pets",
            when=["dog"],
            views={"generic": "Any pet.", "big": View("Big.", ["dane"])},
            capacity=1,
        ),
        Slot("void", when=["void"], views=FOOD, capacity=0),
    ],
    OnlineBudget(3),
)
MEMORIES = {"ana": {1: "Owes 9,000.", 3: "Has a Great Dane."}}


@pytest.fixture
def memview() -> MemView:
    return MemView(POLICY, InMemoryBackend(MEMORIES), ledger=InMemoryLedger())


def ask(memview, query, operation="t1", subject="ana", **more):
    return memview.turn(
        query, subject=subject, audience="app", operation=operation, **more
    )


def test_an_admitted_selection_is_charged_and_recorded(memview):
    release = ask(memview, "dinner")
    assert release.operation == "t1"
    assert release.outcomes == {"food": "selected"}
    assert release.views["food"].say in {"Any dish.", "Cheap dishes."}
    assert release.balances == {"debt": Balance(Fraction(2, 3), Fraction(2))}
    (record,) = memview.history("ana")
    assert record.slots == release.slots
    assert record.slots[0].charged == ("debt",)
    assert record.slots[0].read_set == (1, 2)


def test_a_repeated_operation_returns_the_recorded_views_and_costs_nothing(memview):
    releases = {}
    for _ in range(20):
        release = ask(memview, "dinner")
        releases[release.views["food"].name] = release
    assert len(releases) == 1
    assert release.outcomes == {"food": "replayed"}
    assert memview.balances("ana")["debt"].spent == Fraction(2, 3)


def test_a_repeated_id_with_other_public_parameters_is_an_error(memview):
    ask(memview, "dinner")
    turn = AugmentedTurn("hello", None, "hi")
    with pytest.raises(OperationConflictError):
        ask(memview, "dinner", history=AugmentedTranscript((turn,)))
    with pytest.raises(OperationConflictError):
        ask(memview, "dinner, please")
    assert len(memview.history("ana")) == 1


def test_c5_a_spent_cap_gives_the_generic_view_for_ever(memview):
    for number in range(3):
        assert ask(memview, "dinner", f"t{number}").outcomes == {"food": "selected"}
    for number in range(3, 9):
        release = ask(memview, "dinner", f"t{number}")
        assert release.outcomes == {"food": "generic"}
        assert release.views["food"].name == "generic"
        assert release.slots[0].blocked_by == ("debt",)
    assert memview.balances("ana")["debt"] == Balance(Fraction(2), Fraction(2))


def test_a_slot_that_no_attribute_protects_shows_its_best_view_for_free(memview):
    release = ask(memview, "a dog")
    assert release.outcomes == {"pets": "uncharged"}
    assert release.views["pets"].name == "big"
    assert ask(memview, "a dog", subject="ben").views["pets"].name == "generic"
    assert memview.balances("ana")["debt"].spent == 0


def test_a_slot_with_a_single_view_costs_nothing():
    alone = Policy(
        "alone",
        POLICY.attributes,
        [Slot("food", when=["dinner"], views={"generic": "Any dish."}, capacity=2)],
        POLICY.budget,
    )
    memview = MemView(alone, InMemoryBackend(MEMORIES), ledger=InMemoryLedger())
    assert ask(memview, "dinner").outcomes == {"food": "uncharged"}
    assert memview.balances("ana")["debt"].spent == 0


def test_a_slot_without_positions_always_shows_its_generic_view(memview):
    release = ask(memview, "into the void")
    assert release.views["void"].name == "generic"


def test_slots_come_in_policy_order_whatever_the_query_says_first(memview):
    assert list(ask(memview, "dog or dinner?").views) == ["food", "pets"]


def test_a_query_that_activates_nothing_releases_and_records_nothing(memview):
    release = ask(memview, "Good morning!")
    assert (release.views, release.outcomes, release.slots) == ({}, {}, ())
    assert memview.history("ana") == ()


def test_a_person_without_memories_is_charged_like_any_other(memview):
    release = ask(memview, "dinner", subject="nobody")
    assert release.outcomes == {"food": "selected"}
    assert release.balances["debt"].spent == Fraction(2, 3)


async def test_the_asynchronous_turn_is_the_same_turn(memview):
    release = await memview.aturn(
        "dinner", subject="ana", audience="app", operation="t1"
    )
    assert ask(memview, "dinner").views == release.views


def test_memories_take_the_positions_of_their_slot_in_order():
    memview = MemView(POLICY, InMemoryBackend(), ledger=InMemoryLedger())
    assert memview.remember("ana", "first", slot="food") == 1
    assert memview.remember("ana", "second", slot="food") == 2
    with pytest.raises(PositionError, match="every position of slot 'food' is taken"):
        memview.remember("ana", "third", slot="food")
    assert memview.remember("ana", "instead", position=1) == 1
    assert memview.remember("ana", "instead", slot="food", position=2) == 2
    for slot, position in (("pets", 1), ("", 9), ("food", 9)):
        with pytest.raises(PositionError, match="is not in the layout"):
            memview.remember("ana", "x", slot=slot, position=position)
    with pytest.raises(PositionError, match="pass slot= or position="):
        memview.remember("ana", "x")
    for slot in ("sports", "void"):
        with pytest.raises(PositionError, match="has no position in the layout"):
            memview.remember("ana", "x", slot=slot)


def test_a_full_slot_replaces_its_oldest_memory_where_the_policy_says_so():
    backend = InMemoryBackend()
    policy = replace(POLICY, when_full="oldest")
    memview = MemView(policy, backend, ledger=InMemoryLedger())
    places = [memview.remember("ana", text, slot="food") for text in "abc"]
    assert places == [1, 2, 1]
    memview.remember("ana", "d", position=2)
    assert memview.remember("ana", "e", slot="food") == 1
    assert backend.read("ana", {1, 2}) == {1: "e", 2: "d"}


def test_the_policy_s_weights_choose_the_paper_s_scorer_and_sensitivity():
    weighted = Policy(
        "weighted",
        POLICY.attributes,
        POLICY.slots,
        POLICY.budget,
        POLICY.layout,
        scorer=ScoreWeights(),
    )
    memview = MemView(weighted, InMemoryBackend(), ledger=InMemoryLedger())
    assert memview.interface.sensitivity == Fraction(3, 5)
    careful = Policy(
        "careful",
        POLICY.attributes,
        POLICY.slots,
        POLICY.budget,
        POLICY.layout,
        scorer=ScoreWeights(),
        sensitivity="0.8",
    )
    memview = MemView(careful, InMemoryBackend(), ledger=InMemoryLedger())
    assert memview.interface.sensitivity == Fraction(4, 5)


def test_an_audience_of_its_own_has_a_ledger_of_its_own():
    own = Policy(
        "own",
        POLICY.attributes,
        POLICY.slots,
        POLICY.budget,
        POLICY.layout,
        scope="audience",
    )
    memview = MemView(own, InMemoryBackend(), ledger=InMemoryLedger())
    ask(memview, "dinner")
    assert memview.balances("ana", audience="app")["debt"].spent == Fraction(2, 3)
    assert memview.balances("ana", audience="bank")["debt"].spent == 0
    assert memview.history("ana", audience="bank") == ()


def test_its_representation_shows_the_policy_s_name_alone(memview):
    assert repr(memview) == "MemView('meals')"


class PicklableBackend(InMemoryBackend):
    """Would give all its memories to whoever pickles it."""

    def __reduce__(self):
        return PicklableBackend, (MEMORIES,)


@pytest.mark.parametrize(
    "copied", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deep"]
)
def test_it_is_neither_pickled_nor_copied_whatever_its_backend_allows(copied):
    memview = MemView(POLICY, PicklableBackend(MEMORIES), ledger=InMemoryLedger())
    with pytest.raises(WiringError, match="neither pickled nor copied") as caught:
        copied(memview)
    assert "9,000" not in str(caught.value)


def test_a_pickled_record_of_a_release_holds_views_and_no_memory(memview):
    release = ask(memview, "dinner")
    for public in (release.slots, release.outcomes, memview.history("ana")):
        assert b"9,000" not in pickle.dumps(public)
    with pytest.raises(TypeError, match="mappingproxy"):
        pickle.dumps(release)
