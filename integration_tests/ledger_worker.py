"""A process of its own: does to the ledger at an address what a line of input says."""

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import WiringError
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.ledgers.sqlite import SqliteLedger
from langchain_memview.testing.ledgers import (
    account,
    charged,
    if_admitted,
    never,
    operation,
)


@contextmanager
def opened(address: str) -> Iterator[LedgerStore]:
    if address.startswith("postgresql:"):
        with psycopg.connect(address) as connection:
            yield PostgresLedger(connection)
    else:
        ledger = SqliteLedger(address)
        yield ledger
        ledger.close()


def setup(address: str) -> str:
    with psycopg.connect(address) as connection:
        PostgresLedger(connection).setup()
        rows = connection.execute("SELECT value FROM memview_meta ORDER BY name")
        return " ".join(row[0] for row in rows)


def race(address: str) -> str:
    """Return how often each outcome came, of eight operations tried twice."""
    account_of_14 = account(caps={"health": 2, "debt": 14})
    counts = {"fresh": 0, "replayed": 0, "blocked": 0}
    with opened(address) as ledger:
        for number in range(8):
            for _ in range(2):
                record, _ledger = ledger.transact(
                    account_of_14,
                    operation(f"{os.getpid()}-{number}"),
                    if_admitted("debt"),
                )
                if record.slots[0].outcome == "generic":
                    counts["blocked"] += 1
                else:
                    counts["replayed" if record.replayed else "fresh"] += 1
    return " ".join(f"{name}={count}" for name, count in counts.items())


def die_in_decision(address: str) -> str:
    """Be killed after the draw."""

    def decide(_: Ledger) -> list[SlotRelease]:
        _drawn(_)
        _kill()
        return []

    with opened(address) as ledger:
        ledger.transact(account(), operation("t1"), decide)
    return "not reached"


def die_after_commit(address: str) -> str:
    """Be killed after the commit, with the released view as the last words."""
    with opened(address) as ledger:
        record, _ = ledger.transact(account(), operation("t1"), _drawn)
        say(record.slots[0].view)
        _kill()
    return "not reached"


def charge(address: str) -> str:
    """Charge once; the database may make this process wait in its commit."""
    with opened(address) as ledger:
        record, _ = ledger.transact(account(), operation("t1"), _drawn)
        return record.slots[0].view


def fork(address: str) -> str:
    """Return what a forked child is told that uses its parent's connection."""
    with opened(address) as ledger:
        ledger.transact(account(), operation("parent"), _drawn)
        child = os.fork()
        if child == 0:
            try:
                ledger.transact(account(), operation("child"), never)
            except WiringError as error:
                say(f"refused: {error}")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        ledger.transact(account(), operation("after"), _drawn)
    return "parent goes on"


def _drawn(_: Ledger) -> list[SlotRelease]:
    return [charged("health", view=secrets.token_hex(8))]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    say("ready")
    for line in sys.stdin:
        name, where = line.split(maxsplit=1)
        say(globals()[name](where.strip()))
