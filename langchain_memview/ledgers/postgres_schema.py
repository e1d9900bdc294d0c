"""Tables of the PostgreSQL ledger, and the triggers with which the database guards them.

They are those of `ledgers.sqlite_schema`, with two guards more: a release must follow
the one before it, and an account's count of releases never falls. A release does not
reference its account, because the check would lock the row that has just been written,
which takes longer than the rest; accounts cannot be removed anyway.

`memview_seen` reads in one round trip what an operation needs, and `memview_append`
writes it in another, if the account is still as it was read. They belong to the stored
format: other functions get other names.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from langchain_memview.errors import LedgerVersionError
from langchain_memview.ledgers.postgres_connection import Session
from langchain_memview.ledgers.postgres_driver import psycopg
from langchain_memview.ledgers.rows import FORMAT, GENESIS

# Each statement sees what was committed before it: a read after a lock is current.
BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = 30000;"
)
# An arbitrary number, the same in every process that makes the tables.
_SETUP: Final = (
    f"{BEGIN}SELECT pg_advisory_xact_lock(8317700158464911977);"
    "SELECT to_regclass('memview_meta') IS NOT NULL"
)
META: Final = "SELECT name, value FROM memview_meta"

_SCHEMA = f"""
CREATE TABLE memview_meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE memview_account (
    account text COLLATE "C" PRIMARY KEY, subject text COLLATE "C" NOT NULL,
    lineage text NOT NULL, audience text, fingerprint text NOT NULL,
    sequence bigint NOT NULL, head text NOT NULL
);
CREATE INDEX memview_account_subject ON memview_account (subject);
CREATE TABLE memview_balance (
    account text COLLATE "C" NOT NULL REFERENCES memview_account,
    attribute text COLLATE "C" NOT NULL, spent bigint NOT NULL, cap bigint NOT NULL,
    PRIMARY KEY (account, attribute), CHECK (0 <= spent AND spent <= cap)
);
CREATE TABLE memview_release (
    account text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL, operation text COLLATE "C" NOT NULL,
    request text NOT NULL, audience text NOT NULL, at text NOT NULL,
    charges text NOT NULL, views text, views_hash text NOT NULL,
    previous text NOT NULL, hash text NOT NULL,
    PRIMARY KEY (account, sequence), UNIQUE (account, operation)
);
CREATE FUNCTION memview_seen(
    key text, name text, OUT meta text[], OUT terms text[],
    OUT attributes text[], OUT spent bigint[], OUT caps bigint[], OUT release text[]
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Stable: all of it is of one moment.
    meta := ARRAY(SELECT m.name || ' ' || m.value FROM memview_meta AS m);
    SELECT ARRAY[a.fingerprint, a.sequence::text, a.head] INTO terms
    FROM memview_account AS a WHERE a.account = key;
    SELECT array_agg(b.attribute), array_agg(b.spent), array_agg(b.cap)
    INTO attributes, spent, caps FROM memview_balance AS b WHERE b.account = key;
    SELECT ARRAY[r.sequence::text, r.operation, r.request, r.audience, r.at, r.charges,
        r.views] INTO release
    FROM memview_release AS r WHERE r.account = key AND r.operation = name;
END $$;
CREATE FUNCTION memview_append(
    lock_number bigint, key text, whose text, line text, seer text, terms text,
    balances jsonb, number bigint, name text, asked text, viewer text, moment text,
    costs text, shown text, shown_hash text, last_hash text, own_hash text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM set_config('lock_timeout', '30000', true);
    PERFORM pg_advisory_xact_lock(lock_number);
    INSERT INTO memview_account AS a
    VALUES (key, whose, line, seer, terms, number, own_hash)
    ON CONFLICT (account) DO UPDATE SET fingerprint = excluded.fingerprint,
        sequence = excluded.sequence, head = excluded.head
    WHERE (a.sequence, a.head) = (number - 1, last_hash);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO memview_balance
    SELECT key, b.value->>0, (b.value->>1)::bigint, (b.value->>2)::bigint
    FROM jsonb_array_elements(balances) AS b
    ON CONFLICT (account, attribute)
    DO UPDATE SET spent = excluded.spent, cap = excluded.cap;
    INSERT INTO memview_release VALUES (key, number, name, asked, viewer, moment, costs,
        shown, shown_hash, last_hash, own_hash);
    RETURN true;
END $$;
CREATE FUNCTION memview_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'memview: %', TG_ARGV[0] USING ERRCODE = '23000';
END $$;
CREATE FUNCTION memview_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last_sequence bigint; last_hash text;
BEGIN
    -- Asked this way, it is a step from the end of the index whatever the planner knows.
    SELECT r.sequence, r.hash INTO last_sequence, last_hash FROM memview_release AS r
    WHERE r.account = NEW.account ORDER BY r.sequence DESC LIMIT 1;
    IF (NEW.sequence, NEW.previous) IS DISTINCT FROM
        (COALESCE(last_sequence, 0) + 1, COALESCE(last_hash, '{GENESIS}'))
    THEN
        RAISE EXCEPTION 'memview: a release follows the one before it'
            USING ERRCODE = '23000';
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION memview_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever remembers what it has read of the account reads it again.
    UPDATE memview_account SET fingerprint = fingerprint || '-'
    WHERE account = NEW.account;
    RETURN NULL;
END $$;
CREATE TRIGGER memview_release_is_erased
AFTER UPDATE ON memview_release FOR EACH ROW
WHEN (OLD.views IS NOT NULL AND NEW.views IS NULL) EXECUTE FUNCTION memview_erased();
CREATE TRIGGER memview_spent_never_decreases
BEFORE UPDATE ON memview_balance FOR EACH ROW WHEN (NEW.spent < OLD.spent
  OR NEW.account <> OLD.account OR NEW.attribute <> OLD.attribute)
EXECUTE FUNCTION memview_refuse('spent never decreases');
CREATE TRIGGER memview_cap_never_rises
BEFORE UPDATE ON memview_balance FOR EACH ROW
WHEN (NEW.cap > OLD.cap AND NEW.cap > NEW.spent)
EXECUTE FUNCTION memview_refuse('a cap never rises');
CREATE TRIGGER memview_balance_stays
BEFORE DELETE ON memview_balance FOR EACH ROW
EXECUTE FUNCTION memview_refuse('balances are kept');
CREATE TRIGGER memview_balances_stay
BEFORE TRUNCATE ON memview_balance FOR EACH STATEMENT
EXECUTE FUNCTION memview_refuse('balances are kept');
CREATE TRIGGER memview_release_follows
BEFORE INSERT ON memview_release FOR EACH ROW EXECUTE FUNCTION memview_follow();
CREATE TRIGGER memview_release_is_fixed
BEFORE UPDATE ON memview_release FOR EACH ROW WHEN (NEW.views IS NOT NULL
  OR NEW.account <> OLD.account OR NEW.sequence <> OLD.sequence
  OR NEW.operation <> OLD.operation OR NEW.request <> OLD.request
  OR NEW.audience <> OLD.audience OR NEW.at <> OLD.at OR NEW.charges <> OLD.charges
  OR NEW.views_hash <> OLD.views_hash OR NEW.previous <> OLD.previous
  OR NEW.hash <> OLD.hash)
EXECUTE FUNCTION memview_refuse('releases are append-only');
CREATE TRIGGER memview_release_stays
BEFORE DELETE ON memview_release FOR EACH ROW
EXECUTE FUNCTION memview_refuse('releases are kept');
CREATE TRIGGER memview_releases_stay
BEFORE TRUNCATE ON memview_release FOR EACH STATEMENT
EXECUTE FUNCTION memview_refuse('releases are kept');
CREATE TRIGGER memview_account_goes_on
BEFORE UPDATE ON memview_account FOR EACH ROW WHEN (NEW.sequence < OLD.sequence
  OR NEW.account <> OLD.account OR NEW.subject <> OLD.subject)
EXECUTE FUNCTION memview_refuse('accounts are kept');
CREATE TRIGGER memview_account_stays
BEFORE DELETE ON memview_account FOR EACH ROW
EXECUTE FUNCTION memview_refuse('accounts are kept');
CREATE TRIGGER memview_key_is_fixed
BEFORE UPDATE OR DELETE ON memview_meta FOR EACH ROW WHEN (OLD.name = 'key')
EXECUTE FUNCTION memview_refuse('the key is kept');
CREATE TRIGGER memview_meta_stays
BEFORE TRUNCATE ON memview_meta FOR EACH STATEMENT
EXECUTE FUNCTION memview_refuse('the key is kept');
"""  # noqa: S608 - constants


@contextmanager
def undamaged() -> Iterator[None]:
    """Return a block in which what unreadable rows raise is an error of the database."""
    try:
        yield
    except (ValueError, TypeError, LookupError):
        raise psycopg.DatabaseError from None


def prepared(session: Session) -> bytes:
    """Return the key of this database, after making the tables that are missing.

    Raises:
        LedgerVersionError: A newer version of the package wrote the ledger.
        psycopg.Error: The database cannot be read or written, or is damaged.
    """
    # Processes that start together do this one after another: one makes the tables.
    *_, [(exists,)] = session.batch(_SETUP)
    if not exists:
        session.batch(_SCHEMA)
        session.run(
            "INSERT INTO memview_meta VALUES ('format', %s), ('key', %s) RETURNING name",
            str(FORMAT),
            secrets.token_hex(32),
        )
        session.commit()
    return key_in(session.run(META))


def key_in(rows: Iterable[Sequence[str]]) -> bytes:
    """Return the key that stands in the rows of `META`.

    Raises:
        LedgerVersionError: A newer version of the package wrote the ledger.
        psycopg.Error: They are damaged.
    """
    with undamaged():
        meta = {str(name): str(value) for name, value in rows}
        found = int(meta["format"])
        key = bytes.fromhex(meta["key"])
    if found > FORMAT:
        raise LedgerVersionError(found=found, known=FORMAT)
    if not key:
        # With another key every account would look unspent.
        raise psycopg.DatabaseError
    return key
