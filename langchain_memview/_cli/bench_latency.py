"""`memview bench latency`: what a turn costs beside what people use for memories today."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, missing_extra, print_table, table
from langchain_memview.errors import MemViewError

if TYPE_CHECKING:
    from langchain_memview.bench.latency import Row


def latency(  # noqa: PLR0913 - one for every option
    *,
    size: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Memories of one person; may be repeated. [100, 10000, 100000]"
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(min=1, help="People with ten memories each. [10000]"),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Times each is asked.")] = 50,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Time a query's embedding with this model as well."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write rows to this file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the medians (svg, png, pdf).")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time a turn beside the vector search of stores and memories; takes minutes."""
    try:
        rows = _rows(size, people, rounds, model or ())
        _write(rows, csv, plot)
    except ModuleNotFoundError as error:
        raise missing_extra(
            error, "plots" if error.name == "matplotlib" else "compare"
        ) from None
    except (MemViewError, OSError, ValueError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    if json_:
        from langchain_memview.bench.latency import document

        typer.echo(document(rows, rounds))
        return
    _print(rows)


def _rows(
    sizes: list[int] | None, people: int | None, rounds: int, models: Sequence[str]
) -> list["Row"]:
    from langchain_memview.bench.latency import SHAPES, latency, query_embedding
    from langchain_memview.bench.latency_texts import Shape
    from langchain_memview.models.embeddings import embedding_model

    shapes = [Shape(1, size) for size in sizes or ()]
    shapes += [Shape(people, 10)] if people else []
    embedded = [(name, embedding_model(name)) for name in models]
    return [
        *latency(shapes or SHAPES, rounds),
        *(query_embedding(name, made, rounds) for name, made in embedded),
    ]


def _write(rows: list["Row"], csv: Path | None, plot: Path | None) -> None:
    from langchain_memview.bench.latency import write_csv

    if csv:
        write_csv(rows, csv)
    if plot:
        from langchain_memview.bench.latency_plot import plot as draw

        draw(rows, plot)


def _print(rows: list["Row"]) -> None:
    made = table(
        ("Stored", "left"),
        ("Asked", "left"),
        ("p50 ms", "right"),
        ("p95 ms", "right"),
        ("Times", "right"),
    )
    for row in rows:
        times = f"{row.ratio:.2f}" if row.ratio else ""
        made.add_row(
            row.shape, row.system, f"{row.p50_ms:.3f}", f"{row.p95_ms:.3f}", times
        )
    print_table(
        console(),
        "One turn or search, without the query's embedding, and how many times a MemView\n"
        "turn with embeddings it takes",
        made,
    )
