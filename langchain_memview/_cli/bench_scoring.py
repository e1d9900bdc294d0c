"""`memview bench scoring`: how well scorers tell which view a memory speaks for."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, missing_extra, print_table, table

if TYPE_CHECKING:
    from langchain_memview.bench.scoring import Row, Supports

_SCORERS = ("cue", "hashed", "static")


def scoring(
    *,
    scorer: Annotated[
        list[str] | None,
        typer.Option(help="cue, hashed or static; may be repeated. [cue and hashed]"),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a sentence model too; may be repeated."),
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
    for name in scorer or ():
        if name not in _SCORERS:
            known = ", ".join(_SCORERS)
            raise typer.BadParameter(f"{name!r} is no scorer; there are {known}.")
    try:
        rows = _rows(scorer or ["cue", "hashed"], model or [], data)
        _write(rows, csv, plot)
    except ModuleNotFoundError as error:
        raise missing_extra(error, _extra(error)) from None
    except (OSError, ValueError) as error:
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


def _extra(error: ModuleNotFoundError) -> str:
    return {"matplotlib": "plots", "langchain_huggingface": "huggingface"}.get(
        error.name or "", "bench"
    )


def _rows(scorers: list[str], models: list[Path], data: Path | None) -> list["Row"]:
    from langchain_memview.bench import scoring as measured
    from langchain_memview.bench import scoring_data

    texts = {"shipped": scoring_data.shipped("test")}
    if data:
        texts["transfer"] = scoring_data.from_folder(data)
    return [
        row
        for name, compared, supports in _all_supports(scorers, models)
        for where, own in texts.items()
        for row in measured.measure(name, compared, supports, where, own)
    ]


def _all_supports(
    scorers: list[str], models: list[Path]
) -> Iterator[tuple[str, str, "Supports"]]:
    from langchain_memview.bench import encoders
    from langchain_memview.bench.scoring import by_cosine, by_cues

    made = {"hashed": encoders.hashed_ngrams, "static": encoders.static_words}
    if "cue" in scorers:
        yield "cue", "cues", by_cues()
    named = [(name, made[name]()) for name in made if name in scorers]
    named += [(path.name, encoders.sentence_model(path)) for path in models]
    for name, encoder in named:
        for compared in ("view", "support"):
            yield name, compared, by_cosine(encoder, compared)


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
