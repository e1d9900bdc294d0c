"""`memview ledger`: what was spent, read from a ledger file without changing it."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from langchain_memview.errors import LedgerError
from langchain_memview.ledgers.reading import StoredAccount, stored_accounts

app = typer.Typer(
    no_args_is_help=True, help="Read a ledger: spent amounts, caps, charges."
)

_BAR = 24


@app.callback()
def _group() -> None:
    """Keep `show` a command of its own, although it is the only one."""


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="The ledger's SQLite file.")],
    subject: Annotated[
        str | None, typer.Option(help="Only the accounts of this person.")
    ] = None,
    *,
    json_: Annotated[
        bool, typer.Option("--json", help="One JSON document on stdout.")
    ] = False,
) -> None:
    """Show spent and cap of every protected attribute, account by account."""
    accounts, failure = _read(file, subject)
    if failure:
        typer.echo(f"{file}: {failure}", err=True)
        raise typer.Exit(3)
    if json_:
        typer.echo(json.dumps(document(accounts), indent=1))
        return
    if not accounts:
        whose = f"of {subject!r} " if subject is not None else ""
        typer.echo(f"{file} holds no account {whose}yet: nothing has been spent.")
        return
    _print(accounts)


def _read(file: Path, subject: str | None) -> tuple[list[StoredAccount], str]:
    try:
        return stored_accounts(file, subject), ""
    except LedgerError as error:
        return [], str(error)


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
