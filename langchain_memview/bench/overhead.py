"""What MemView adds to a turn: selection, ledger and middleware, as ratios in one run.

`python -m langchain_memview.bench.overhead` prints a table; `--json` one document. Each
row is measured beside its own reference, alternating, so that a busy machine moves both.

selection
    One turn with one active slot of 28 positions, in-memory backend and ledger, for 100,
    10 000 and 1 000 000 stored memories: reads go by position, so the time is flat.
ledger
    The same turn with the SQLite ledger, beside one fsync and beside a bare single-row
    commit on the same disk.
standing
    A turn that shows what was drawn before, with the SQLite ledger, beside a selection
    that draws, with the ledger in memory.
middleware
    An agent turn with MemView, in-memory ledger, beside the same agent with a
    middleware that does nothing.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from typing_extensions import override

from langchain_memview.backends.in_memory import InMemoryBackend
from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.budget import OnlineBudget, StandingBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.views import View
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.memview import MemView

POSITIONS = 28
QUERY = "What shall we have for dinner?"

POLICY = Policy(
    "overhead",
    {"debt": ProtectedAttribute(range(1, 6), cap=2)},
    [
        Slot(
            "food",
            when=["dinner", "lunch", "breakfast"],
            views={
                "generic": "Suggest broadly appealing dishes.",
                "lower_sugar": View("Favour low sugar.", ["carb", "sugar", "diabet"]),
                "high_protein": View("Favour protein.", ["protein", "gym"]),
                "cheap": View("Keep it cheap.", ["owes", "loan", "minimum"]),
                "comfort": View("Favour comfort food.", ["comfort", "pasta"]),
            },
            capacity=POSITIONS,
        )
    ],
    OnlineBudget(1_000_000),  # no account runs dry while it is measured
)


SENTENCES = (
    "Was told last spring to watch her blood sugar and to count carbs.",
    "Likes to cook on Sundays with her sister, mostly Mediterranean food.",
    "Still owes 9,000 on two credit cards and pays the minimum each month.",
    "Works in an office across town and is home at seven on most days.",
    "Goes to the gym on Mondays and Thursdays before breakfast.",
    "Has two children who do not eat mushrooms.",
    "Buys vegetables at the market on Saturday morning.",
)
"""Memories of an ordinary length; three of the seven contain a cue."""


@dataclass(frozen=True)
class Row:
    """One measured line.

    Attributes:
        what: What was timed.
        p50_ms: Median in milliseconds.
        p95_ms: 95th percentile in milliseconds.
        beside: What it is compared with.
        beside_p50_ms: Median of that, in the same run.
    """

    what: str
    p50_ms: float
    p95_ms: float
    beside: str
    beside_p50_ms: float

    @property
    def ratio(self) -> float:
        """Return the median over the reference's median."""
        return self.p50_ms / self.beside_p50_ms


