"""The plot of the frontier: what memory contributes against what an observer learns."""

from collections.abc import Sequence
from pathlib import Path

from langchain_memview.bench.frontier import Row

_MARKERS = "osD^vPX"


def plot(rows: Sequence[Row], file: Path) -> None:
    """Draw advantage against AUC, one line per mode, and write it to a file.

    Args:
        rows: The rows to show; caps of one shape are joined by a line.
        file: Where to write it; its ending says the format (svg, png, pdf).

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: The format is not known.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    modes = list(dict.fromkeys(row.mode for row in rows))
    for mode, marker in zip(modes, _MARKERS, strict=False):
        color = f"C{modes.index(mode)}"
        label: str | None = mode
        for shape in sorted({row.key[2:] for row in rows}):
            line = sorted(
                (row.auc, row.advantage)
                for row in rows
                if row.mode == mode and row.key[2:] == shape
            )
            if line:
                points = list(zip(*line, strict=True))
                axes.plot(*points, marker=marker, color=color, label=label, lw=0.8)
                label = None
    axes.set_xlabel("AUC of the best possible observer (0.5 learns nothing)")
    axes.set_ylabel("advantage: supported view under M minus under M'")
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(file)
