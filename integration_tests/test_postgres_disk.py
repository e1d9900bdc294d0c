"""A full disk under PostgreSQL: nothing is lost, released or charged.

A limit on the size of files stands for the full disk, as in `test_disk.py`; it is set on
the one server process that works for the ledger. Without room for a table's next page
the server refuses a statement; without room for its write-ahead log it panics, ends all
connections and recovers.
"""

import sys
import time
from collections.abc import Callable

import psycopg
import pytest
from fault_kit import CHARGE, World, opened, world_on

from langchain_memview.core.release import Release
from langchain_memview.errors import LedgerUnavailableError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits a process that runs"
)

LONG = "t2" + "." * 100
Limit = Callable[[World, str], None]


@pytest.fixture
def limit(cluster) -> Limit:  # type: ignore[no-untyped-def]
    """Return a function that limits the size of files for a world's server process."""

    def to(world: World, size: str) -> None:
        process = world.saver.conn.info.backend_pid
        cluster.run("/usr/bin/prlimit", f"--pid={process}", f"--fsize={size}:")

    return to


def turn(world: World, operation: str, subject: str = "ana") -> Release:
    return world.memview.turn(
        "dinner", subject=subject, audience="app", operation=operation
    )


def test_where_a_table_cannot_grow_nothing_is_charged_and_the_operation_can_be_repeated(
    address: str, limit: Limit
) -> None:
    with opened(address) as saver, psycopg.connect(address, autocommit=True) as other:
        world, others = world_on(address, saver), world_on(address, saver)
        first = turn(world, "t1").views
        for number in range(100):
            turn(others, "t", f"u{number}")
        # At the start of a new log file, the tables are what meets the limit first.
        other.execute("SELECT pg_switch_wal()")
        turn(others, "t", "u100")
        row = other.execute("SELECT pg_relation_size('memview_release')").fetchone()
        assert row is not None
        limit(world, str(row[0]))
        fill(others)
        for _ in range(2):
            with pytest.raises(LedgerUnavailableError):
                turn(world, LONG)
        assert turn(world, "t1").views == first
        world.check("disk full, table", 1, 1, CHARGE)
        limit(world, "unlimited")
        assert turn(world, LONG).outcomes == {"food": "selected"}
        world.check("disk with room again, operation repeated", 2, 1, 2 * CHARGE)


def fill(others: World) -> None:
    """Charge others until there is no room, as there is none then for a longer row."""
    for number in range(101, 200):
        try:
            turn(others, "t", f"u{number}")
        except LedgerUnavailableError:
            return
    raise AssertionError("the disk never filled")


def test_where_the_log_cannot_grow_nothing_is_charged_and_the_server_recovers(
    address: str, limit: Limit
) -> None:
    with opened(address) as saver:
        world = world_on(address, saver)
        first = turn(world, "t1").views
        limit(world, "512")
        with pytest.raises(LedgerUnavailableError):
            turn(world, "t2")
    recovered(address)
    with opened(address) as saver:
        again = world_on(address, saver, world.said)
        again.check("disk full, write-ahead log", 1, 0, CHARGE)
        assert turn(again, "t1").views == first
        assert turn(again, "t2").outcomes == {"food": "selected"}
        again.check("server recovered, both operations repeated", 2, 1, 2 * CHARGE)


def recovered(address: str) -> None:
    """Wait until the server answers again."""
    for _ in range(300):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server did not recover")
