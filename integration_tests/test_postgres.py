"""What a ledger in PostgreSQL promises beyond every other, and how it treats its guests.

The connection is usually a checkpointer's, so that has to work on as if nobody else
used it, whatever happens to the ledger.
"""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import (
    LedgerUnavailableError,
    LedgerVersionError,
    WiringError,
)
from langchain_memview.ledgers.postgres import PostgresLedger
from langchain_memview.ledgers.rows import GENESIS, chain_hash, text_hash
from langchain_memview.testing.ledgers import (
    account,
    answer,
    charged,
    never,
    operation,
    spent,
)

SUBJECT = "Zoë Canary"


@pytest.fixture
def connection(address: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address, autocommit=True) as opened:
        yield opened


@pytest.fixture
def other(address: str) -> Iterator[psycopg.Connection]:
    """A connection of somebody with SQL access."""
    with psycopg.connect(address, autocommit=True) as opened:
        yield opened


@pytest.fixture
def ledger(connection: psycopg.Connection) -> PostgresLedger:
    return PostgresLedger(connection)


@pytest.fixture
def used(ledger: PostgresLedger) -> PostgresLedger:
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
        "UPDATE memview_balance SET cap = cap + 1",
        "UPDATE memview_balance SET cap = spent - 1 WHERE attribute = 'health'",
        "UPDATE memview_balance SET account = 'somebody'",
        "UPDATE memview_balance SET attribute = attribute || '2'",
        "DELETE FROM memview_balance",
        "TRUNCATE memview_balance",
        "INSERT INTO memview_balance SELECT account, attribute, 0, cap"
        " FROM memview_balance ON CONFLICT (account, attribute)"
        " DO UPDATE SET spent = excluded.spent",
        "DELETE FROM memview_release",
        "TRUNCATE memview_release",
        "UPDATE memview_release SET charges = '[]'",
        "UPDATE memview_release SET views = '{}'",
        "UPDATE memview_release SET operation = 't2'",
        "UPDATE memview_release SET account = 'somebody'",
        "UPDATE memview_release SET hash = previous",
        "INSERT INTO memview_release SELECT account, sequence + 1, operation, request,"
        " audience, at, charges, views, views_hash, hash, 'x' FROM memview_release",
        "INSERT INTO memview_release SELECT account, sequence + 1, 't2', request,"
        " audience, at, charges, views, views_hash, previous, 'x' FROM memview_release",
        "INSERT INTO memview_release SELECT account, sequence + 2, 't2', request,"
        " audience, at, charges, views, views_hash, hash, 'x' FROM memview_release",
        "DELETE FROM memview_account",
        "UPDATE memview_account SET sequence = 0",
        "UPDATE memview_account SET subject = 'somebody'",
        "TRUNCATE memview_account CASCADE",
        "DELETE FROM memview_meta",
        "TRUNCATE memview_meta",
        "UPDATE memview_meta SET value = '00' WHERE name = 'key'",
        "INSERT INTO memview_meta VALUES ('key', '00')",
    ],
)
def test_the_database_refuses_what_would_lift_a_cap_or_lose_a_charge(
    used: PostgresLedger, other: psycopg.Connection, sql: str
) -> None:
    before = dump(other)
    with pytest.raises(psycopg.IntegrityError):
        other.execute(sql)
    assert dump(other) == before
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}


def test_the_views_of_a_release_can_be_erased_and_its_charges_stay(
    used: PostgresLedger, other: psycopg.Connection
) -> None:
    other.execute("UPDATE memview_release SET views = NULL")
    record, _ = used.transact(account(SUBJECT), operation("t1"), never)
    assert record.slots == (charged("health", view=""),)
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}


def test_the_hash_chain_can_be_computed_again_from_the_rows(
    ledger: PostgresLedger, other: psycopg.Connection
) -> None:
    for name in ("t1", "t2", "t3"):
        ledger.transact(account(), operation(name), answer(charged("debt", read=(3,))))
    rows = other.execute(
        "SELECT sequence, operation, request, audience, at, charges, views_hash,"
        " previous, hash, views FROM memview_release ORDER BY sequence"
    ).fetchall()
    last = GENESIS
    for *fields, previous, own, views in rows:
        assert previous == last
        assert fields[-1] == text_hash(views)
        last = chain_hash(previous, *fields)
        assert own == last
    heads = other.execute("SELECT sequence, head FROM memview_account").fetchall()
    assert heads == [(3, last)]


