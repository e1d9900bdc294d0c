"""Turns end at whole multiples of the deadline, whatever they found and did.

Most tests read a clock of their own, on which a scorer takes as long as they say. Those
with the real clock assert lower bounds only: a busy machine makes nothing shorter.
"""

import asyncio
import math
import threading
import time
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import pytest

from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.views import View
from langchain_memview.errors import (
    LedgerUnavailableError,
    MemoryUnavailableError,
    MemViewError,
    OperationConflictError,
    SubjectError,
    WiringError,
)
from langchain_memview.ledgers import InMemoryLedger
from langchain_memview.memview import MemView
from langchain_memview.pacing import Clock, Pacer
from langchain_memview.scorers import CueScorer

POLICY = Policy(
    "meals",
    {"debt": ProtectedAttribute([1], cap=2)},
    [
        Slot(
            "food",
            when=["dinner"],
            views={"generic": "Any dish.", "cheap": View("Cheap dishes.", ["owes"])},
            capacity=1,
        )
    ],
    OnlineBudget(3),
)
QUERY = {"subject": "ana", "audience": "app"}


@dataclass
class Hands:
    """A clock that goes on only when somebody waits; it wakes up early at first."""

    moment: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds if len(self.slept) % 2 == 0 else seconds / 2

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.moment, self.sleep, self.asleep)


class SlowScorer(CueScorer):
    """Takes as long as it is told, and fails if told so."""

    def __init__(self, hands, seconds, error=None):
        super().__init__()
        self.hands, self.seconds, self.error = hands, seconds, error

    def support(self, slot, contents):
        self.hands.moment += self.seconds
        if self.error:
            raise self.error
        return super().support(slot, contents)


class BrokenLedger(InMemoryLedger):
    """Takes three seconds to say that it cannot be used."""

    def __init__(self, hands):
        super().__init__()
        self.hands = hands

    def transact(self, account, operation, decide):
        self.hands.moment += 3
        raise LedgerUnavailableError


class FarBackend(InMemoryBackend):
    """Takes three seconds to say that it cannot be reached."""

    def __init__(self, hands):
        super().__init__()
        self.hands = hands

    def read(self, subject, positions):
        self.hands.moment += 3
        raise MemoryUnavailableError


def paced(hands, deadline=2.0, scorer=None, backend=None, ledger=None):
    memview = MemView(
        POLICY,
        backend or InMemoryBackend({"ana": {1: "Owes 9,000."}}),
        ledger=ledger or InMemoryLedger(),
        scorer=scorer,
        deadline=deadline,
    )
    memview._pacer = Pacer(deadline, hands.clock)
    return memview


def elapsed(hands, call):
    """Return how many seconds of the clock the call took, and what it returned."""
    before = hands.moment
    found = call()
    return pytest.approx(hands.moment - before, abs=1e-9), found


@pytest.mark.parametrize(
    ("work", "end", "overruns"),
    [(0, 2, 0), (0.1, 2, 0), (1.999, 2, 0), (2, 2, 0), (2.001, 4, 1), (7, 8, 1)],
)
def test_a_turn_ends_at_the_next_multiple_and_is_never_cut_short(work, end, overruns):
    hands = Hands()
    memview = paced(hands, scorer=SlowScorer(hands, work))
    took, release = elapsed(
        hands, lambda: memview.turn("dinner", operation="t1", **QUERY)
    )
    assert took == end
    assert memview.overruns == overruns
    assert release.outcomes == {"food": "selected"}  # slow is no reason for `generic`


@pytest.mark.parametrize("work", [0.1, 3])
async def test_the_asynchronous_turn_ends_at_the_same_moments(work):
    hands = Hands()
    memview = paced(hands, scorer=SlowScorer(hands, work))
    await memview.aturn("dinner", operation="t1", **QUERY)
    assert hands.moment == pytest.approx(1002 if work < 2 else 1004)
    assert memview.overruns == (work > 2)


def test_a_replay_and_a_query_that_activates_nothing_take_as_long():
    hands = Hands()
    memview = paced(hands)
    for query, operation in (("dinner", "t1"), ("dinner", "t1"), ("Hello!", "t2")):
        took, _ = elapsed(
            hands,
            lambda q=query, o=operation: memview.turn(q, operation=o, **QUERY),
        )
        assert took == 2
    assert memview.overruns == 0


def test_a_scorer_that_fails_late_ends_at_a_multiple_and_is_drawn_like_any_other():
    hands = Hands()
    memview = paced(hands, scorer=SlowScorer(hands, 5, ValueError("Owes 9,000.")))
    took, release = elapsed(
        hands, lambda: memview.turn("dinner", operation="t1", **QUERY)
    )
    assert took == 6
    assert release.outcomes == {"food": "selected"}
    assert memview.overruns == 1


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"backend": FarBackend}, MemoryUnavailableError),
        ({"ledger": BrokenLedger}, LedgerUnavailableError),
    ],
)
def test_an_error_is_raised_at_a_multiple_as_well(parts, error):
    hands = Hands()
    made = {name: kind(hands) for name, kind in parts.items()}
    memview = paced(hands, **made)
    with pytest.raises(error):
        memview.turn("dinner", operation="t1", **QUERY)
    assert hands.moment == pytest.approx(1004)
    assert memview.overruns == 1


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"backend": FarBackend}, MemoryUnavailableError),
        ({"ledger": BrokenLedger}, LedgerUnavailableError),
    ],
)
async def test_an_error_of_the_asynchronous_turn_too(parts, error):
    hands = Hands()
    made = {name: kind(hands) for name, kind in parts.items()}
    memview = paced(hands, **made)
    with pytest.raises(error):
        await memview.aturn("dinner", operation="t1", **QUERY)
    assert hands.moment == pytest.approx(1004)


