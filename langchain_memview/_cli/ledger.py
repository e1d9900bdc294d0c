"""`memview ledger`: what was spent, read from a ledger without changing it."""

import json
import math
from fractions import Fraction
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from langchain_memview._cli.ledger_audit import export, verify
from langchain_memview._cli.ledger_place import Json, Place, Subject, reader_of
from langchain_memview.ledgers.places import place_name
from langchain_memview.ledgers.reading import StoredAccount

app = typer.Typer(
    no_args_is_help=True, help="Read a ledger: spent amounts, caps, charges."
)
app.command()(verify)
app.command()(export)

_BAR = 24


@app.command()
def show(place: Place, subject: Subject = None, *, json_: Json = False) -> None:
    """Show spent and cap of every protected attribute, account by account."""
    with reader_of(place) as reader:
        accounts = list(reader.accounts(subject))
        shown = document(accounts)
    if json_:
        typer.echo(json.dumps(shown, indent=1))
        return
    if not accounts:
        whose = f"of {subject!r} " if subject is not None else ""
        typer.echo(
            f"{place_name(place)} holds no account {whose}yet: nothing has been spent."
        )
        return
    _print(accounts)
    if subject is not None and len(accounts) > 1:
        # Whoever sees all of them can add up what each one reveals.
        sums = ", ".join(f"{n} {float(s):.2f}" for n, s in _sums(accounts).items())
        typer.echo(f"All {len(accounts)} accounts of this person together: {sums}.")


def document(accounts: list[StoredAccount]) -> dict[str, Any]:
    """Return the accounts as the JSON document `memview.ledger/1`."""
    return {
        "schema": "memview.ledger/1",
        "accounts": [
            {
                "id": account.id,
                "lineage": account.lineage,
                "audience": account.audience,
                "since": account.since,
                "attributes": [
                    {
                        "name": name,
                        "spent": str(balance.spent),
                        "spent_float": float(balance.spent),
                        "cap": str(balance.cap),
                        "charges": account.charges(name),
                        "blocked": account.blocked(name),
                        "odds_bound": math.exp(balance.spent),
                    }
                    for name, balance in account.ledger.balances.items()
                ],
            }
            for account in accounts
        ],
        "sums": {name: str(total) for name, total in _sums(accounts).items()},
    }


def _sums(accounts: list[StoredAccount]) -> dict[str, Fraction]:
    """Return the spent amounts of each attribute over all accounts of each name."""
    sums: dict[str, Fraction] = {}
    for account in accounts:
        for name, balance in account.ledger.balances.items():
            sums[name] = sums.get(name, Fraction(0)) + balance.spent
    return sums


def _print(accounts: list[StoredAccount]) -> None:
    console = Console()
    for account in accounts:
        audience = f"  audience {account.audience}" if account.audience else ""
        since = f"  since {account.since}" if account.since else ""
        console.print(
            f"Ledger {account.id[:10]}  policy {account.lineage}{audience}{since}",
            highlight=False,
            soft_wrap=True,
        )
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("Attribute", "Spent", "", "Cap", "Charges", "Blocked", "Odds"):
            table.add_column(title, justify="left" if title in "Attribute" else "right")
        for name, balance in account.ledger.balances.items():
            share = balance.spent / balance.cap if balance.cap else Fraction(1)
            full = int(share * _BAR)
            table.add_row(
                name,
                f"{float(balance.spent):.2f}",
                "█" * full + "░" * (_BAR - full),
                f"{float(balance.cap):.2f}",
                str(account.charges(name)),
                str(account.blocked(name)),
                f"≤ {math.exp(balance.spent):.1f}×",
            )
        console.print(table)
        spent = [
            name
            for name, balance in account.ledger.balances.items()
            if balance.remaining == 0
        ]
        if spent:
            console.print(f"At the cap: {', '.join(spent)}.", highlight=False)
        console.print()