def test_the_database_does_not_hold_the_subject(
    used: PostgresLedger, other: psycopg.Connection
) -> None:
    assert "Canary" not in str(dump(other))
    assert "Canary" not in repr(used)


@pytest.mark.parametrize("name", ["a\x00b", "back\\slash", "\\0", "é😀", " "])
def test_an_operation_id_of_any_characters_is_recorded_as_it_is(
    ledger: PostgresLedger, name: str
) -> None:
    ledger.transact(account(), operation(name), answer(charged("health")))
    assert ledger.transact(account(), operation(name), never)[0].replayed
    assert [r.operation.id for r in ledger.history(account())] == [name]


def test_the_commit_is_on_disk_although_the_session_says_that_it_need_not_be(
    address: str, other: psycopg.Connection
) -> None:
    with psycopg.connect(address, autocommit=True) as lazy:
        lazy.execute("SET synchronous_commit = off")
        ledger = PostgresLedger(lazy)
        ledger.setup()
        other.execute("""
            CREATE FUNCTION durable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                ASSERT current_setting('synchronous_commit') = 'on'; RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER durable AFTER INSERT ON memview_release
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION durable()
        """)
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        assert lazy.execute("SHOW synchronous_commit").fetchone() == ("off",)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_a_session_that_would_read_an_old_snapshot_reads_the_current_balances(
    address: str, other: psycopg.Connection, level: str
) -> None:
    with psycopg.connect(address, autocommit=True) as strict:
        strict.execute(f"SET default_transaction_isolation = '{level}'")
        strict.execute("SET default_transaction_read_only = on")
        one, two = PostgresLedger(strict), PostgresLedger(other)
        two.transact(account(), operation("t1"), answer(charged("health")))
        _, after = one.transact(account(), operation("t2"), answer(charged("health")))
        assert spent(after) == {"health": 2, "debt": 0}


def test_a_draw_that_somebody_forestalled_is_discarded_and_drawn_again(
    used: PostgresLedger, other: psycopg.Connection
) -> None:
    faster = PostgresLedger(other)
    seen: list[dict[str, int]] = []

    def decide(ledger: Ledger) -> list[SlotRelease]:
        if not seen:
            # No lock is held yet, so nobody waits for whoever decides.
            faster.transact(account(SUBJECT), operation("t2"), answer(charged("debt")))
        seen.append(spent(ledger))
        return [charged("health", view=f"drawn-{len(seen)}")]

    record, after = used.transact(account(SUBJECT), operation("t3"), decide)
    assert seen == [{"health": 1, "debt": 0}, {"health": 1, "debt": 1}]
    assert [slot.view for slot in record.slots] == ["drawn-2"]
    assert spent(after) == {"health": 2, "debt": 1}
    history = used.history(account(SUBJECT))
    assert [r.operation.id for r in history] == ["t1", "t2", "t3"]
    assert "drawn-1" not in str(history)


def test_an_operation_that_somebody_did_meanwhile_is_replayed(
    used: PostgresLedger, other: psycopg.Connection
) -> None:
    same = operation("t2")
    theirs = answer(charged("debt", view="theirs"))

    def decide(_: Ledger) -> list[SlotRelease]:
        PostgresLedger(other).transact(account(SUBJECT), same, theirs)
        return [charged("debt", view="ours")]

    record, after = used.transact(account(SUBJECT), same, decide)
    assert record.replayed
    assert [slot.view for slot in record.slots] == ["theirs"]
    assert spent(after) == {"health": 1, "debt": 1}


def test_a_commit_that_fails_at_its_very_end_releases_nothing(
    used: PostgresLedger, other: psycopg.Connection
) -> None:
    other.execute("""
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'too late'; END $$;
        CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON memview_release
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()
    """)
    with pytest.raises(LedgerUnavailableError):
        used.transact(account(SUBJECT), operation("t2"), answer(charged("debt")))
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}
    assert len(used.history(account(SUBJECT))) == 1


# -- a database that cannot be used ----------------------------------------------------


