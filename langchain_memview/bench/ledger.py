"""How many operations a ledger commits, and how long one takes, beside the bare disk.

`python -m langchain_memview.bench.ledger` measures SQLite (WAL, synchronous=FULL);
`--postgres URL` measures PostgreSQL too, in a schema of its own that is dropped at the
end. It prints two tables, or one document with `--json`.

throughput
    Eight processes (`--processes`), each with its own account, for a few seconds: operations that are
    admitted, charged and committed, and operations that are replayed. Beside them the
    same processes write and fsync 4 KiB to files of their own, and commit one bare row.
    The four take turns, so that a busy disk moves all of them.
one operation
    One process, the same calls in turns: median and 95th percentile.
"""

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from langchain_memview.bench.ledger_calls import CALLS, calls, prepared

SLICES = 3
_PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Rate:
    """Operations per second of all processes together.

    Attributes:
        engine: `sqlite` or `postgres`.
        what: One of `CALLS`.
        per_second: Their number per second.
        beside_commits: The same over the rate of bare commits.
    """

    engine: str
    what: str
    per_second: float
    beside_commits: float


@dataclass(frozen=True)
class Latency:
    """The time of one operation in a process of its own.

    Attributes:
        engine: `sqlite` or `postgres`.
        what: One of `CALLS`.
        p50_ms: Median in milliseconds.
        p95_ms: 95th percentile in milliseconds.
        beside_commit: The median over that of a bare commit.
    """

    engine: str
    what: str
    p50_ms: float
    p95_ms: float
    beside_commit: float


def _load(
    engine: str, place: str, number: int, seconds: float, start: Any, counted: Any
) -> None:
    """Do each call for some seconds, in turns with it in all other processes."""
    counts = [0] * len(CALLS)
    with calls(engine, place, number) as measured:
        for call in measured:
            call()
        for _ in range(SLICES):
            for index, call in enumerate(measured):
                start.wait(_PATIENCE_SECONDS)
                end = time.perf_counter() + seconds / SLICES
                while time.perf_counter() < end:
                    call()
                    counts[index] += 1
    counted.put(counts)


def throughput(
    engine: str, place: str, seconds: float, processes: int
) -> Iterator[Rate]:
    """Yield the rate of every call, with all processes at work."""
    context = multiprocessing.get_context("spawn")
    start, counted = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(
            target=_load, args=(engine, place, number, seconds, start, counted)
        )
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    sys.stderr.write(f"{engine}: {processes} processes, {len(CALLS) * seconds:g} s\n")
    totals = np.sum(
        [
            counted.get(timeout=_PATIENCE_SECONDS + len(CALLS) * seconds)
            for _ in workers
        ],
        axis=0,
    )
    for worker in workers:
        worker.join()
    commits = totals[CALLS.index("bare commit")]
    for what, total in zip(CALLS, totals, strict=True):
        yield Rate(engine, what, float(total / seconds), float(total / commits))


def latency(engine: str, place: str, rounds: int) -> Iterator[Latency]:
    """Yield the time of every call in this process, taken in turns."""
    times: list[list[float]] = [[] for _ in CALLS]
    steps = track(
        range(rounds),
        f"{engine}, one operation",
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    with calls(engine, place, -1) as measured:
        for call in measured:
            call()
        for _ in steps:
            for call, taken in zip(measured, times, strict=True):
                begin = time.perf_counter()
                call()
                taken.append((time.perf_counter() - begin) * 1000)
    commit = float(np.median(times[CALLS.index("bare commit")]))
    for what, taken in zip(CALLS, times, strict=True):
        p50, p95 = (float(value) for value in np.percentile(taken, [50, 95]))
        yield Latency(engine, what, p50, p95, p50 / commit)


def main() -> None:
    """Measure every engine and print two tables, or JSON with `--json`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--postgres", metavar="URL", default="")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each call")
    parser.add_argument("--rounds", type=int, default=500, help="for one operation")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rates: list[Rate] = []
    latencies: list[Latency] = []
    for engine in ("sqlite", "postgres") if arguments.postgres else ("sqlite",):
        with prepared(engine, arguments.postgres) as place:
            latencies += latency(engine, place, arguments.rounds)
            rates += throughput(engine, place, arguments.seconds, arguments.processes)
    if arguments.json:
        document = {
            "schema": "memview.ledger-bench/1",
            "processes": arguments.processes,
            "throughput": [asdict(rate) for rate in rates],
            "latency": [asdict(one) for one in latencies],
        }
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return
    console = Console(width=100)
    table = Table(
        "engine", f"{arguments.processes} processes", "per second", "over commits"
    )
    for rate in rates:
        table.add_row(
            *(rate.engine, rate.what, f"{rate.per_second:,.0f}"),
            f"{rate.beside_commits:.2f}",
        )
    console.print(table)
    table = Table("engine", "one process", "p50 ms", "p95 ms", "over a commit")
    for one in latencies:
        table.add_row(
            *(one.engine, one.what, f"{one.p50_ms:.3f}", f"{one.p95_ms:.3f}"),
            f"{one.beside_commit:.2f}",
        )
    console.print(table)


if __name__ == "__main__":
    main()
