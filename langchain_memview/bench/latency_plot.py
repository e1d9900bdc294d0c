"""The plot of the latencies: one line per system over the shapes, logarithmic."""

from collections.abc import Sequence
from pathlib import Path

from langchain_memview.bench.latency import Row


def plot(rows: Sequence[Row], file: Path) -> None:
    """Draw the median of every system in every shape and write it to a file.

    Args:
        rows: The rows; those without a ratio are about no shape and are left out.
        file: Where to write it; its ending says the format (svg, png, pdf).

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        OSError: The file cannot be written.
        ValueError: The format is not known.
    """
    from matplotlib.figure import Figure

    shown = [row for row in rows if row.ratio]
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    for system in dict.fromkeys(row.system for row in shown):
        own = [row for row in shown if row.system == system]
        ours = system.startswith("MemView")
        axes.plot(
            [row.shape for row in own],
            [row.p50_ms for row in own],
            marker="o" if ours else "s",
            linestyle="-" if ours else "--",
            label=system,
        )
    axes.set_yscale("log")
    axes.set_ylabel("median of one turn or search, ms")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(file)