def test_a_ledger_of_a_newer_format_is_not_touched(
    used: PostgresLedger, connection: psycopg.Connection, other: psycopg.Connection
) -> None:
    other.execute("UPDATE memview_meta SET value = '2' WHERE name = 'format'")
    before = dump(other)
    # Also by a ledger that was prepared before somebody upgraded.
    for one in (used, PostgresLedger(connection)):
        for call in (
            lambda one=one: one.ledger(account()),
            lambda one=one: one.transact(account(), operation("t2"), never),
        ):
            with pytest.raises(LedgerVersionError, match=r"format 2.*Upgrade"):
                call()
    assert dump(other) == before


DAMAGE = [
    "DROP TABLE memview_balance",
    "DROP TABLE memview_release",
    "DROP TABLE memview_meta",
    "DROP FUNCTION memview_seen",
    "UPDATE memview_meta SET value = 'x' WHERE name = 'format'",
    "DELETE FROM memview_meta WHERE name = 'format'",
    "ALTER TABLE memview_meta DISABLE TRIGGER USER;"
    " DELETE FROM memview_meta WHERE name = 'key'",
    "ALTER TABLE memview_meta DISABLE TRIGGER USER;"
    " UPDATE memview_meta SET value = 'x' WHERE name = 'key'",
    "ALTER TABLE memview_meta DISABLE TRIGGER USER;"
    " UPDATE memview_meta SET value = '00' WHERE name = 'key'",
    "ALTER TABLE memview_balance DISABLE TRIGGER USER; DELETE FROM memview_balance",
    "ALTER TABLE memview_release DISABLE TRIGGER USER;"
    " UPDATE memview_release SET charges = 'x'",
    "ALTER TABLE memview_release DISABLE TRIGGER USER;"
    " UPDATE memview_release SET charges = '[{}]'",
]


@pytest.mark.parametrize("sql", DAMAGE)
def test_a_damaged_ledger_releases_nothing(
    used: PostgresLedger,
    connection: psycopg.Connection,
    other: psycopg.Connection,
    sql: str,
) -> None:
    other.execute(sql)
    with pytest.raises(LedgerUnavailableError) as caught:
        used.transact(account(SUBJECT), operation("t1"), never)
    assert caught.value.__context__ is None
    assert_as_found(connection)


@pytest.mark.parametrize("sql", ["DROP TABLE memview_meta", DAMAGE[6]])
def test_a_lost_key_is_not_replaced_by_one_under_which_nothing_was_spent(
    used: PostgresLedger, connection: psycopg.Connection, sql: str
) -> None:
    connection.execute(sql)
    with pytest.raises(LedgerUnavailableError):
        PostgresLedger(connection).setup()


def test_a_database_that_cannot_be_reached_says_that_nothing_is_released(
    tmp_path: Path,
) -> None:
    address = f"postgresql://me:secret-word@/postgres?host={tmp_path}"
    with ConnectionPool(address, min_size=1, timeout=0.3, open=True) as pool:
        ledger = PostgresLedger(pool)
        with pytest.raises(LedgerUnavailableError, match="nothing is released") as e:
            ledger.transact(account(), operation("t1"), never)
        assert "secret-word" not in f"{e.value!r}{ledger!r}{vars(e.value)}"
        assert e.value.__context__ is None


def test_a_restart_of_the_server_costs_one_error_and_the_operation_can_be_repeated(
    cluster, address: str
) -> None:
    with ConnectionPool(address, min_size=3, max_size=3, open=True) as pool:
        pool.wait()
        ledger = PostgresLedger(pool)
        ledger.transact(account(), operation("t1"), answer(charged("health")))

        def restarted(_: Ledger) -> list[SlotRelease]:
            cluster.stop()
            cluster.start()
            return [charged("health")]

        with pytest.raises(LedgerUnavailableError):
            ledger.transact(account(), operation("t2"), restarted)
        record, after = ledger.transact(
            account(), operation("t2"), answer(charged("health"))
        )
        assert not record.replayed
        assert spent(after) == {"health": 2, "debt": 0}
        for number in range(3):
            assert ledger.transact(account(), operation("t2"), never)[0].replayed, (
                number
            )


