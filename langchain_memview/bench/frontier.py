"""What a cap buys: personalization against leakage, for every mode and many shapes.

`memview bench frontier` prints, for each configuration, how often a relevant turn shows
the view that the store M supports, under M and under an adjacent store M', the difference
(the advantage, which is what memory contributes), and what the best possible observer of
the augmented transcript makes of it. Everything is computed from exact laws; nothing is
sampled, so there is no standard error.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import product
from pathlib import Path

from langchain_memview.bench.frontier_attack import Attack
from langchain_memview.bench.frontier_runs import MODES, Cell, Mode, run

__all__ = [
    "CAPS",
    "MODES",
    "SLOTS",
    "TURNS",
    "VIEWS",
    "Cell",
    "Row",
    "cells",
    "equal_leakage",
    "finished",
    "frontier",
    "row",
]

CAPS = tuple(Fraction(cap) for cap in ("1/4", "1/2", "1", "2", "4"))
TURNS = (16, 128, 1000)
VIEWS = (3, 5, 8)
SLOTS = (1, 2, 3)
EQUAL_AUC = 0.57


@dataclass(frozen=True)
class Row:
    """One line of the frontier.

    Attributes:
        mode: The mode; see `frontier_runs.Cell`.
        cap: B in nats, exact.
        turns: T.
        views: k.
        slots: Number of slots.
        overlap: `yes` if the attribute has positions in all slots, else `no`.
        shown: Share of relevant turns that show the supported view, under M.
        shown_other: The same under M'.
        advantage: Their difference.
        auc: AUC of the Bayes-optimal observer.
        tpr: Its true-positive rate at 5 % false alarms.
        log_ratio: Largest log-likelihood ratio of any transcript, in nats.
        within: `yes` if that is at most the cap, decided in rational numbers.
    """

    mode: str
    cap: str
    turns: int
    views: int
    slots: int
    overlap: str
    shown: float
    shown_other: float
    advantage: float
    auc: float
    tpr: float
    log_ratio: float
    within: str

    @property
    def key(self) -> tuple[str, ...]:
        """Return what identifies the configuration."""
        shape = (self.turns, self.views, self.slots)
        return (self.mode, self.cap, *map(str, shape), self.overlap)


COLUMNS = tuple(field.name for field in fields(Row))
_NUMBERS = ("shown", "shown_other", "advantage", "auc", "tpr", "log_ratio")


def cells(
    modes: Iterable[Mode] = MODES,
    caps: Iterable[Fraction] = CAPS,
    turns: Iterable[int] = TURNS,
    views: Iterable[int] = VIEWS,
    slots: Iterable[int] = SLOTS,
) -> list[Cell]:
    """Return the configurations, the fastest first; one slot has no overlap to vary."""
    found = [
        Cell(mode, cap, length, count, number, overlap)
        for length, number, overlap, count, cap, mode in product(
            turns, slots, (True, False), views, caps, modes
        )
        if overlap or number > 1
    ]
    return sorted(found, key=lambda cell: (cell.turns, cell.slots))


def row(cell: Cell) -> Row:
    """Return the line of one configuration."""
    found = run(cell)
    attack = Attack(found.draws)
    return Row(
        cell.mode,
        str(cell.cap),
        cell.turns,
        cell.views,
        cell.slots,
        "yes" if cell.overlap else "no",
        found.shown,
        found.shown_other,
        found.shown - found.shown_other,
        attack.auc,
        attack.true_positives(),
        attack.log_ratio,
        "yes" if attack.within(cell.cap) else "no",
    )


def key_of(cell: Cell) -> tuple[str, ...]:
    """Return the key of the row of a configuration."""
    shape = (cell.turns, cell.views, cell.slots)
    overlap = "yes" if cell.overlap else "no"
    return (cell.mode, str(cell.cap), *map(str, shape), overlap)


def finished(file: Path) -> Mapping[tuple[str, ...], Row]:
    """Return the rows of an earlier run by their keys; none if there is no file.

    Raises:
        ValueError: The file is something else, or a line of it is damaged.
    """
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{file.name} is no table of this benchmark")
        try:
            rows = [_row(line) for line in reader]
        except (TypeError, ValueError):
            raise ValueError(
                f"line {reader.line_num} of {file.name} is damaged"
            ) from None
    return {one.key: one for one in rows}


def _row(line: Mapping[str, str]) -> Row:
    values: dict[str, str | int | float] = dict(line)
    for name in ("turns", "views", "slots"):
        values[name] = int(line[name])
    for name in _NUMBERS:
        values[name] = float(line[name])
    if None in values or None in values.values():
        raise ValueError("the line has another number of columns")
    return Row(**values)  # type: ignore[arg-type]


def frontier(wanted: Iterable[Cell], file: Path | None) -> Iterator[Row]:
    """Yield the row of every configuration; those of the file are not computed again.

    Args:
        wanted: The configurations.
        file: A CSV file that gets each new row as soon as it is there; None for none.

    Raises:
        ValueError: As in `finished`.
        OSError: The file cannot be written.
    """
    known = finished(file) if file else {}
    for cell in wanted:
        found = known.get(key_of(cell))
        if found is None:
            found = row(cell)
            if file:
                _append(file, found)
        yield found


def _append(file: Path, found: Row) -> None:
    new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(asdict(found))


def equal_leakage(auc: float = EQUAL_AUC, views: int = 5) -> tuple[Row, Row]:
    """Return the standing mode at the cap that gives this AUC, and online at a cap of 2.

    The cap is found by bisection to a thousandth; T is 16 and there is one slot.

    Args:
        auc: AUC of the Bayes-optimal observer, in (1/2, 1).
        views: k.
    """
    low, high = Fraction(1, 1000), Fraction(8)
    while high - low > Fraction(1, 1000):
        middle = (low + high) / 2
        if row(Cell("standing", middle, 16, views)).auc < auc:
            low = middle
        else:
            high = middle
    cap = Fraction(round(high * 1000), 1000)
    return row(Cell("standing", cap, 16, views)), row(
        Cell("online", Fraction(2), 16, views)
    )
