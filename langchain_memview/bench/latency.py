"""What a turn costs beside what people use today, in one run on one machine.

`memview bench latency` prints for each shape of the stored memories the p50 and p95 of a
turn through MemView and of a search through the alternatives, and how many times the
first MemView row each of them takes. Systems take turns in every round, so that a busy
machine moves all of them.

One person's N memories are searched by the alternatives; MemView reads at most 28
positions of a person, so there the same N memories are those of N/28 people. With
`10,000 people x 10` both have the same shape. No row holds the embedding of the query:
its vector costs a hash of the text everywhere. What it really costs is one row of its
own, with a model.
"""

import csv
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings
from rich.console import Console
from rich.progress import track

from langchain_memview.bench.latency_systems import GROUPS, Group, Search, Setting
from langchain_memview.bench.latency_texts import Shape
from langchain_memview.bench.overhead import QUERY

ROUNDS = 50
SHAPES = (Shape(1, 100), Shape(1, 10_000), Shape(1, 100_000), Shape(10_000, 10))
FIRST = "MemView, embeddings"
"""What every other row is divided by."""

Item = TypeVar("Item")
Asked = TypeVar("Asked")


@dataclass(frozen=True)
class Row:
    """One measured line.

    Attributes:
        shape: The stored memories, in words.
        system: What was asked.
        p50_ms: Median in milliseconds.
        p95_ms: 95th percentile in milliseconds.
        ratio: The median over that of `FIRST` in the same shape.
    """

    shape: str
    system: str
    p50_ms: float
    p95_ms: float
    ratio: float


def latency(
    shapes: Sequence[Shape], rounds: int, groups: Sequence[Group] = GROUPS
) -> Iterator[Row]:
    """Yield a row for each system in each shape.

    Args:
        shapes: What is stored.
        rounds: How often each system is asked.
        groups: The systems.

    Raises:
        ModuleNotFoundError: An alternative is not installed.
    """
    for shape in shapes:
        # Chroma's threads may still hold files for a moment when it is closed.
        with (
            TemporaryDirectory(ignore_cleanup_errors=True) as directory,
            ExitStack() as stack,
        ):
            searches = dict(
                named
                for group in _progress(groups, f"storing {shape}")
                for named in group(Setting(shape, Path(directory), stack))
            )
            times = _alternating(list(searches.values()), shape, rounds)
        rows = dict(zip(searches, times, strict=True))
        first = float(np.median(rows[FIRST]))
        for system, taken in rows.items():
            p50, p95 = map(float, np.percentile(taken, [50, 95]))
            yield Row(str(shape), system, p50, p95, p50 / first)


def query_embedding(name: str, embeddings: Embeddings, rounds: int) -> Row:
    """Return the time of embedding one query with a model; its ratio is 0, to nothing.

    Args:
        name: Name of the model.
        embeddings: The model.
        rounds: How often it is asked.
    """
    embeddings.embed_query(QUERY)
    queries = [f"{QUERY} {number}" for number in range(rounds)]
    taken = [
        _milliseconds(embeddings.embed_query, query)
        for query in _progress(queries, f"embedding with {name}")
    ]
    p50, p95 = np.percentile(taken, [50, 95])
    return Row("any", f"a query's embedding, {name}", float(p50), float(p95), 0.0)


def document(rows: Sequence[Row], rounds: int) -> str:
    """Return the rows as JSON with the name of their schema."""
    return json.dumps(
        {
            "schema": "memview.latency/1",
            "rounds": rounds,
            "rows": [asdict(r) for r in rows],
        },
        indent=1,
    )


def write_csv(rows: Sequence[Row], file: Path) -> None:
    """Write the rows to a file.

    Raises:
        OSError: The file cannot be written.
    """
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [f.name for f in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _alternating(
    searches: Sequence[Search], shape: Shape, rounds: int
) -> list[list[float]]:
    """Return the times of each search in milliseconds; all are asked once before."""
    times: list[list[float]] = [[] for _ in searches]
    for search in searches:
        search(0)
    for number in _progress(range(rounds), f"asking {shape}"):
        for search, taken in zip(searches, times, strict=True):
            taken.append(_milliseconds(search, number))
    return times


def _milliseconds(call: Callable[[Asked], object], asked: Asked) -> float:
    start = time.perf_counter()
    call(asked)
    return (time.perf_counter() - start) * 1000


def _progress(steps: Sequence[Item], what: str) -> Iterable[Item]:
    on = Console(stderr=True)
    return track(steps, what, console=on, disable=not sys.stderr.isatty())
