"""`memview ledger verify` and `export`: is a ledger whole, and all of its rows."""

import csv
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from langchain_memview._cli.ledger_place import Json, Place, Subject, reader_of
from langchain_memview.ledgers.places import place_name
from langchain_memview.ledgers.reading import LedgerReader, StoredAccount
from langchain_memview.ledgers.verifying import findings

_COLUMNS = (
    *("seq", "time", "account", "lineage", "audience", "operation", "slot", "view"),
    *("outcome", "charged", "epsilon", "blocked_by", "hash"),
)


class Format(StrEnum):
    """How exported lines are written."""

    csv = "csv"
    jsonl = "jsonl"


def verify(place: Place, subject: Subject = None, *, json_: Json = False) -> None:
    """Recompute the chain of every account, and its balances from its charges.

    Exit code 1 says that something was altered: treat the ledger as spent.
    """
    with reader_of(place) as reader:
        accounts = [_verified(account) for account in reader.accounts(subject)]
        if subject is None:
            accounts += [_stray(key) for key in reader.strays()]
    broken = any(account["problems"] for account in accounts)
    if json_:
        document = {"schema": "memview.ledger.verify/1", "ok": not broken}
        typer.echo(json.dumps({**document, "accounts": accounts}, indent=1))
    else:
        for line in _lines(place_name(place), accounts):
            typer.echo(line)
    if broken:
        raise typer.Exit(1)


def _verified(account: StoredAccount) -> dict[str, Any]:
    return {
        "id": account.id,
        "lineage": account.lineage,
        "audience": account.audience,
        "rows": len(account.releases),
        "head": account.head,
        "problems": [
            {"row": finding.row, "text": finding.text} for finding in findings(account)
        ],
    }


def _stray(key: str) -> dict[str, Any]:
    problem = {"row": None, "text": "it has rows, but its account is missing"}
    unknown = {"lineage": None, "audience": None, "rows": None, "head": None}
    return {"id": key, **unknown, "problems": [problem]}


def _lines(name: str, accounts: list[dict[str, Any]]) -> Iterator[str]:
    for account in accounts:
        for problem in account["problems"]:
            yield (
                f"{name}: account {account['id'][:10]}, {problem['text']}; treat the "
                "ledger as spent"
            )
    if not any(account["problems"] for account in accounts):
        rows = sum(account["rows"] for account in accounts)
        yield (
            f"{name}: {len(accounts)} accounts, {rows} rows. Every row follows the one "
            "before it, and every balance holds its charges."
        )
        for account in accounts:
            yield f"  {account['id'][:10]}  row {account['rows']}  {account['head']}"


def export(
    place: Place,
    subject: Subject = None,
    *,
    format_: Annotated[
        Format, typer.Option("--format", help="One line for each slot release.")
    ] = Format.csv,
) -> None:
    """Write every release of every slot: when, what was shown, what it cost."""
    with reader_of(place) as reader:
        rows = _rows(reader, subject)
        if format_ is Format.jsonl:
            for row in rows:
                typer.echo(json.dumps(row))
            return
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in rows:
            writer.writerow(
                " ".join(cell) if isinstance(cell, list) else cell
                for cell in row.values()
            )


def _rows(reader: LedgerReader, subject: str | None) -> Iterator[dict[str, Any]]:
    for account in reader.accounts(subject):
        for release in account.releases:
            for slot in release.slots:
                cells = (
                    *(release.sequence, release.at, account.id, account.lineage),
                    *(release.audience, release.operation, slot.slot),
                    *(slot.view or None, slot.outcome, list(slot.charged)),
                    *(str(slot.epsilon), list(slot.blocked_by), release.hash),
                )
                yield dict(zip(_COLUMNS, cells, strict=True))