def test_an_account_that_another_process_holds_is_waited_for_then_refused(
    used: PostgresLedger, connection: psycopg.Connection, other: psycopg.Connection
) -> None:
    key = other.execute("SELECT account FROM memview_account").fetchone()[0]
    number = int.from_bytes(bytes.fromhex(key)[:8], signed=True)
    other.execute("SELECT pg_advisory_lock(%s)", (number,))
    connection.execute("SET statement_timeout = '200ms'")
    with pytest.raises(LedgerUnavailableError):
        used.transact(account(SUBJECT), operation("t2"), answer(charged("health")))
    assert_as_found(connection)
    assert spent(used.ledger(account(SUBJECT))) == {"health": 1, "debt": 0}
    # Another account is not held up.
    used.transact(account("ben"), operation("t2"), answer(charged("health")))
    other.execute("SELECT pg_advisory_unlock(%s)", (number,))
    used.transact(account(SUBJECT), operation("t2"), answer(charged("health")))


def test_a_draw_that_could_not_be_recorded_does_not_stand_in_the_server_s_log(
    used: PostgresLedger, other: psycopg.Connection, cluster
) -> None:
    other.execute("DROP TABLE memview_balance")
    other.execute(
        "CREATE TABLE memview_balance (account text, attribute text, spent bigint,"
        " cap bigint, PRIMARY KEY (account, attribute), CHECK (spent > cap))"
    )
    with pytest.raises(LedgerUnavailableError):
        used.transact(
            account("ben"), operation("t9"), answer(charged(view="drawn-in-vain"))
        )
    assert 'violates check constraint "memview_balance_check"' in cluster.log
    assert "SELECT memview_append(" in cluster.log
    assert "drawn-in-vain" not in cluster.log


# -- the connection belongs to somebody else -------------------------------------------


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_is_left_as_it_was_found_after_success_and_error(
    address: str, *, autocommit: bool
) -> None:
    with psycopg.connect(address, autocommit=autocommit) as connection:
        ledger = PostgresLedger(connection)
        ledger.transact(account(), operation("t1"), answer(charged("health")))
        assert_as_found(connection, autocommit=autocommit)
        ledger.ledger(account())
        ledger.history(account())
        ledger.find(account(), operation("t1"))
        ledger.transact(account(), operation("t1"), never)
        assert_as_found(connection, autocommit=autocommit)

        def broken(_: Ledger) -> list[SlotRelease]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ledger.transact(account(), operation("t2"), broken)
        assert_as_found(connection, autocommit=autocommit)


def test_a_connection_inside_somebody_s_transaction_is_refused(address: str) -> None:
    with psycopg.connect(address) as connection:
        ledger = PostgresLedger(connection)
        ledger.setup()
        connection.execute("SELECT 1")
        with pytest.raises(WiringError, match=r"transaction of somebody else.*C5"):
            ledger.transact(account(), operation("t1"), never)
        connection.rollback()
        with connection.transaction(), pytest.raises(WiringError):
            ledger.ledger(account())


def test_a_connection_in_pipeline_mode_is_refused(
    ledger: PostgresLedger, connection: psycopg.Connection
) -> None:
    with connection.pipeline(), pytest.raises(WiringError, match="inside a pipeline"):
        ledger.transact(account(), operation("t1"), never)


def test_a_closed_connection_releases_nothing(
    used: PostgresLedger, connection: psycopg.Connection
) -> None:
    connection.close()
    with pytest.raises(LedgerUnavailableError):
        used.transact(account(SUBJECT), operation("t1"), never)


@pytest.mark.parametrize("source", ["postgresql:///ledger", None, object()])
def test_what_is_no_connection_is_refused_with_what_to_write(source: object) -> None:
    with pytest.raises(WiringError, match=r"PostgresLedger\(ConnectionPool\(url\)\)"):
        PostgresLedger(source)  # type: ignore[arg-type]


def assert_as_found(connection: psycopg.Connection, *, autocommit: bool = True) -> None:
    assert connection.autocommit == autocommit
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.rollback()


def dump(connection: psycopg.Connection) -> list[object]:
    names = ("meta", "account", "balance", "release")
    return [
        connection.execute(
            f"SELECT * FROM memview_{name} ORDER BY 1, 2"  # noqa: S608 - constants
        ).fetchall()
        for name in names
    ]
