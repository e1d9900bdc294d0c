"""`memview demo`: plays the meal planner's tour in the terminal."""

import json
import sqlite3
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from langchain_memview.errors import MemViewError

_INSTALL = 'pip install "langchain-memview[demo]"'


def demo_command(
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
        _play(model, turns, draws, directory, as_json=as_json)
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


def _play(
    model: str, turns: int, seed: int | None, directory: Path | None, *, as_json: bool
) -> None:
    from rich.console import Console

    from langchain_memview.demo.models import chat_model
    from langchain_memview.demo.run import open_planner
    from langchain_memview.demo.terminal import Screen
    from langchain_memview.demo.tour import TOUR
    from langchain_memview.demo.turns import document

    tour = TOUR[:turns]
    with open_planner(directory, chat_model(model), seed) as planner:
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


def _stop(reason: str) -> NoReturn:
    typer.echo(reason, err=True)
    raise typer.Exit(3)
