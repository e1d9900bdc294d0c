"""`memview ledger` on both engines: whole ledgers, and ledgers that somebody altered."""

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_memview._cli.ledger import app
from langchain_memview.core.accounts import LedgerStore
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import account, answer, charged, operation

PERSON = "Zoë Canary"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A ledger with three releases of one person and one of another."""
    if request.param == "sqlite":
        file = str(tmp_path / "ledger.sqlite")
        ledger = SqliteLedger(file)
        fill(ledger)
        ledger.close()
        yield file
        return
    address = request.getfixturevalue("address")
    with psycopg.connect(address) as connection:
        fill(PostgresLedger(connection))
    yield address


def fill(ledger: LedgerStore) -> None:
    slots = (charged("health"), charged("debt", slot="money", view="cheap", read=(3,)))
    ledger.transact(account(PERSON), operation("t1"), answer(*slots))
    for name in ("t2", "t3"):
        ledger.transact(account(PERSON), operation(name), answer(charged("debt")))
    ledger.transact(account("ben"), operation("t1"), answer(charged("health")))


def alter(place: str, sql: str) -> None:
    """Change what the database guards, as only its owner can."""
    tables = ("account", "balance", "release")
    if place.startswith("postgresql:"):
        with psycopg.connect(place, autocommit=True) as owner:
            for table in tables:
                owner.execute(f"ALTER TABLE memview_{table} DISABLE TRIGGER USER")
            owner.execute(sql)
        return
    with closing(sqlite3.connect(place)) as owner, owner:
        triggers = owner.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        )
        for (name,) in triggers.fetchall():
            owner.execute(f"DROP TRIGGER {name}")
        owner.execute(sql)


def test_a_whole_ledger_is_verified_and_its_heads_are_printed(place: str) -> None:
    result = run("verify", place)
    assert result.exit_code == 0
    assert "2 accounts, 4 rows. Every row follows the one before it" in result.stdout
    document = json.loads(run("verify", place, "--json").stdout)
    assert (document["schema"], document["ok"]) == ("memview.ledger.verify/1", True)
    assert sorted(a["rows"] for a in document["accounts"]) == [1, 3]
    for one in document["accounts"]:
        assert one["problems"] == []
        assert one["head"] in result.stdout


CHAIN = [
    (
        "UPDATE memview_release SET charges = '[]' WHERE sequence = 3",
        "row 3 does not follow row 2: its contents are not those that were recorded",
    ),
    (
        "UPDATE memview_release SET operation = 'x' WHERE sequence = 2",
        "row 2 does not follow row 1: its contents are not those that were recorded",
    ),
    (
        "UPDATE memview_release SET views = '{}' WHERE sequence = 2",
        "row 2 does not follow row 1: its views are not those that were recorded",
    ),
    (
        "DELETE FROM memview_release WHERE sequence = 2",
        "row 3 does not follow row 1: row 2 is missing",
    ),
    (
        "DELETE FROM memview_release WHERE sequence = 3",
        "row 3 is missing: the last row is 2",
    ),
    (
        "UPDATE memview_release SET previous = hash WHERE sequence = 3",
        "row 3 does not follow row 2: it was written after another row",
    ),
    (
        "UPDATE memview_account SET head = 'x' WHERE sequence = 3",
        "row 3 is not the last row that was written",
    ),
]
BALANCES = [
    (
        "UPDATE memview_balance SET spent = 0 WHERE spent > 9009000000",
        "debt has spent 0, but its charges sum to 3",
    ),
    (
        "DELETE FROM memview_balance WHERE spent > 9009000000",
        "debt was charged 3 and has no balance",
    ),
    (
        "UPDATE memview_balance SET spent = 10 * spent, cap = 10 * cap"
        " WHERE spent > 9009000000",
        "debt has spent 30, but all charges sum to 4",
    ),
]


@pytest.mark.parametrize(("sql", "text"), CHAIN + BALANCES)
def test_what_somebody_altered_is_named_with_account_and_row(
    place: str, sql: str, text: str
) -> None:
    accounts = json.loads(run("verify", place, "--json").stdout)["accounts"]
    (key,) = (one["id"] for one in accounts if one["rows"] == 3)
    alter(place, sql)
    result = run("verify", place)
    assert result.exit_code == 1
    (line,) = result.stdout.splitlines()
    assert line.endswith(f": account {key[:10]}, {text}; treat the ledger as spent")
    document = json.loads(run("verify", place, "--json").stdout)
    assert document["ok"] is False
    assert [p["text"] for one in document["accounts"] for p in one["problems"]] == [
        text
    ]
    assert run("verify", place, "--subject", "ben").exit_code == 0
    assert run("verify", place, "--subject", PERSON).exit_code == 1


def test_rows_of_a_removed_account_are_found(place: str) -> None:
    # Without the reference that would forbid it.
    alter(place, "DELETE FROM memview_balance WHERE spent <= 9009000000")
    alter(place, "DELETE FROM memview_account WHERE sequence = 1")
    result = run("verify", place)
    assert result.exit_code == 1
    assert "it has rows, but its account is missing; treat the ledger" in result.stdout


def test_erased_views_leave_a_whole_ledger(place: str) -> None:
    alter(place, "UPDATE memview_release SET views = NULL")
    assert run("verify", place).exit_code == 0
    lines = run("export", place, "--format", "jsonl").stdout.splitlines()
    assert {json.loads(line)["view"] for line in lines} == {None}


def test_a_balance_that_a_change_of_groups_raised_is_whole(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger(file)
    ledger.transact(account(), operation("t1"), answer(charged("health")))
    wider = account(groups={"health": (1, 2), "debt": (1, 3)})
    both = answer(charged("debt", "health"))
    ledger.transact(wider, operation("t2"), both)
    ledger.close()
    assert run("verify", str(file)).exit_code == 0


def test_every_slot_release_is_one_line_of_the_export(place: str) -> None:
    result = run("export", place, "--subject", PERSON, "--format", "jsonl")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["seq"], row["slot"], row["view"]) for row in rows] == [
        (1, "food", "light"),
        (1, "money", "cheap"),
        (2, "food", "light"),
        (3, "food", "light"),
    ]
    first = rows[0]
    assert list(first) == [
        *("seq", "time", "account", "lineage", "audience", "operation", "slot", "view"),
        *("outcome", "charged", "epsilon", "blocked_by", "hash"),
    ]
    assert (first["audience"], first["operation"], first["epsilon"]) == (
        "app",
        "t1",
        "1",
    )
    assert (first["outcome"], first["charged"]) == ("selected", ["health"])
    assert len(first["hash"]) == 64
    table = list(csv.DictReader(run("export", place).stdout.splitlines()))
    assert len(table) == 5
    assert {row["charged"] for row in table} == {"health", "debt"}
    assert PERSON not in result.stdout
    assert "Canary" not in run("show", place).stdout


def test_spent_amounts_are_shown_for_a_person_with_any_name(place: str) -> None:
    document = json.loads(run("show", place, "--subject", PERSON, "--json").stdout)
    assert document["sums"] == {"debt": "3", "health": "1"}


@pytest.mark.parametrize("command", ["show", "verify", "export"])
@pytest.mark.parametrize(
    "unreadable",
    [
        "missing.sqlite",
        "postgresql://me:secret-word@/db?host=/nowhere",
        "postgresql://me:secret-word@[broken",
        "postgresql://me:secret-word@127.0.0.1:1/db",
    ],
)
def test_what_cannot_be_read_ends_with_exit_code_3_and_no_password(
    tmp_path: Path, command: str, unreadable: str
) -> None:
    place = unreadable if "://" in unreadable else str(tmp_path / unreadable)
    result = run(command, place)
    assert result.exit_code == 3
    assert "ledger cannot be read" in result.stderr
    assert "secret-word" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_ledger_ends_with_exit_code_3(address: str) -> None:
    assert run("verify", address).exit_code == 3
