"""What a ledger in a SQLite file promises beyond every other: the file itself keeps it.

Where a promise is about processes, there are processes: `sqlite_worker.py` is started,
raced and killed.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from langchain_memview.errors import (
    LedgerUnavailableError,
    LedgerVersionError,
    WiringError,
)
from langchain_memview.ledgers.rows import GENESIS, chain_hash, text_hash
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    never,
    operation,
    spent,
)

WORKER = Path(__file__).with_name("sqlite_worker.py")
SUBJECT = "Zoë Canary"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    store = SqliteLedger(path, timeout=0.2)
    yield store
    store.close()


@pytest.fixture
def used(ledger: SqliteLedger) -> SqliteLedger:
    """A ledger with one charge of 1 to `health`, whose cap is 2."""
    ledger.transact(account(SUBJECT), operation("t1"), answer(charged("health")))
    return ledger


# -- the database guards itself ------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE memview_balance SET spent = cap + 1",
        "UPDATE memview_balance SET spent = spent - 1 WHERE attribute = 'health'",
        "UPDATE memview_balance SET spent = -1",
        "UPDATE memview_balance SET spent = spent + 0.5",
        "UPDATE memview_balance SET cap = cap + 1",
        "UPDATE memview_balance SET cap = 'x', spent = 'x'",
        "UPDATE memview_balance SET cap = spent - 1 WHERE attribute = 'health'",
        "UPDATE memview_balance SET account = 'somebody'",
        "UPDATE memview_balance SET attribute = attribute || '2'",
        "DELETE FROM memview_balance",
        "REPLACE INTO memview_balance SELECT account, attribute, 0, cap"
        " FROM memview_balance WHERE attribute = 'health'",
        "REPLACE INTO memview_balance SELECT account, attribute, spent, cap + 1"
        " FROM memview_balance",
        "DELETE FROM memview_release",
        "UPDATE memview_release SET charges = '[]'",
        "UPDATE memview_release SET views = '{}'",
        "UPDATE memview_release SET operation = 't2'",
        "UPDATE memview_release SET account = 'somebody'",
        "UPDATE memview_release SET hash = previous",
        "REPLACE INTO memview_release SELECT account, sequence, operation, request,"
        " audience, at, '[]', views, views_hash, previous, hash FROM memview_release",
        "INSERT INTO memview_release SELECT account, sequence + 1, operation, request,"
        " audience, at, charges, views, views_hash, previous, hash"
        " FROM memview_release",
        "DELETE FROM memview_meta",
        "UPDATE memview_meta SET value = '00' WHERE name = 'key'",
        "REPLACE INTO memview_meta VALUES ('key', '00')",
    ],
)
def test_the_database_refuses_what_would_lift_a_cap_or_lose_a_charge(
    used: SqliteLedger, path: Path, sql: str
) -> None:
    before = dump(path)
    with (
        closing(sqlite3.connect(path)) as other,
        pytest.raises(sqlite3.IntegrityError),
    ):
        other.execute(sql)
    assert dump(path) == before
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}


def test_the_views_of_a_release_can_be_erased_and_its_charges_stay(
    used: SqliteLedger, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE memview_release SET views = NULL")
    record, _ = used.transact(account(SUBJECT), operation("t1"), never)
    assert record.slots == (charged("health", view=""),)
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}


def test_the_hash_chain_can_be_computed_again_from_the_rows(
    ledger: SqliteLedger, path: Path
) -> None:
    for name in ("t1", "t2", "t3"):
        ledger.transact(account(), operation(name), answer(charged("debt", read=(3,))))
    with closing(sqlite3.connect(path)) as other:
        rows = other.execute(
            "SELECT sequence, operation, request, audience, at, charges, views_hash,"
            " previous, hash, views FROM memview_release ORDER BY sequence"
        ).fetchall()
        (head,) = other.execute("SELECT head FROM memview_account").fetchone()
    last = GENESIS
    for *fields, previous, own, views in rows:
        assert previous == last
        assert fields[-1] == text_hash(views)
        last = chain_hash(previous, *fields)
        assert own == last
    assert head == last
    assert len(rows) == 3


def test_no_file_of_the_ledger_holds_the_subject(
    used: SqliteLedger, path: Path
) -> None:
    files = list(path.parent.iterdir())
    assert path.with_name("ledger.sqlite-wal") in files
    for text in (SUBJECT, "Canary"):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            assert not [f for f in files if text.encode(encoding) in f.read_bytes()]
    assert "Canary" not in repr(used)


# -- a file that cannot be used ------------------------------------------------------


@pytest.mark.parametrize("name", ["", ":memory:", Path(":memory:")])
def test_a_ledger_that_would_end_with_the_process_is_refused(name: str | Path) -> None:
    with pytest.raises(WiringError, match=r"InMemoryLedger\(\) if losing"):
        SqliteLedger(name)


def test_a_ledger_of_a_newer_format_is_not_touched(
    used: SqliteLedger, path: Path
) -> None:
    used.close()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE memview_meta SET value = '2' WHERE name = 'format'")
    before = dump(path)
    for call in (
        used.setup,
        lambda: used.ledger(account()),
        lambda: used.transact(account(), operation("t2"), never),
    ):
        with pytest.raises(LedgerVersionError, match=r"format 2.*Upgrade"):
            call()
    assert dump(path) == before


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE memview_meta",
        "DROP TABLE memview_balance",
        "DROP TABLE memview_release",
        "UPDATE memview_meta SET value = 'x' WHERE name = 'format'",
        "DROP TRIGGER memview_key_stays; DELETE FROM memview_meta WHERE name = 'key'",
        "DROP TRIGGER memview_key_is_fixed; UPDATE memview_meta SET value = 'x'"
        " WHERE name = 'key'",
        "DROP TRIGGER memview_balance_stays; DELETE FROM memview_balance",
        "PRAGMA ignore_check_constraints = 1; DROP TRIGGER memview_cap_never_rises;"
        " UPDATE memview_balance SET cap = 'x'",
        "DROP TRIGGER memview_release_is_fixed; UPDATE memview_release"
        " SET charges = 'x'",
        "DROP TRIGGER memview_release_is_fixed; UPDATE memview_release"
        " SET charges = '[{}]'",
    ],
)
def test_a_damaged_ledger_releases_nothing(
    used: SqliteLedger, path: Path, sql: str
) -> None:
    used.close()
    with closing(sqlite3.connect(path)) as other:
        other.executescript(sql)
    with pytest.raises(LedgerUnavailableError) as caught:
        used.transact(account(SUBJECT), operation("t1"), never)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("what", ["directory", "text", "missing folder"])
def test_a_path_that_is_no_database_says_that_nothing_is_released(
    tmp_path: Path, what: str
) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "text").write_text("no database, but long enough to be read" * 40)
    (tmp_path / "missing folder").mkdir()
    (tmp_path / "missing folder").rmdir()
    name = "missing folder/ledger.sqlite" if what == "missing folder" else what
    ledger = SqliteLedger(tmp_path / name)
    with pytest.raises(LedgerUnavailableError, match="nothing is released"):
        ledger.transact(account(), operation("t1"), never)


def test_a_ledger_that_another_process_holds_is_waited_for_then_refused(
    used: SqliteLedger, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerUnavailableError):
            used.transact(account(SUBJECT), operation("t2"), never)
        assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}
        other.execute("ROLLBACK")
    _, after = used.transact(
        account(SUBJECT), operation("t2"), answer(charged("health"))
    )
    assert spent(after) == {"health": 2, "debt": 0}


def test_a_closed_ledger_opens_again(used: SqliteLedger) -> None:
    used.close()
    used.close()
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}


# -- processes -----------------------------------------------------------------------


def test_processes_that_start_on_a_fresh_file_at_once_get_one_key(
    tmp_path: Path,
) -> None:
    with worker() as one, worker() as two:
        for round_ in range(10):
            line = f"setup {tmp_path / f'{round_}.sqlite'}"
            keys = together(line, one, two)
            assert keys[0] == keys[1]
            assert len(keys[0]) == 64


def test_processes_and_threads_that_race_for_a_cap_of_three_get_three(
    ledger: SqliteLedger, path: Path
) -> None:
    with worker() as one, worker() as two:
        outcomes = " ".join(together(f"race {path}", one, two)).split()
    assert sorted(outcomes) == ["generic"] * 21 + ["selected"] * 3
    assert spent(ledger.ledger(account())) == {"health": 0, "debt": 3}


def test_a_process_killed_before_the_commit_has_charged_nothing(
    ledger: SqliteLedger, path: Path
) -> None:
    assert killed(f"die_before_commit {path}") == ""
    assert spent(ledger.ledger(account())) == {"health": 0, "debt": 0}
    record, after = ledger.transact(
        account(), operation("t1"), answer(charged("health"))
    )
    assert not record.replayed
    assert spent(after) == {"health": 1, "debt": 0}


def test_a_process_killed_after_the_commit_is_replayed_with_the_same_view(
    ledger: SqliteLedger, path: Path
) -> None:
    view = killed(f"die_after_commit {path}")
    record, after = ledger.transact(account(), operation("t1"), never)
    assert record.replayed
    assert [slot.view for slot in record.slots] == [view]
    assert spent(after) == {"health": 1, "debt": 0}


@pytest.mark.parametrize(
    ("command", "total"), [("fork", "3"), ("fork_in_transaction", "2")]
)
def test_a_forked_child_and_its_parent_share_the_ledger_and_no_connection(
    ledger: SqliteLedger, path: Path, command: str, total: str
) -> None:
    with worker() as process:
        assert together(f"{command} {path}", process) == [total]
    assert str(spent(ledger.ledger(account()))["debt"]) == total
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as other:
        return list(other.iterdump())


@contextmanager
def worker() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def together(line: str, *processes: subprocess.Popen[str]) -> list[str]:
    """Return what the processes answer to a line that all get before one answers."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{line}\n")
    for process in processes:
        assert process.stdin is not None
        process.stdin.flush()
    return [
        process.stdout.readline().strip() for process in processes if process.stdout
    ]


def killed(line: str) -> str:
    """Return the last words of a process that dies at its work."""
    with worker() as process:
        words, _ = process.communicate(f"{line}\n", timeout=30)
    assert process.returncode == -9
    return words.strip()
