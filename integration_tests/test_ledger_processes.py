"""Caps and records under processes that race, die and start together, on both engines."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from fault_counting import note

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    never,
    operation,
    spent,
)

WORKER = Path(__file__).with_name("ledger_worker.py")
Worker = subprocess.Popen[str]


def test_eight_processes_with_two_attempts_each_release_exactly_what_the_cap_allows(
    place: str,
) -> None:
    counts: Counter[str] = Counter()
    with workers(8) as started:
        for said in together(f"race {place}", started):
            for part in said.split():
                name, count = part.split("=")
                counts[name] += int(count)
    assert counts == {"fresh": 14, "replayed": 14, "blocked": 100}
    with opened(place) as ledger:
        terms = account(caps={"health": 2, "debt": 14})
        assert spent(ledger.ledger(terms)) == {"health": 0, "debt": 14}
        assert len(ledger.history(terms)) == 64
    case = "8 processes x 8 operations x 2 attempts, cap 14"
    note(case, place, counts["fresh"], counts["replayed"], 14)


def test_a_process_killed_before_its_commit_has_charged_nothing(place: str) -> None:
    assert killed(f"die_in_decision {place}") == ""
    with opened(place) as ledger:
        assert spent(ledger.ledger(account())) == {"health": 0, "debt": 0}
        decide = answer(charged("health"))
        record, after = ledger.transact(account(), operation("t1"), decide)
        assert not record.replayed
        assert spent(after) == {"health": 1, "debt": 0}


def test_a_process_killed_after_its_commit_is_replayed_with_the_same_view(
    place: str,
) -> None:
    view = killed(f"die_after_commit {place}")
    with opened(place) as ledger:
        record, after = ledger.transact(account(), operation("t1"), never)
        assert record.replayed
        assert [slot.view for slot in record.slots] == [view]
        assert spent(after) == {"health": 1, "debt": 0}


def test_a_process_killed_inside_its_commit_is_charged_once_and_can_be_replayed(
    address: str,
) -> None:
    with opened(address) as ledger:
        ledger.transact(account("other"), operation("t0"), answer(charged("debt")))
    slow_commit = """
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON memview_release
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()
    """
    # The constraint is deferred, so it sleeps when all rows have been written.
    committing = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    with psycopg.connect(address, autocommit=True) as watch, workers(1) as [worker]:
        watch.execute(slow_commit)
        tell(worker, f"charge {address}")
        while watch.execute(committing).fetchone() == (0,):
            time.sleep(0.01)
        worker.kill()
        # The client is gone and never saw its view; the server finishes its commit.
        while watch.execute(committing).fetchone() == (1,):
            time.sleep(0.01)
        watch.execute("DROP TRIGGER slow ON memview_release")
        assert heard(worker) == ""
    with opened(address) as ledger:
        record, after = ledger.transact(account(), operation("t1"), never)
        assert record.replayed
        assert spent(after) == {"health": 1, "debt": 0}


def test_processes_that_set_up_at_once_make_one_ledger_with_one_key(cluster) -> None:
    with workers(2) as started:
        for _ in range(10):
            one, two = together(f"setup {cluster.database()}", started)
            assert one == two
            assert len(one.split()[1]) == 64


def test_a_forked_child_is_refused_its_parent_s_connection(address: str) -> None:
    with workers(1) as [worker]:
        tell(worker, f"fork {address}")
        assert heard(worker).startswith("refused: a PostgreSQL connection cannot cross")
        assert heard(worker) == "parent goes on"


@contextmanager
def opened(place: str) -> Iterator[LedgerStore]:
    if place.startswith("postgresql:"):
        with psycopg.connect(place) as connection:
            yield PostgresLedger(connection)
    else:
        ledger = SqliteLedger(place)
        yield ledger
        ledger.close()


@contextmanager
def workers(count: int) -> Iterator[list[Worker]]:
    """Give processes that are ready and wait for a line."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(WORKER)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(count)
        ]
        for worker in started:
            assert heard(worker) == "ready"
        yield started


def tell(worker: Worker, line: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(f"{line}\n")
    worker.stdin.flush()


def heard(worker: Worker) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def together(line: str, started: list[Worker]) -> list[str]:
    """Return what the processes answer to a line that all get before one answers."""
    for worker in started:
        tell(worker, line)
    return [heard(worker) for worker in started]


def killed(line: str) -> str:
    """Return the last words of a process that dies at its work."""
    with workers(1) as [worker]:
        words, _ = worker.communicate(f"{line}\n", timeout=30)
    assert worker.returncode == -9
    return words.strip()
