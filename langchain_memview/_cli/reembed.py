"""`memview reembed`: moves stored memories to the vectors of another model."""

from pathlib import Path
from typing import Annotated

import typer

from langchain_memview._cli.embedding import EmbeddingName, PolicyName, named_model
from langchain_memview._cli.output import console, missing_extra
from langchain_memview.errors import MemViewError


def reembed_command(
    directory: Annotated[Path, typer.Argument(help="Chroma's directory.")],
    *,
    model: EmbeddingName,
    name: PolicyName = "",
    collection: Annotated[
        str, typer.Option(help="Name of the collection.")
    ] = "memview",
    into: Annotated[
        str, typer.Option(help="Copy into this new collection and keep the old one.")
    ] = "",
) -> None:
    """Embed every memory of a collection anew; an interrupted run goes on.

    Stop what writes to the collection first. No memory is printed.
    """
    from rich.progress import Progress

    try:
        from langchain_memview.backends.reembed import Step, reembed
        from langchain_memview.scorers.embedding import identity, prepared_vectors

        embeddings, called = named_model(model, name)
        last = Step(0, 0, 0)
        on = console(stderr=True)
        with Progress(console=on, disable=not on.is_terminal) as progress:
            task = progress.add_task("memories")
            for last in reembed(
                directory,
                collection,
                identity(embeddings, called),
                lambda texts: prepared_vectors(embeddings, texts).tolist(),
                into,
            ):
                progress.update(task, completed=last.done, total=last.total)
    except ModuleNotFoundError as error:
        raise missing_extra(error, "chroma") from None
    except MemViewError as error:
        typer.echo(f"memview: {error}", err=True)
        raise typer.Exit(3) from None
    waiting = f"; {last.waiting} wait for memview.prepare()" if last.waiting else ""
    typer.echo(f"{last.total} memories are embedded by {called!r}{waiting}.")
