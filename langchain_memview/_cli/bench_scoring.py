"""`memview bench scoring`: how well scorers tell which view a memory speaks for."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, missing_extra, print_table, table
from langchain_memview.errors import MemViewError

if TYPE_CHECKING:
    from langchain_memview.bench.scoring import Row, Supports


def scoring(
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Embedding model to measure beside the cues, such as "
            "huggingface:FOLDER or wordllama:256; may be repeated. [ngrams:4096]"
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets to measure on as well.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write rows to this file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the figures (svg, png, pdf).")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure scorers on the shipped sentences: whose view, and whose memory."""
    try:
        rows = _rows(model or ["ngrams:4096"], data)
        _write(rows, csv, plot)
    except ModuleNotFoundError as error:
        raise missing_extra(
            error, "plots" if error.name == "matplotlib" else "bench"
        ) from None
    except (MemViewError, OSError, ValueError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    if json_:
        document = {
            "schema": "memview.scoring/1",
            "rows": [asdict(row) for row in rows],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    _print(rows)


def _rows(models: list[str], data: Path | None) -> list["Row"]:
    from langchain_memview.bench import scoring as measured
    from langchain_memview.bench import scoring_data

    texts = {"shipped": scoring_data.shipped("test")}
    if data:
        texts["transfer"] = scoring_data.from_folder(data)
    return [
        row
        for name, compared, supports in _all_supports(models)
        for where, own in texts.items()
        for row in measured.measure(name, compared, supports, where, own)
    ]


def _all_supports(models: list[str]) -> Iterator[tuple[str, str, "Supports"]]:
    from langchain_memview.bench.scoring import by_cues, by_embeddings
    from langchain_memview.models.embeddings import embedding_model
    from langchain_memview.vectors import model_name

    yield "cue", "cues", by_cues()
    for embeddings in map(embedding_model, models):
        for compared in ("view", "support"):
            yield model_name(embeddings), compared, by_embeddings(embeddings, compared)


def _write(rows: list["Row"], csv: Path | None, plot: Path | None) -> None:
    from langchain_memview.bench.scoring import write_csv

    if csv:
        write_csv(rows, csv)
    if plot:
        from langchain_memview.bench.scoring_plot import plot as draw

        draw(rows, plot)


def _print(rows: list["Row"]) -> None:
    made = table(
        ("Data", "left"),
        ("Scorer", "left"),
        ("Compared", "left"),
        ("Measure", "left"),
        ("Plain", "right"),
        ("With bearing", "right"),
    )
    pairs: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        if row.attribute == "all":
            key = (row.data, row.scorer, row.compared, row.measure)
            pairs.setdefault(key, {})[row.rule] = row
    for cells, own in pairs.items():
        made.add_row(*cells, _shown(own["plain"]), _shown(own["bearing"]))
    print_table(
        console(),
        "top-1: share of evidence whose own view comes first; all others: area under the\n"
        "curve of evidence against these sentences; 95 % intervals",
        made,
    )


def _shown(row: "Row") -> str:
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"
