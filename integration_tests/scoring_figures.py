"""The figures of scorers that the README prints, and the same ones measured."""

import re
from collections.abc import Iterable
from pathlib import Path

from langchain_memview.bench.scoring import Row

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def printed(scorer: str) -> list[float]:
    """Return what the README's table says of a scorer, from left to right."""
    (row,) = re.findall(rf"^\| {re.escape(scorer)} \|(.*)\|$", README, re.MULTILINE)
    return [float(figure) for figure in row.split("|")]


def measured(rows: Iterable[Row], rule: str) -> list[float]:
    """Return the same figures of a scorer that uses `bearing`, or is plain."""
    values = {
        (row.rule, row.measure): round(row.value, 3)
        for row in rows
        if row.attribute == "all"
    }
    return [
        *(values[rule, measure] for measure in ("top-1", "neutral", "hard")),
        values["plain", "hard"],
    ]
