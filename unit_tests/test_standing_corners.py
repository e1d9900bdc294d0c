"""Corners of groups, reads, facets, epochs and renewals that were once wrong."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from langchain_memview import (
    InMemoryLedger,
    MemView,
    MemViewError,
    Policy,
    PolicyError,
    ProtectedAttribute,
    Slot,
    SqliteLedger,
    View,
)
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget, StandingBudget
from langchain_memview.core.charging import additive_share
from langchain_memview.core.epochs import (
    CalendarEpochs,
    OneEpoch,
    SubjectEpochs,
    TurnEpochs,
)
from langchain_memview.core.guarantees import differing_loss
from langchain_memview.errors import MemoryUnavailableError, SubjectError, WiringError
from langchain_memview.scorers.cue import CueScorer


def views(*names):
    return {"generic": "G", **{n: View(n.upper(), [n]) for n in names}}


def slot(name, word, names=("x",), **kw):
    return Slot(name, [word], views(*names), capacity=1, **kw)


def policy(slots, budget, caps=(2, 2), **kw):
    at = {
        n: ProtectedAttribute([i], c)
        for i, (n, c) in enumerate(zip("ab", caps, strict=True), 1)
    }
    return Policy("p", at, slots, budget, **kw)


def turn(memview, query, operation="1"):
    return memview.turn(query, subject="u", audience="app", operation=operation)


def test_a_position_that_is_read_twice_is_refused_and_would_cost_twice():
    with pytest.raises(PolicyError, match="MV215"):
        Policy(
            "p",
            {"a": ProtectedAttribute([1], 2), "b": ProtectedAttribute([2], 8)},
            [Slot("s", ["q"], views("x"), capacity=2, read=[1] * 9 + [2])],
            OnlineBudget(1),
        )
    assert additive_share(Fraction(1), [1] * 9 + [2], {1}) == Fraction(9, 10)


@pytest.mark.parametrize("budget", [OnlineBudget(1), StandingBudget()])
def test_a_position_that_joins_a_group_counts_an_uncharged_release(budget):
    ledger, backend = InMemoryLedger(), InMemoryBackend()
    slots = [slot("s", "q"), slot("t", "r")]
    before = Policy("p", {"a": ProtectedAttribute([2], 2)}, slots, budget)
    later = Policy("p", {"a": ProtectedAttribute([1, 2], 2)}, slots, budget)
    backend.write("u", 1, "x")
    assert turn(MemView(before, backend, ledger=ledger), "q").views["s"].name == "x"
    assert MemView(later, backend, ledger=ledger).balances("u")["a"].remaining == 0


def test_differing_loss_of_an_uncharged_release_is_unbounded():
    backend = InMemoryBackend()
    slots = [slot("s", "q"), slot("t", "r")]
    p = Policy("p", {"a": ProtectedAttribute([2], 2)}, slots, OnlineBudget(1))
    release = turn(MemView(p, backend, ledger=InMemoryLedger()), "q")
    assert [s.outcome for s in release.slots] == ["uncharged"]
    pairs = [(set(s.read_set), float("inf")) for s in release.slots]
    assert differing_loss(pairs, {1}) == float("inf")


class Narrow(CueScorer):
    def prior(self, query: str, slot: Slot) -> Sequence[int] | None:
        return [int(name in ("x", "y")) for name in slot.vocabulary]


def test_a_prior_belongs_to_view_names_not_to_indices():
    p = policy(
        [
            slot("s", "q", ("x", "y", "z"), facet="F"),
            slot("t", "r", ("z", "y", "x"), facet="F"),
        ],
        StandingBudget(),
        caps=(60, 60),
    )
    backend = InMemoryBackend()
    backend.write("u", 1, "x")
    memview = MemView(p, backend, ledger=InMemoryLedger(), scorer=Narrow())
    assert turn(memview, "r").views["t"].name == "x"


def test_a_slot_with_one_view_does_not_stop_renewals():
    p = policy([slot("s", "q"), slot("t", "r", ())], StandingBudget(SubjectEpochs(3)))
    memview = MemView(p, InMemoryBackend(), ledger=InMemoryLedger())
    for number in range(3):
        memview.renew("u", operation=f"r{number}")
    drawn = [r for r in memview.history("u") if r.slots[0].outcome == "selected"]
    assert len(drawn) == 3


def test_a_facet_at_its_cap_does_not_stop_renewals():
    ledger, backend = InMemoryLedger(), InMemoryBackend()
    slots = [slot("s", "q"), slot("t", "r")]
    turn(MemView(policy(slots, OnlineBudget(1)), backend, ledger=ledger), "r")
    p = policy(slots, StandingBudget(SubjectEpochs(3)))
    memview = MemView(p, backend, ledger=ledger)
    memview.renew("u", operation="r1")
    memview.renew("u", operation="r2")
    assert "memview:standing:1:s" in [r.operation.id for r in memview.history("u")]


def test_a_renewal_renews_what_was_shown():
    p = policy([slot("s", "q"), slot("t", "r")], StandingBudget(SubjectEpochs(3)))
    memview = MemView(p, InMemoryBackend(), ledger=InMemoryLedger())
    turn(memview, "q")
    memview.renew("u", operation="r")
    assert "memview:standing:1:s" in [r.operation.id for r in memview.history("u")]


def test_a_slot_with_one_view_takes_no_share():
    at = {"a": ProtectedAttribute([1, 2], 2)}
    p = Policy("p", at, [slot("s", "q"), slot("t", "r", ())], StandingBudget())
    assert p.facets[0].epsilon == 2


def test_opening_needs_the_audience_where_the_scope_says_so():
    p = policy([slot("s", "q"), slot("t", "r")], StandingBudget(), scope="audience")
    memview = MemView(p, InMemoryBackend(), ledger=InMemoryLedger())
    with pytest.raises(MemViewError):
        memview.open("u")


def test_a_repeated_renewal_begins_one_epoch():
    p = policy([slot("s", "q"), slot("t", "r")], StandingBudget(SubjectEpochs(3)))
    memview = MemView(p, InMemoryBackend(), ledger=InMemoryLedger())
    memview.open("u")
    for operation in ("r1", "r1", "r1", "r2", "r2"):
        memview.renew("u", operation=operation)
    drawn = [r for r in memview.history("u") if r.slots[0].outcome == "selected"]
    assert len(drawn) == 6
    assert memview.balances("u")["a"].spent == 2


@pytest.mark.parametrize(
    "epochs",
    [None, 3, OneEpoch, TurnEpochs(0, 2), TurnEpochs(1, -1)],
    ids=str,
)
def test_epochs_that_are_none_are_refused(epochs):
    with pytest.raises(PolicyError):
        policy([slot("s", "q"), slot("t", "r")], StandingBudget(epochs=epochs))


@pytest.mark.parametrize("start", ["2026-W01-1", "20260101", "soon", None])
def test_a_start_that_is_no_date_is_a_policy_error(start):
    with pytest.raises(PolicyError, match="MV409"):
        policy(
            [slot("s", "q"), slot("t", "r")],
            StandingBudget(epochs=CalendarEpochs(30, start, 2)),
        )


def test_a_start_given_as_text_is_the_date():
    slots = [slot("s", "q"), slot("t", "r")]
    days = [
        policy(slots, StandingBudget(CalendarEpochs(30, start, 2)))
        for start in ("2026-01-01", date(2026, 1, 1))
    ]
    assert days[0] == days[1]
    assert days[0].budget.epochs.start == date(2026, 1, 1)


def test_a_facet_is_a_text():
    with pytest.raises(PolicyError):
        policy(
            [slot("s", "q", facet=3), slot("t", "r", ("y", "z"), facet=3)],
            StandingBudget(),
        )


class Weighs(CueScorer):
    def prior(self, query: str, slot: Slot) -> Sequence[int] | None:
        return [1, 1, 3] if "weigh" in query else None


def test_the_posterior_rule_uses_the_epsilon_of_the_draw():
    ledger, backend = InMemoryLedger(), InMemoryBackend()
    slots = [slot("s", "q", ("x", "y")), slot("t", "r")]
    first = MemView(
        policy(slots, StandingBudget()), backend, ledger=ledger, scorer=Weighs()
    )
    first.interface = replace(first.interface, draw=lambda _: 1)
    before = turn(first, "q weigh").views["s"].name
    p = policy(slots, StandingBudget(TurnEpochs(100, 12)))
    later = MemView(p, backend, ledger=ledger, scorer=Weighs())
    assert turn(later, "q weigh").views["s"].name == before


def test_an_erased_view_is_not_shown_from_the_cache(tmp_path):
    path = tmp_path / "ledger.sqlite"
    p = policy([slot("s", "q"), slot("t", "r")], StandingBudget(), caps=(60, 60))
    backend = InMemoryBackend()
    backend.write("u", 1, "x")
    memview = MemView(p, backend, ledger=SqliteLedger(path))
    turn(memview, "q")
    assert turn(memview, "q").views["s"].name == "x"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE memview_release SET views = NULL")
    assert turn(memview, "q").views["s"].name == "generic"


class OnceOnly(InMemoryBackend):
    reads = 0

    def read(self, subject, positions):
        self.reads += 1
        if self.reads > 1:
            raise MemoryUnavailableError("gone")
        return super().read(subject, positions)


def test_a_turn_that_lost_its_memory_halfway_charges_nothing_twice():
    p = policy([slot("s", "q"), slot("t", "q")], StandingBudget())
    memview = MemView(p, OnceOnly(), ledger=InMemoryLedger())
    with pytest.raises(MemViewError, match="nothing is charged twice"):
        turn(memview, "q")
    memview._backend.reads = -9
    turn(memview, "q")
    assert {b.spent for b in memview.balances("u").values()} == {2}


def test_operation_ids_of_callers_cannot_be_those_of_standing_releases():
    ledger, backend = InMemoryLedger(), InMemoryBackend()
    slots = [slot("s", "q"), slot("t", "r")]
    online = MemView(policy(slots, OnlineBudget(3)), backend, ledger=ledger)
    with pytest.raises(SubjectError, match="cannot begin with"):
        turn(online, "q", "memview:standing:0:s")
    turn(MemView(policy(slots, StandingBudget()), backend, ledger=ledger), "q")


class NoPrivate(CueScorer):
    relevance_weight = Fraction(1)
    support_weights = ()


def test_a_scorer_without_private_weight_is_refused_at_construction():
    p = policy([slot("s", "q"), slot("t", "r")], StandingBudget())
    with pytest.raises(WiringError):
        MemView(p, InMemoryBackend(), ledger=InMemoryLedger(), scorer=NoPrivate())
