"""A process of its own for `test_sqlite`: does to a ledger file what a line of input says."""

import os
import secrets
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable

from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    if_admitted,
    operation,
    spent,
)


def setup(path: str) -> str:
    """Return the key of the file, after using it as the first one or the second."""
    ledger = SqliteLedger(path)
    ledger.setup()
    ledger.close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT value FROM memview_meta WHERE name = 'key'")
        keys = [row[0] for row in rows]
    connection.close()
    return " ".join(keys)


def race(path: str) -> str:
    """Return how each of twelve charges in four threads came out."""
    ledger = SqliteLedger(path)
    outcomes: list[str] = []

    def work(thread: int) -> None:
        for turn in range(3):
            name = f"{os.getpid()}-{thread}-{turn}"
            record, _ = ledger.transact(account(), operation(name), if_admitted("debt"))
            outcomes.extend(slot.outcome for slot in record.slots)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()
    return " ".join(outcomes)


def die_before_commit(path: str) -> str:
    """Be killed when everything has been written and nothing committed."""
    ledger = SqliteLedger(path)
    ledger.setup()
    connection = ledger._connection._connection
    assert connection is not None
    connection.set_trace_callback(
        lambda sql: _kill() if sql.startswith("COMMIT") else None
    )
    ledger.transact(account(), operation("t1"), _drawn)
    return "not reached"


def die_after_commit(path: str) -> str:
    """Be killed after the commit, with the released view as the last words."""
    record, _ = SqliteLedger(path).transact(account(), operation("t1"), _drawn)
    _say(record.slots[0].view)
    _kill()
    return "not reached"


def fork(path: str) -> str:
    """Return what was spent after a parent and its child have both charged."""
    ledger = SqliteLedger(path)
    ledger.transact(account(), operation("parent"), answer(charged("debt")))
    _in_child(
        lambda: ledger.transact(account(), operation("child"), answer(charged("debt")))
    )
    ledger.transact(account(), operation("after"), answer(charged("debt")))
    return str(spent(ledger.ledger(account()))["debt"])


def fork_in_transaction(path: str) -> str:
    """Return what was spent when the fork falls into another thread's transaction."""
    ledger = SqliteLedger(path)
    inside = threading.Event()

    def slow(_: Ledger) -> list[SlotRelease]:
        inside.set()
        threading.Event().wait(0.2)
        return [charged("debt")]

    thread = threading.Thread(
        target=ledger.transact, args=(account(), operation("thread"), slow)
    )
    thread.start()
    inside.wait(10)
    _in_child(
        lambda: ledger.transact(account(), operation("child"), answer(charged("debt")))
    )
    thread.join()
    return str(spent(ledger.ledger(account()))["debt"])


def _in_child(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the child failed")


def _drawn(_: Ledger) -> list[SlotRelease]:
    return [charged("health", view=secrets.token_hex(8))]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _say("ready")
    for line in sys.stdin:
        name, where = line.split(maxsplit=1)
        _say(globals()[name](where.strip()))
