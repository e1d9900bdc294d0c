"""Standing releases in a real MemView: recorded once, shown again without a write."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from fractions import Fraction

import pytest

from langchain_memview import standing
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget, StandingBudget
from langchain_memview.core.epochs import CalendarEpochs, SubjectEpochs, TurnEpochs
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.transcript import AugmentedTranscript, AugmentedTurn
from langchain_memview.core.views import View
from langchain_memview.errors import (
    EpochError,
    LedgerUnavailableError,
    MemoryUnavailableError,
    SubjectError,
    WiringError,
)
from langchain_memview.ledgers import InMemoryLedger, SqliteLedger
from langchain_memview.memview import MemView
from langchain_memview.testing.draws import memview_with

VIEWS = {"generic": "Any.", "a": View("A.", ["worda"]), "b": View("B.", ["wordb"])}


def policy(budget=None, *, views=VIEWS, facet="taste", cap=2):
    return Policy(
        "standing",
        {"debt": ProtectedAttribute([1, 2], cap=cap)},
        [
            Slot("food", when=["food"], views=views, capacity=1, facet=facet),
            Slot("money", when=["money"], views=views, capacity=1, facet=facet),
            Slot("pets", when=["pets"], views=VIEWS, capacity=1),
        ],
        budget or StandingBudget(),
    )


def best(choice):
    """Draw the likeliest index, so that what is recorded is known."""
    law = choice.probabilities()
    return law.index(max(law))


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request, tmp_path):
    if request.param == "memory":
        return InMemoryLedger()
    return SqliteLedger(tmp_path / "ledger.sqlite")


def served(used, ledger, memories, draw=best):
    backend = InMemoryBackend({"ana": memories})
    return memview_with(draw, used, backend, ledger=ledger)


def ask(memview, query="food", operation="t1", subject="ana", turns=0):
    history = AugmentedTranscript(tuple(AugmentedTurn(f"q{n}") for n in range(turns)))
    return memview.turn(
        query, subject=subject, audience="app", operation=operation, history=history
    )


def test_a_view_is_drawn_once_and_a_thousand_warm_turns_change_nothing(ledger):
    memview = served(policy(), ledger, {1: "worda"})
    cold = ask(memview)
    assert cold.outcomes == {"food": "selected"}
    assert cold.views["food"].name == "a"
    before = memview.balances("ana"), memview.history("ana")
    for number in range(1000):
        warm = ask(memview, "food and money", f"w{number}")
        assert warm.outcomes == {"food": "standing", "money": "standing"}
        assert [view.name for view in warm.views.values()] == ["a", "a"]
    assert (memview.balances("ana"), memview.history("ana")) == before
    assert warm.balances == before[0]
    assert before[0]["debt"].spent == 2


def test_a_warm_turn_writes_nothing_to_the_database(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    memview = served(policy(), ledger, {1: "worda"})
    memview.open("ana")
    log = tmp_path / "ledger.sqlite-wal"
    before = log.stat().st_mtime_ns, log.stat().st_size
    for number in range(100):
        ask(memview, "food", f"t{number}")
    assert (log.stat().st_mtime_ns, log.stat().st_size) == before


def test_opening_draws_everything_ahead_and_only_once(ledger):
    memview = served(policy(), ledger, {1: "worda"})
    first = memview.open("ana")
    assert first["debt"].spent == 2
    assert memview.open("ana") == first
    assert len(memview.history("ana")) == 1
    assert ask(memview).outcomes == {"food": "standing"}


def test_what_is_written_later_changes_no_view_and_draws_nothing(ledger):
    memview = served(policy(), ledger, {1: "worda"})
    memview.open("ana")
    memview.remember("ana", "wordb", position=1)
    assert ask(memview).views["food"].name == "a"
    assert len(memview.history("ana")) == 1


def test_another_process_that_has_drawn_is_believed(tmp_path):
    path = tmp_path / "ledger.sqlite"
    one = served(policy(), SqliteLedger(path), {1: "worda"})
    two = served(policy(), SqliteLedger(path), {1: "wordb"})
    assert two.balances("ana")["debt"].spent == 0
    one.open("ana")
    shown = ask(two)
    assert (shown.views["food"].name, shown.outcomes["food"]) == ("a", "standing")
    assert shown.balances["debt"].spent == 2


def test_threads_that_ask_at_once_draw_once(ledger):
    memview = served(policy(), ledger, {1: "worda"})
    with ThreadPoolExecutor(8) as threads:
        shown = list(threads.map(lambda n: ask(memview, operation=f"t{n}"), range(40)))
    assert {release.views["food"].name for release in shown} == {"a"}
    assert len(memview.history("ana")) == 1
    assert memview.balances("ana")["debt"].spent == 2


def test_a_facet_without_a_protected_position_follows_the_memory(ledger):
    memview = served(policy(), ledger, {3: "worda"})
    assert ask(memview, "pets").outcomes == {"pets": "uncharged"}
    memview.remember("ana", "wordb", position=3)
    assert ask(memview, "pets", "t2").views["pets"].name == "b"
    # That it is shown as it is has been noted once, without what was shown.
    (noted,) = memview.history("ana")
    assert [(s.view, s.outcome) for s in noted.slots] == [("generic", "uncharged")]


def test_turns_of_the_dialogue_start_new_epochs_at_their_share(ledger):
    budget = StandingBudget(TurnEpochs(turns=5, planned=2))
    memview = served(policy(budget), ledger, {1: "worda"})
    assert ask(memview, turns=4).views["food"].name == "a"
    memview.remember("ana", "wordb", position=1)
    assert ask(memview, operation="t2", turns=4).views["food"].name == "a"
    later = ask(memview, operation="t3", turns=5)
    assert (later.views["food"].name, later.outcomes["food"]) == ("b", "selected")
    assert [r.slots[0].epsilon for r in memview.history("ana")] == [1, 1]
    # A thread that has just begun sees the first epoch's view again.
    assert ask(memview, operation="t4").views["food"].name == "a"
    assert ask(memview, operation="t5", turns=500).outcomes["food"] == "standing"


def test_the_calendar_starts_new_epochs_at_their_share(ledger, monkeypatch):
    budget = StandingBudget(CalendarEpochs(30, date(2026, 1, 1), planned=4))
    memview = served(policy(budget), ledger, {1: "worda"})
    for day, outcome in (
        (date(2026, 1, 5), "selected"),
        (date(2026, 1, 30), "standing"),
        (date(2026, 1, 31), "selected"),
        (date(2027, 1, 31), "selected"),
        (date(2028, 1, 31), "standing"),
    ):
        monkeypatch.setattr(standing, "today", lambda day=day: day)
        assert ask(memview, operation=str(day)).outcomes["food"] == outcome
    assert memview.balances("ana")["debt"].spent == Fraction(3, 2)


def test_the_subject_renews_as_often_as_was_planned(ledger):
    memview = served(policy(StandingBudget(SubjectEpochs(3))), ledger, {1: "worda"})
    # Nothing was drawn, so this is the first draw.
    memview.renew("ana", operation="r0")
    memview.remember("ana", "wordb", position=1)
    assert ask(memview).views["food"].name == "a"
    assert memview.renew("ana", operation="r1")["debt"].spent == Fraction(4, 3)
    assert ask(memview).views["food"].name == "b"
    memview.renew("ana", operation="r2")
    with pytest.raises(EpochError, match="all 3 epochs"):
        memview.renew("ana", operation="r3")
    assert memview.balances("ana")["debt"].spent == 2
    assert ask(memview).outcomes["food"] == "standing"


def test_a_renewal_that_was_interrupted_is_finished_by_the_next_one(ledger):
    used = policy(StandingBudget(SubjectEpochs(2)), facet="")
    memview = served(used, ledger, {1: "worda", 2: "worda"})
    memview.open("ana")
    calls = iter([False, True])

    def failing(choice):
        if next(calls):
            raise ZeroDivisionError
        return best(choice)

    memview.interface = served(used, ledger, {}, failing).interface
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        memview.renew("ana", operation="r1")
    assert len(memview.history("ana")) == 3
    memview.interface = served(used, ledger, {}).interface
    memview.renew("ana", operation="r2")
    drawn = [r for r in memview.history("ana") if r.slots[0].charged]
    assert len(drawn) == 4
    assert memview.balances("ana")["debt"].spent == 2


def test_a_policy_with_other_words_shows_what_was_drawn_and_draws_nothing(ledger):
    served(policy(), ledger, {1: "worda"}).open("ana")
    said = {**VIEWS, "a": View("Other words.", ["wordx"])}
    shown = ask(served(policy(views=said), ledger, {1: "wordb"}))
    assert shown.views["food"].say == "Other words."
    # An id that is gone stands for nothing.
    gone = {"generic": "Any.", "b": VIEWS["b"], "c": "C."}
    memview = served(policy(views=gone), ledger, {1: "wordb"})
    assert ask(memview, operation="t2").views["food"].name == "generic"
    assert len(memview.history("ana")) == 1


def test_a_lowered_cap_keeps_what_was_drawn_and_another_facet_stays_generic(ledger):
    served(policy(facet=""), ledger, {1: "worda"}).open("ana")
    memview = served(policy(facet="new", cap=1), ledger, {1: "worda"})
    shown = ask(memview)
    assert shown.outcomes == {"food": "generic"}
    assert shown.balances["debt"].spent == 2


def test_a_policy_that_spent_online_before_keeps_its_charges(ledger):
    online = served(policy(OnlineBudget(3), facet=""), ledger, {1: "worda"})
    ask(online)
    assert online.balances("ana")["debt"].spent == Fraction(2, 3)
    assert ask(served(policy(), ledger, {1: "worda"})).outcomes == {"food": "generic"}


def test_only_a_standing_policy_is_opened_or_renewed(ledger):
    online = served(policy(OnlineBudget(3), facet=""), ledger, {})
    with pytest.raises(WiringError, match="mode: standing"):
        online.open("ana")
    with pytest.raises(WiringError, match="mode: standing"):
        online.renew("ana", operation="r1")
    with pytest.raises(WiringError, match="renewals"):
        served(policy(), ledger, {}).renew("ana", operation="r1")
    with pytest.raises(SubjectError, match="subject"):
        served(policy(), ledger, {}).open(" ")
    with pytest.raises(SubjectError, match="operation"):
        ask(served(policy(), ledger, {}), operation="")


def test_a_failure_says_nothing_of_the_memory_and_draws_nothing(ledger):
    class Broken(InMemoryBackend):
        def read(self, subject, positions):
            raise MemoryUnavailableError("CANARY is not told")

    memview = MemView(policy(), Broken(), ledger=ledger)
    for call in (lambda: memview.open("ana"), lambda: ask(memview)):
        with pytest.raises(MemoryUnavailableError) as caught:
            call()
        assert "CANARY" not in str(caught.value)
        assert caught.value.__context__ is caught.value.__cause__ is None
    assert not memview.history("ana")


def test_an_unreadable_ledger_shows_nothing(tmp_path):
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all")
    memview = served(policy(), SqliteLedger(tmp_path / "ledger.sqlite"), {1: "worda"})
    with pytest.raises(LedgerUnavailableError):
        ask(memview)


def test_the_audience_scope_draws_for_each_audience(ledger):
    document = policy()
    used = Policy(
        "s", document.attributes, document.slots, document.budget, scope="audience"
    )
    memview = served(used, ledger, {1: "worda"})
    memview.open("ana", audience="one")
    assert memview.balances("ana", audience="one")["debt"].spent == 2
    assert memview.balances("ana", audience="two")["debt"].spent == 0
