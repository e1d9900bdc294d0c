"""`memview demo`: plays the meal planner's tour in the terminal."""

import json
import sqlite3
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from langchain_memview.errors import MemViewError

_INSTALL = 'pip install "langchain-memview[demo]"'


class Place(StrEnum):
    """Where the views stand in the prompt."""

    SYSTEM = "system"
    USER = "user"


def demo_command(  # noqa: PLR0913 - one for every option
    *,
    text: Annotated[
        bool, typer.Option("--text", help="Play in the terminal (the only way so far).")
    ] = False,
    model: Annotated[
        str,
        typer.Option(
            help="Chat model: embedded, or provider:name (openai:…, ollama:…, "
            "huggingface:…)."
        ),
    ] = "embedded",
    placement: Annotated[
        Place | None,
        typer.Option(
            help="Where the views stand in the prompt; by default user for a local "
            "huggingface: model, which hardly follows a system message."
        ),
    ] = None,
    turns: Annotated[
        int, typer.Option(min=1, max=12, help="How many of the questions to ask.")
    ] = 12,
    seed: Annotated[
        str | None,
        typer.Option(
            help="Seed of the demo's draws, a whole number; 'random' for real coins. "
            "By default one that reproduces the paper's Figure 2."
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Keep memories and ledgers here and go on later."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead.")
    ] = False,
) -> None:
    """Play a tour: an app asks twelve questions, four ledgers fill up. Needs no key."""
    from langchain_memview.demo.tour import SEED

    draws = SEED if seed is None else _seed(seed)
    if ":" not in model and model != "embedded":
        raise typer.BadParameter("use 'embedded' or provider:name.", param_hint="model")
    if not text and not as_json:
        typer.echo("This version plays in the terminal, as with --text.\n", err=True)
    try:
        where = str(placement or ("user" if _is_local(model) else "system"))
        _play(model, where, turns, draws, directory, as_json=as_json)
    except ModuleNotFoundError as missing:
        _stop(f"The demo needs {missing.name}: {_INSTALL}")
    except MemViewError as error:
        _stop(str(error))
    except (OSError, sqlite3.Error) as error:
        _stop(f"The folder cannot be used ({error}).")


def _seed(text: str) -> int | None:
    if text == "random":
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            "use a whole number, or 'random' for real coins.", param_hint="seed"
        ) from None


def _is_local(model: str) -> bool:
    return model.startswith("huggingface:")


def _play(
    model: str,
    placement: str,
    turns: int,
    seed: int | None,
    directory: Path | None,
    *,
    as_json: bool,
) -> None:
    from rich.console import Console

    from langchain_memview.demo.models import demo_model
    from langchain_memview.demo.run import open_planner
    from langchain_memview.demo.terminal import Screen
    from langchain_memview.demo.tour import TOUR
    from langchain_memview.demo.turns import document
    from langchain_memview.graph.prompt import known_placement

    tour, chat = TOUR[:turns], demo_model(model)
    if _is_local(model):
        typer.echo(_memory(chat), err=True)
    with open_planner(directory, chat, seed, known_placement(placement)) as planner:
        if as_json:
            asked = [planner.ask(question.text) for question in tour]
            typer.echo(json.dumps(document(asked, model, seed), indent=2))
            return
        screen = Screen(Console(highlight=False, markup=False, emoji=False))
        screen.header(model, seed, len(tour))
        continued = any(balance.spent for balance in planner.balances.values())
        if continued:
            screen.continued()
        for number, question in enumerate(tour, 1):
            # What a turn is there to show is true of ledgers that start empty.
            screen.question(number, question.text, "" if continued else question.about)
            screen.turn(planner.ask(question.text))
        screen.footer(planner.balances, kept=directory is not None)


def _memory(chat: Any) -> str:
    loaded = chat.loaded
    return (
        f"{loaded.parameters / 1e6:,.0f} million parameters in {loaded.dtype} on "
        f"{loaded.device}: {loaded.megabytes:,} MB."
    )


def _stop(reason: str) -> NoReturn:
    typer.echo(reason, err=True)
    raise typer.Exit(3)
