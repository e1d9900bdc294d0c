"""Every bad input has one defined answer, loses nothing and shows nothing private."""

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.scoring import scores
from langchain_memview.core.views import View
from langchain_memview.errors import (
    LedgerUnavailableError,
    MemoryUnavailableError,
    MemViewError,
    PositionError,
    SubjectError,
    WiringError,
)
from langchain_memview.ledgers import InMemoryLedger, SqliteLedger
from langchain_memview.memview import MemView
from langchain_memview.scorers import CueScorer
from langchain_memview.testing.canary import private_text_in

CANARY = "canary-77a0 owes 9,000"
POLICY = Policy(
    "meals",
    {"debt": ProtectedAttribute([1, 2], cap=2)},
    [
        Slot(
            "food",
            when=["dinner"],
            views={"generic": "Any dish.", "cheap": View("Cheap dishes.", ["owes"])},
            capacity=8,
        )
    ],
    OnlineBudget(3),
)
CHARGE = Fraction(2, 3)
NO_NAME = [None, 7, "", " ", "\t\n", b"ana", ["ana"], "\ud800", "\ud83d\ude00"]


class UntouchedBackend(InMemoryBackend):
    """Fails the test when anything is read or written."""

    def read(self, subject, positions):
        raise AssertionError("a memory was read")

    def write(self, subject, position, text):
        raise AssertionError("a memory was written")


def memview(backend=None, **parts):
    backend = backend or InMemoryBackend({"ana": {1: CANARY}})
    return MemView(POLICY, backend, **{"ledger": InMemoryLedger()} | parts)


def ask(view, query="dinner", **names):
    names = {"subject": "ana", "audience": "app", "operation": "t1"} | names
    return view.turn(query, **names)


def spent(view):
    return view.balances("ana")["debt"].spent


def shown(error):
    # A helper, or pytest's own variables in the frame of the test hold the canary.
    return private_text_in(error, [CANARY])


# -- who asks, and for whom ----------------------------------------------------------


@pytest.mark.parametrize("bad", NO_NAME)
@pytest.mark.parametrize("name", ["subject", "audience", "operation"])
def test_without_a_usable_name_nothing_is_read_or_charged(name, bad):
    view = memview(UntouchedBackend())
    with pytest.raises(SubjectError, match=name):
        ask(view, **{name: bad})
    assert not view.history("ana")


@pytest.mark.parametrize("bad", NO_NAME)
def test_every_method_refuses_a_subject_that_is_none(bad):
    view = memview(UntouchedBackend())
    for call in (
        lambda: view.balances(bad),
        lambda: view.history(bad),
        lambda: view.remember(bad, "a text", slot="food"),
    ):
        with pytest.raises(SubjectError, match="subject"):
            call()


async def test_the_asynchronous_turn_refuses_the_same_names():
    view = memview(UntouchedBackend())
    with pytest.raises(SubjectError, match="subject"):
        await view.aturn("dinner", subject="", audience="app", operation="t1")


