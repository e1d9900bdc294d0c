"""`memview bench`: what the modes are worth, and what they cost."""

import json
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.bench_latency import latency
from langchain_memview._cli.bench_scoring import scoring
from langchain_memview._cli.output import console, missing_extra, print_table, table

if TYPE_CHECKING:
    from langchain_memview.bench.frontier import Row

app = typer.Typer(no_args_is_help=True, help="Measure what a cap buys.")


app.command()(scoring)
app.command()(latency)


@app.command()
def frontier(  # noqa: PLR0913 - one for every option
    *,
    mode: Annotated[
        list[str] | None, typer.Option(help="Only this mode; may be repeated.")
    ] = None,
    cap: Annotated[
        list[str] | None, typer.Option(help="Only this cap in nats, such as 2 or 1/4.")
    ] = None,
    turns: Annotated[list[int] | None, typer.Option(min=1, help="Only this T.")] = None,
    views: Annotated[
        list[int] | None, typer.Option(min=3, max=9, help="Only this k.")
    ] = None,
    slots: Annotated[
        list[int] | None, typer.Option(min=1, max=9, help="Only so many slots.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write rows to this file; those in it are not done again."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw advantage against AUC (svg, png, pdf).")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the modes: what memory contributes and what the best observer learns."""
    try:
        from rich.progress import track

        from langchain_memview.bench import frontier as measured
    except ModuleNotFoundError as error:
        raise missing_extra(error, "bench") from None
    unknown = sorted(set(mode or ()) - set(measured.MODES))
    if unknown:
        known = ", ".join(measured.MODES)
        raise typer.BadParameter(f"{unknown[0]!r} is no mode; there are {known}.")
    cells = measured.cells(
        [one for one in measured.MODES if not mode or one in mode],
        [_cap(text) for text in cap] if cap else measured.CAPS,
        turns or measured.TURNS,
        views or measured.VIEWS,
        slots or measured.SLOTS,
    )
    on = console(stderr=True)
    try:
        rows = list(
            track(
                measured.frontier(cells, csv),
                "frontier",
                len(cells),
                console=on,
                disable=not sys.stderr.isatty(),
            )
        )
        if plot:
            _plot(rows, plot)
    except (OSError, ValueError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    equal = measured.equal_leakage()
    if json_:
        document = {
            "schema": "memview.frontier/1",
            "rows": [asdict(row) for row in rows],
            "equal_leakage": [asdict(row) for row in equal],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    _print(rows)
    typer.echo(_equal(*equal))


def _cap(text: str) -> Fraction:
    try:
        cap = Fraction(text)
    except (ValueError, ZeroDivisionError):
        cap = Fraction(0)
    if not 0 < cap <= 8:
        raise typer.BadParameter(
            f"a cap is a number above 0 and up to 8, got {text!r}."
        )
    return cap


def _plot(rows: list["Row"], file: Path) -> None:
    from langchain_memview.bench.frontier_plot import plot

    try:
        plot(rows, file)
    except ModuleNotFoundError as error:
        raise missing_extra(error, "plots") from None


def _print(rows: list["Row"]) -> None:
    made = table(
        ("B", "right"),
        ("T", "right"),
        ("k", "right"),
        ("Slots", "left"),
        ("Mode", "left"),
        ("M", "right"),
        ("M'", "right"),
        ("M - M'", "right"),
        ("AUC", "right"),
        ("TPR", "right"),
        ("ln ratio", "right"),
    )
    for row in rows:
        apart = "" if row.overlap == "yes" else " apart"
        made.add_row(
            *(row.cap, str(row.turns), str(row.views), f"{row.slots}{apart}", row.mode),
            *(f"{row.shown:.4f}", f"{row.shown_other:.4f}", f"{row.advantage:.4f}"),
            *(f"{row.auc:.3f}", f"{row.tpr:.3f}"),
            f"{row.log_ratio:.4f}" + ("" if row.within == "yes" else " > B"),
        )
    print_table(
        console(),
        "Share of relevant turns that show the view that M supports, under M and under M';\n"
        "the best observer: AUC, TPR at 5 % false alarms, largest log-likelihood ratio",
        made,
    )


def _equal(standing: "Row", online: "Row") -> str:
    factor = standing.advantage / online.advantage
    return (
        f"\nAt an AUC of {standing.auc:.3f} (five views, 16 turns) the standing mode has an "
        f"advantage of {standing.advantage:.4f}, {factor:.1f} times that of the paper's "
        f"online mode at B = 2 ({online.advantage:.4f}, AUC {online.auc:.3f})."
    )