def _alternating(
    calls: tuple[Callable[[], object], ...], rounds: int, what: str
) -> list[list[float]]:
    """Return the times of each call in milliseconds, taken in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    steps = track(
        range(rounds),
        what,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    for _ in steps:
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append((time.perf_counter() - start) * 1000)
    return times


def _row(what: str, times: list[float], beside: str, reference: list[float]) -> Row:
    p50, p95 = np.percentile(times, [50, 95])
    return Row(what, float(p50), float(p95), beside, float(np.median(reference)))


def _memories(total: int) -> InMemoryBackend:
    contents = dict(enumerate(islice(cycle(SENTENCES), POSITIONS), 1))
    return InMemoryBackend({f"u{i}": contents for i in range(-(-total // POSITIONS))})


def _fresh_turns(total: int, ledger: LedgerStore) -> Callable[[], object]:
    """Return a call that makes one fresh, admitted turn each time, subject by subject."""
    memview = MemView(POLICY, _memories(total), ledger=ledger)
    subjects = -(-total // POSITIONS)
    numbers = count()

    def turn() -> object:
        number = next(numbers)
        return memview.turn(
            QUERY,
            subject=f"u{number % subjects}",
            audience="bench",
            operation=f"t{number}",
        )

    return turn


def _warm_turns(ledger: LedgerStore) -> Callable[[], object]:
    """Return a call that shows again what was drawn once."""
    policy = replace(POLICY, name="standing", budget=StandingBudget())
    memview = MemView(policy, _memories(100), ledger=ledger)
    memview.open("u0")
    numbers = count()
    return lambda: memview.turn(
        QUERY, subject="u0", audience="bench", operation=f"w{next(numbers)}"
    )


def selection(rounds: int) -> Iterator[Row]:
    """Yield the time of a selection for three sizes of the memory."""
    sizes = (100, 10_000, 1_000_000)
    calls = tuple(_fresh_turns(size, InMemoryLedger()) for size in sizes)
    times = _alternating(calls, rounds, "selection")
    for size, taken in zip(sizes, times, strict=True):
        yield _row(
            f"selection, {size:,} memories", taken, "the same, 100 memories", times[0]
        )


def ledger(rounds: int, directory: Path) -> Iterator[Row]:
    """Yield the time of a turn with the SQLite ledger beside the disk's own costs."""
    store = SqliteLedger(directory / "ledger.sqlite")
    store.setup()
    descriptor = os.open(directory / "bare", os.O_RDWR | os.O_CREAT)
    bare = sqlite3.connect(directory / "bare.sqlite", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    bare.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")

    def fsync() -> None:
        os.pwrite(descriptor, b"\0" * 4096, 0)
        os.fsync(descriptor)

    def commit() -> None:
        bare.execute("INSERT INTO row (text) VALUES ('one row')")

    turn = _fresh_turns(100, store)
    synced, committed, taken = _alternating((fsync, commit, turn), rounds, "ledger")
    yield _row("turn with SQLite ledger", taken, "one fsync", synced)
    yield _row("turn with SQLite ledger", taken, "bare one-row commit", committed)
    os.close(descriptor)
    bare.close()
    store.close()


def standing(rounds: int, directory: Path) -> Iterator[Row]:
    """Yield the time of a turn that shows what was drawn, beside one that draws."""
    store = SqliteLedger(directory / "standing.sqlite")
    drawn = _fresh_turns(100, InMemoryLedger())
    times, warm = _alternating((drawn, _warm_turns(store)), rounds, "standing")
    yield _row("warm standing turn, SQLite", warm, "selection, 100 memories", times)
    store.close()


def middleware(rounds: int) -> Iterator[Row]:
    """Yield the time of an agent turn with MemView beside an empty middleware."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
    from langchain_core.messages import HumanMessage

    from langchain_memview.graph.middleware import MemViewMiddleware

    class Empty(AgentMiddleware[Any, Any]):
        """The same hooks, doing nothing."""

        @override
        def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {}

        @override
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request)

    memview = MemView(POLICY, _memories(100), ledger=InMemoryLedger())
    numbers = count()

    def call(layer: AgentMiddleware[Any, Any]) -> Callable[[], object]:
        agent = create_agent(ParrotFakeChatModel(), middleware=[layer])
        return lambda: agent.invoke(
            {"messages": [HumanMessage(QUERY)]},
            context={"user_id": f"u{next(numbers) % 4}"},
        )

    empty, ours = _alternating(
        (call(Empty()), call(MemViewMiddleware(memview, audience="bench"))),
        rounds,
        "middleware",
    )
    yield _row("agent turn with MemView", ours, "with an empty middleware", empty)


def main() -> None:
    """Measure everything and print a table, or JSON with `--json`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        rows = [
            *selection(arguments.rounds),
            *ledger(arguments.rounds, Path(directory)),
            *standing(arguments.rounds, Path(directory)),
            *middleware(arguments.rounds),
        ]
    if arguments.json:
        lines = [{**asdict(row), "ratio": row.ratio} for row in rows]
        document = {"schema": "memview.overhead/1", "rows": lines}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return
    table = Table(
        "what", "p50 ms", "p95 ms", "beside", "its p50 ms", "ratio", "more ms"
    )
    for row in rows:
        table.add_row(
            row.what,
            f"{row.p50_ms:.3f}",
            f"{row.p95_ms:.3f}",
            row.beside,
            f"{row.beside_p50_ms:.3f}",
            f"{row.ratio:.2f}",
            f"{row.p50_ms - row.beside_p50_ms:.3f}",
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