@pytest.mark.parametrize("name", ["a\x00b", "%", "o'ana", "😀", "ana " * 10_000])
def test_any_other_text_is_a_name_of_its_own(name, tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    view = memview(ledger=ledger)
    ask(view, subject=name, audience=name, operation=name)
    assert ask(view, subject=name, audience=name, operation=name).replayed
    assert view.balances(name)["debt"].spent == CHARGE
    assert view.balances("a")["debt"].spent == 0
    ledger.close()


# -- what is asked -------------------------------------------------------------------


@pytest.mark.parametrize("query", [None, 7, b"dinner", ["dinner"], {"a": 1}])
def test_a_query_that_is_no_text_is_refused(query):
    with pytest.raises(SubjectError, match="query must be a text"):
        ask(memview(UntouchedBackend()), query)


@pytest.mark.parametrize(
    "query",
    ["", "   ", "😀🍝", "Was gibt es zu Abend?", "晚餐吃什么", "\x00", "\ud800"],
)
def test_a_query_that_activates_no_slot_releases_and_charges_nothing(query):
    view = memview()
    release = ask(view, query)
    assert (release.views, release.outcomes) == ({}, {})
    assert spent(view) == 0
    assert not view.history("ana")


@pytest.mark.parametrize(
    "query",
    [
        "dinner " + "x" * 10**6,
        "word " * 200_000 + "dinner",
        "dinner \ud800",
        "dinner\x00",
    ],
    ids=["one long word", "a megabyte of words", "a surrogate", "a NUL"],
)
def test_an_odd_query_is_routed_recorded_and_replayed_like_any_other(query, tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    view = memview(ledger=ledger)
    first = ask(view, query)
    assert first.outcomes == {"food": "selected"}
    again = ask(view, query)
    assert again.outcomes == {"food": "replayed"}
    assert again.views == first.views
    assert spent(view) == CHARGE
    ledger.close()


# -- what is remembered --------------------------------------------------------------


@pytest.mark.parametrize("position", [0, -1, 9, 10**30, 1.0, 2.5, True, "1", [1]])
def test_a_position_outside_the_layout_is_refused(position):
    view = memview(UntouchedBackend())
    with pytest.raises(PositionError, match="is not in the layout") as caught:
        view.remember("ana", CANARY + str(position), position=position)
    assert shown(caught.value) == []


@pytest.mark.parametrize(
    "where", [{}, {"slot": "pets"}, {"slot": "pets", "position": 1}]
)
def test_a_slot_that_the_policy_does_not_have_is_refused(where):
    view = memview(UntouchedBackend())
    with pytest.raises(PositionError, match=r"layout|pass slot=") as caught:
        view.remember("ana", "owes", **where)
    assert shown(caught.value) == []


@pytest.mark.parametrize("text", [None, 7, b"owes", ["owes"], "owes \ud800"])
def test_a_memory_that_is_no_storable_text_is_refused(text):
    with pytest.raises(PositionError, match="nothing was written"):
        memview(UntouchedBackend()).remember("ana", text, slot="food")


def test_memories_remembered_at_once_take_a_position_each():
    backend = InMemoryBackend()
    view = memview(backend)
    start = threading.Barrier(8)

    def remember(number):
        start.wait(10)
        view.remember("ana", f"memory {number}", slot="food")

    threads = [threading.Thread(target=remember, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = backend.read("ana", set(range(1, 9)))
    assert sorted(held.values()) == [f"memory {i}" for i in range(8)]
    with pytest.raises(PositionError, match="8 of 8"):
        view.remember("ana", "one more", slot="food")


# -- a backend that fails ------------------------------------------------------------


class FailingBackend(InMemoryBackend):
    """Fails with an error that quotes a memory, as databases do."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def read(self, subject, positions):
        raise self.error(f"cannot decode {CANARY}")

    written = read

    def write(self, subject, position, text):
        raise self.error(f"cannot encode {text}")


@pytest.mark.parametrize("error", [ValueError, TimeoutError, KeyError, RecursionError])
def test_a_backend_that_fails_on_what_is_stored_looks_like_an_empty_memory(error):
    view = memview(FailingBackend(error))
    assert ask(view).outcomes == {"food": "selected"}
    assert spent(view) == CHARGE


@pytest.mark.parametrize("contents", [None, {}, {1: None}, {1: 7, 2: b"owes"}, [], 7])
def test_contents_of_the_wrong_kind_look_like_an_empty_memory(contents):
    backend = InMemoryBackend()
    backend.read = lambda subject, positions: contents
    view = memview(backend)
    assert ask(view).outcomes == {"food": "selected"}
    assert spent(view) == CHARGE


def test_a_backend_that_is_out_of_reach_costs_nothing_and_says_so():
    view = memview(FailingBackend(MemoryUnavailableError))
    with pytest.raises(MemoryUnavailableError, match="no view is released") as caught:
        ask(view)
    assert shown(caught.value) == []
    assert spent(view) == 0


@pytest.mark.parametrize("error", [ValueError, OSError, MemoryUnavailableError])
@pytest.mark.parametrize("where", [{"slot": "food"}, {"position": 1}])
def test_a_memory_that_cannot_be_written_is_not_quoted(error, where):
    view = memview(FailingBackend(error))
    with pytest.raises(MemoryUnavailableError) as caught:
        view.remember("ana", CANARY + " and more", **where)
    assert shown(caught.value) == []


# -- a scorer that fails -------------------------------------------------------------


class Scorer(CueScorer):
    """Answers with whatever it is given."""

    def __init__(self, support=None, **more):
        object.__setattr__(self, "made", {"support": support} | more)

    def support(self, slot, contents):
        made = self.made["support"]
        return made() if callable(made) else made

    def prior(self, query, slot):
        made = self.made.get("prior")
        return made() if callable(made) else made

    @property
    def support_weights(self):
        return self.made.get("weights", (Fraction(1),))

    @property
    def relevance_weight(self):
        return self.made.get("public", Fraction(0))


def raises(error):
    def fail():
        raise error(CANARY)

    fail.__name__ = error.__name__
    return fail


@pytest.mark.parametrize(
    "support",
    [
        [[float("nan"), 1.0]],
        [[float("inf"), 1.0]],
        [[float("-inf"), 1.0]],
        [[-3.0, 1.0]],
        [[0.0, 2.0]],
        [[0, 10**400]],
        [[None, 1.0]],
        [["1", "2"]],
        [[1.0]],
        [[1.0, 1.0, 1.0]],
        [],
        [[1.0, 0.0], [1.0, 0.0]],
        None,
        7,
        raises(ValueError),
        raises(MemViewError),
        raises(RecursionError),
    ],
)
def test_whatever_a_scorer_answers_is_charged_drawn_and_inside_the_bound(support):
    scorer = Scorer(support)
    assert all(0 <= u <= 1 for u in scores(scorer, POLICY.slots[0], "", [CANARY]))
    view = memview(scorer=scorer)
    release = ask(view)
    assert release.outcomes == {"food": "selected"}
    assert release.views["food"].name in {"generic", "cheap"}
    assert spent(view) == CHARGE


@pytest.mark.parametrize(
    "parts",
    [
        {"weights": ()},
        {"weights": (Fraction(0),)},
        {"weights": (Fraction(2),)},
        {"weights": (Fraction(-1, 2), Fraction(1))},
        {"weights": (Fraction(1, 2),), "public": Fraction(-1, 2)},
        {"weights": (Fraction(1, 2),), "public": Fraction(3, 4)},
        {"weights": (None,)},
        {"weights": ("1",)},
    ],
)
def test_weights_that_break_the_bound_are_refused_when_it_is_built(parts):
    with pytest.raises(WiringError, match="weights must be"):
        memview(scorer=Scorer(**parts))


@pytest.mark.parametrize(
    "prior", [[1], [1, 1, 1], [0, 0], [-1, 2], [float("nan"), 1], [None, 1], 7, []]
)
def test_a_prior_that_is_none_is_refused_before_anything_is_read(prior):
    view = memview(UntouchedBackend(), scorer=Scorer(prior=prior))
    with pytest.raises(WiringError, match="prior for slot 'food'"):
        ask(view)
    assert spent(view) == 0


def test_a_view_that_the_prior_excludes_is_never_released():
    view = memview(scorer=Scorer([[1.0, 0.0]], prior=[0, 1]))
    assert ask(view).views["food"].name == "cheap"


# -- a router, a rule or a ledger that fails -----------------------------------------


class Router:
    """Answers with whatever it is given."""

    inputs = "public"

    def __init__(self, answer):
        self.answer = answer

    def active_slots(self, query, history):
        return self.answer() if callable(self.answer) else self.answer


def test_a_router_that_names_an_unknown_slot_is_told_so():
    view = memview(UntouchedBackend(), router=Router(["food", "pets"]))
    with pytest.raises(WiringError, match=r"'pets'.*it has food"):
        ask(view)


@pytest.mark.parametrize("answer", [None, 7, [["food"]], raises(ZeroDivisionError)])
def test_a_router_that_fails_is_a_plain_error_without_details(answer):
    view = memview(UntouchedBackend(), router=Router(answer))
    with pytest.raises(MemViewError, match=r"failed with (TypeError|Zero)") as caught:
        ask(view)
    assert shown(caught.value) == []


class OddBudget(OnlineBudget):
    """Gives amounts that no ledger can store."""

    def epsilon(self, charge_set, caps):
        return Fraction(1, 7**20)


@pytest.fixture
def odd_policy(monkeypatch):
    monkeypatch.setattr(OnlineBudget, "epsilon", OddBudget.epsilon)
    return replace(POLICY)


def test_an_error_in_the_middle_of_a_decision_shows_no_memory_and_no_score(odd_policy):
    backend = InMemoryBackend({"ana": {1: CANARY}})
    view = MemView(odd_policy, backend, ledger=InMemoryLedger())
    with pytest.raises(MemViewError, match="failed with ValueError") as caught:
        ask(view)
    assert shown(caught.value) == []
    assert not [name for name in frames(caught.value) if name != "MemView.turn"]
    assert spent(view) == 0


@pytest.mark.parametrize("path", ["find", "transact"])
def test_a_ledger_that_fails_in_the_middle_of_a_turn_shows_no_memory(path, tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite", timeout=0.1)
    view = memview(ledger=ledger)
    ask(view)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as other:
        if path == "transact":
            other.execute("BEGIN IMMEDIATE")
        else:
            other.executescript("DROP TABLE memview_release")
        with pytest.raises(LedgerUnavailableError) as caught:
            ask(view, operation="t2")
        assert shown(caught.value) == []
        assert frames(caught.value) == ["MemView.turn"]
        assert caught.value.__context__ is None
    ledger.close()


async def test_the_asynchronous_turn_shows_no_memory_either(tmp_path):
    ledger = SqliteLedger(tmp_path / "ledger.sqlite", timeout=0.1)
    view = memview(ledger=ledger)
    ask(view)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailableError) as caught:
            await view.aturn("dinner", subject="ana", audience="app", operation="t2")
    assert shown(caught.value) == []
    ledger.close()


@pytest.mark.parametrize("ledger", [None, object(), {}])
def test_something_that_is_no_backend_or_policy_is_refused_when_it_is_built(ledger):
    with pytest.raises(WiringError, match="is no backend"):
        MemView(POLICY, ledger, ledger=InMemoryLedger())
    with pytest.raises(WiringError, match="is no policy"):
        MemView(ledger, InMemoryBackend(), ledger=InMemoryLedger())


@pytest.mark.parametrize("ledger", [None, object(), {}])
def test_something_that_is_no_ledger_is_refused_when_it_is_built(ledger):
    with pytest.raises(WiringError, match="ledger_from_checkpointer"):
        memview(ledger=ledger)


def frames(error):
    """Return the functions of the package that the error has passed, outermost first."""
    names, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "langchain_memview" in code.co_filename:
            names.append(code.co_qualname)
        trace = trace.tb_next
    return names


def test_the_walker_finds_what_an_error_would_give_away():
    def fail(contents):
        raise ValueError("nothing said")

    with pytest.raises(ValueError, match="nothing said") as caught:
        fail({1: CANARY})
    assert [place.split(" (")[0] for place in shown(caught.value)] == [
        "ValueError: local 'contents' of "
        "test_the_walker_finds_what_an_error_would_give_away.<locals>.fail"
    ]
    caught.value.add_note(CANARY)
    assert "ValueError: message, arguments, attributes or notes" in shown(caught.value)
    behind = RuntimeError("clean")
    behind.__context__ = caught.value
    assert len(shown(behind)) == 2