def test_a_refusal_takes_as_long_as_an_answer():
    hands = Hands()
    memview = paced(hands)
    memview.turn("dinner", operation="t1", **QUERY)
    for query, subject, error in (
        ("another dinner", "ana", OperationConflictError),
        ("dinner", " ", SubjectError),
        (7, "ana", SubjectError),
    ):
        before = hands.moment
        with pytest.raises(error):
            memview.turn(query, subject=subject, audience="app", operation="t1")
        assert hands.moment - before == pytest.approx(2)


def test_an_error_that_waited_carries_nothing_it_came_through():
    hands = Hands()
    memview = paced(hands, ledger=BrokenLedger(hands))
    with pytest.raises(MemViewError) as caught:
        memview.turn("dinner", operation="t1", **QUERY)
    assert caught.value.__context__ is None
    frames = [entry.name for entry in caught.traceback[1:]]
    assert frames == ["turn"]


def test_without_a_deadline_nobody_waits_and_nothing_is_counted():
    hands = Hands()
    memview = paced(hands, deadline=None, scorer=SlowScorer(hands, 9))
    took, _ = elapsed(hands, lambda: memview.turn("dinner", operation="t1", **QUERY))
    assert took == 9
    assert hands.slept == []
    assert memview.overruns == 0


@pytest.mark.parametrize("deadline", [0.001, 0.1 + 0.2, 1, 1 / 3, math.pi, 86_400])
def test_any_deadline_of_the_range_ends_turns_at_its_own_multiples(deadline):
    hands = Hands(moment=123_456.789)
    pacer = Pacer(deadline, hands.clock)
    for multiple in range(1, 40):
        began = pacer.start()
        hands.moment += (multiple - 0.5) * deadline
        pacer.wait(began)
        assert hands.moment - began == pytest.approx(multiple * deadline)
    assert pacer.overruns == 38


@pytest.mark.parametrize(
    "bad",
    [
        *(0, 0.0, -1, -0.5, 0.000_999, 86_401, 10**400, True, False),
        *(math.nan, math.inf, -math.inf, 5e-324),
        *("2 s", b"2", [2], Decimal(2), Fraction(2), 2j, object()),
    ],
)
def test_anything_else_is_no_deadline(bad):
    with pytest.raises(WiringError, match=r"seconds from 0\.001 to 86400"):
        MemView(POLICY, InMemoryBackend(), ledger=InMemoryLedger(), deadline=bad)


def test_overruns_of_threads_are_all_counted():
    pacer = Pacer(1.0, Clock(now=lambda: 5.0))
    start = threading.Barrier(4)

    def work():
        start.wait(30)
        for _ in range(2000):
            pacer.wait(began=0.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pacer.overruns == 8000


def test_two_interfaces_count_each_their_own():
    hands = Hands()
    slow = paced(hands, scorer=SlowScorer(hands, 5))
    quick = paced(hands)
    for memview in (slow, quick):
        memview.turn("dinner", operation="t1", **QUERY)
    assert (slow.overruns, quick.overruns) == (1, 0)


async def test_forty_turns_wait_at_once_in_one_event_loop_and_block_no_thread():
    """There are fewer worker threads than turns, and nobody leaves before all came."""
    hands, everybody = Hands(), asyncio.Barrier(40)

    def no_sleep(seconds):
        raise AssertionError("a thread was blocked")

    async def asleep(seconds):
        await everybody.wait()
        hands.moment = 1002.0

    memview = paced(hands)
    memview._pacer = Pacer(2.0, Clock(lambda: hands.moment, no_sleep, asleep))
    turns = [
        memview.aturn("dinner", operation=f"t{number}", **QUERY) for number in range(40)
    ]
    releases = await asyncio.wait_for(asyncio.gather(*turns), 120)
    assert len(releases) == 40
    assert memview.overruns == 0


# -- the real clock -------------------------------------------------------------


def real(deadline):
    return MemView(
        POLICY, InMemoryBackend(), ledger=InMemoryLedger(), deadline=deadline
    )


def test_on_the_real_clock_no_turn_ends_before_its_deadline():
    memview = real(0.05)
    for number in range(4):
        began = time.monotonic()
        memview.turn("dinner", operation=f"t{number}", **QUERY)
        assert time.monotonic() - began >= 0.05


async def test_a_turn_that_is_cancelled_ends_at_once_and_can_be_repeated():
    memview = real(86_400)  # nobody waits that long, so the cancellation ended it
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                memview.aturn("dinner", operation="t1", **QUERY), 0.1 + 0.2
            )
    while not memview.history("ana"):  # the thread goes on by itself
        await asyncio.sleep(0.01)
    (record,) = memview.history("ana")
    assert record.slots[0].outcome == "selected"
    assert memview.balances("ana")["debt"].spent == Fraction(2, 3)


async def test_a_timeout_above_the_deadline_changes_nothing():
    turn = real(0.1 + 0.2).aturn("dinner", operation="t1", **QUERY)
    began = time.monotonic()
    release = await asyncio.wait_for(turn, 300.0)
    assert time.monotonic() - began >= 0.3
    assert release.outcomes == {"food": "selected"}
