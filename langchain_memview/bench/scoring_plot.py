"""The plot of the scorers: each measure with its interval, plain and with `bearing`."""

from collections.abc import Sequence
from pathlib import Path

from langchain_memview.bench.scoring import Row


def plot(rows: Sequence[Row], file: Path) -> None:
    """Draw the figures over all attributes, one panel per measure, into a file.

    Args:
        rows: The rows; those on the shipped sentences are shown.
        file: Where to write it; its ending says the format (svg, png, pdf).

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: The format is not known.
    """
    from matplotlib.figure import Figure

    shown = ("top-1", "neutral", "hard")
    own = [r for r in rows if r.attribute == "all" and r.data == "shipped"]
    names = list(dict.fromkeys(f"{r.scorer}, {r.compared}" for r in own))
    figure = Figure(figsize=(10, 1 + 0.4 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(shown), sharey=True)
    for panel, named in zip(panels, shown, strict=True):
        for shift, rule in ((-0.1, "plain"), (0.1, "bearing")):
            points = [r for r in own if r.measure == named and r.rule == rule]
            panel.errorbar(
                [r.value for r in points],
                [names.index(f"{r.scorer}, {r.compared}") + shift for r in points],
                xerr=[
                    [r.value - r.low for r in points],
                    [r.high - r.value for r in points],
                ],
                fmt="o",
                label=rule,
            )
        panel.set_title(named)
        panel.grid(visible=True, axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].legend()
    figure.savefig(file)
