"""`memview ledger show` reads a real ledger file and never changes it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_memview._cli.ledger import app
from langchain_memview.backends import InMemoryBackend
from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.ledgers import SqliteLedger
from langchain_memview.memview import MemView

VIEWS = {"generic": "Any.", "other": "Other."}


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    policy = Policy(
        "meals",
        {"debt": ProtectedAttribute([1], cap=1), "health": ProtectedAttribute([2], 2)},
        [
            Slot("money", when=["cheap"], views=VIEWS, capacity=1),
            Slot("body", when=["healthy"], views=VIEWS, capacity=1),
        ],
        OnlineBudget(2),
    )
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    memview = MemView(
        policy, InMemoryBackend({"ana": {1: "Owes money."}}), ledger=ledger
    )
    for number in range(3):
        memview.turn("cheap", subject="ana", audience="app", operation=f"t{number}")
    memview.turn("healthy", subject="ben", audience="app", operation="t0")
    ledger.close()
    return tmp_path / "ledger.sqlite"


def run(*arguments: object):
    return CliRunner().invoke(app, ["show", *map(str, arguments)])


def test_a_subject_s_spent_amounts_are_shown_as_exact_json(ledger_file: Path):
    result = run(ledger_file, "--subject", "ana", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["schema"] == "memview.ledger/1"
    (account,) = document["accounts"]
    debt, health = account["attributes"]
    assert (debt["name"], debt["spent"], debt["cap"]) == ("debt", "1", "1")
    assert (debt["charges"], debt["blocked"]) == (2, 1)
    assert debt["odds_bound"] == pytest.approx(2.718, abs=1e-3)
    assert (health["spent"], health["charges"]) == ("0", 0)
    assert account["lineage"].startswith("meals@")


def test_all_accounts_are_shown_as_a_table_without_any_subject_s_name(
    ledger_file: Path,
):
    before = ledger_file.read_bytes()
    result = run(ledger_file)
    assert result.exit_code == 0
    assert result.stdout.count("Ledger ") == 2
    assert "At the cap: debt." in result.stdout
    assert "ana" not in result.stdout
    assert "\x1b" not in result.stdout
    assert ledger_file.read_bytes() == before


def test_a_person_without_an_account_has_spent_nothing(ledger_file: Path):
    result = run(ledger_file, "--subject", "nobody")
    assert result.exit_code == 0
    assert "nothing has been spent" in result.stdout


@pytest.mark.parametrize("content", [None, b"", b"no database at all" * 100])
def test_a_file_that_is_no_ledger_ends_with_exit_code_3(
    tmp_path: Path, content: bytes | None
):
    file = tmp_path / "other.sqlite"
    if content is not None:
        file.write_bytes(content)
    result = run(file)
    assert result.exit_code == 3
    assert "ledger cannot be read" in result.stderr
    assert file.exists() == (content is not None)
