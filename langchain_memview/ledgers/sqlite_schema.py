"""Tables of the SQLite ledger, and the triggers with which the database guards them.

`INSERT OR REPLACE` deletes a row without firing its delete trigger, so what must stay
is guarded on insertion too.
"""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_memview.errors import LedgerVersionError
from langchain_memview.ledgers.rows import FORMAT

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memview_meta (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memview_account (
    account TEXT PRIMARY KEY, subject TEXT NOT NULL, lineage TEXT NOT NULL,
    audience TEXT, fingerprint TEXT NOT NULL,
    sequence INTEGER NOT NULL, head TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS memview_account_subject ON memview_account (subject);
CREATE TABLE IF NOT EXISTS memview_balance (
    account TEXT NOT NULL REFERENCES memview_account, attribute TEXT NOT NULL,
    spent INTEGER NOT NULL, cap INTEGER NOT NULL,
    PRIMARY KEY (account, attribute), CHECK (0 <= spent AND spent <= cap),
    CHECK (typeof(spent) = 'integer' AND typeof(cap) = 'integer')
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memview_release (
    account TEXT NOT NULL REFERENCES memview_account, sequence INTEGER NOT NULL,
    operation TEXT NOT NULL, request TEXT NOT NULL, audience TEXT NOT NULL,
    at TEXT NOT NULL, charges TEXT NOT NULL, views TEXT, views_hash TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (account, sequence), UNIQUE (account, operation)
);
CREATE TRIGGER IF NOT EXISTS memview_spent_never_decreases
BEFORE UPDATE ON memview_balance WHEN NEW.spent < OLD.spent
  OR NEW.account IS NOT OLD.account OR NEW.attribute IS NOT OLD.attribute
BEGIN SELECT RAISE(ABORT, 'memview: spent never decreases'); END;
CREATE TRIGGER IF NOT EXISTS memview_cap_never_rises
BEFORE UPDATE ON memview_balance
WHEN NEW.cap > OLD.cap AND NEW.cap > NEW.spent
BEGIN SELECT RAISE(ABORT, 'memview: a cap never rises'); END;
CREATE TRIGGER IF NOT EXISTS memview_balance_stays
BEFORE DELETE ON memview_balance
BEGIN SELECT RAISE(ABORT, 'memview: balances are kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_balance_is_not_replaced
BEFORE INSERT ON memview_balance WHEN EXISTS (
    SELECT 1 FROM memview_balance AS held
    WHERE held.account = NEW.account AND held.attribute = NEW.attribute
      AND (NEW.spent < held.spent OR NEW.cap > max(held.cap, NEW.spent))
)
BEGIN SELECT RAISE(ABORT, 'memview: balances are kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_stays
BEFORE DELETE ON memview_release
BEGIN SELECT RAISE(ABORT, 'memview: releases are kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_is_not_replaced
BEFORE INSERT ON memview_release WHEN EXISTS (
    SELECT 1 FROM memview_release AS held WHERE held.account = NEW.account
      AND (held.sequence = NEW.sequence OR held.operation = NEW.operation)
)
BEGIN SELECT RAISE(ABORT, 'memview: releases are append-only'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_is_fixed
BEFORE UPDATE ON memview_release
WHEN NEW.views IS NOT NULL OR NEW.account IS NOT OLD.account
  OR NEW.sequence IS NOT OLD.sequence OR NEW.operation IS NOT OLD.operation
  OR NEW.request IS NOT OLD.request OR NEW.audience IS NOT OLD.audience
  OR NEW.at IS NOT OLD.at OR NEW.charges IS NOT OLD.charges
  OR NEW.views_hash IS NOT OLD.views_hash OR NEW.previous IS NOT OLD.previous
  OR NEW.hash IS NOT OLD.hash
BEGIN SELECT RAISE(ABORT, 'memview: releases are append-only'); END;
CREATE TRIGGER IF NOT EXISTS memview_release_is_erased
AFTER UPDATE ON memview_release WHEN OLD.views IS NOT NULL AND NEW.views IS NULL
BEGIN UPDATE memview_account SET fingerprint = fingerprint || '-'
  WHERE account = NEW.account; END;
CREATE TRIGGER IF NOT EXISTS memview_key_stays
BEFORE DELETE ON memview_meta WHEN OLD.name = 'key'
BEGIN SELECT RAISE(ABORT, 'memview: the key is kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_key_is_fixed
BEFORE UPDATE ON memview_meta WHEN OLD.name = 'key'
BEGIN SELECT RAISE(ABORT, 'memview: the key is kept'); END;
CREATE TRIGGER IF NOT EXISTS memview_key_is_not_replaced
BEFORE INSERT ON memview_meta
WHEN NEW.name = 'key' AND EXISTS (SELECT 1 FROM memview_meta WHERE name = 'key')
BEGIN SELECT RAISE(ABORT, 'memview: the key is kept'); END;
"""


@contextmanager
def undamaged() -> Iterator[None]:
    """Return a block in which what unreadable rows raise is an error of the database."""
    try:
        yield
    except (ValueError, TypeError, LookupError):
        raise sqlite3.DatabaseError from None


def prepared(connection: sqlite3.Connection) -> bytes:
    """Return the key of this database, after making the tables that are missing.

    Raises:
        LedgerVersionError: A newer version of the package wrote the ledger.
        sqlite3.Error: The database cannot be read or written, or is damaged.
    """
    # Asked for first: all tables are made at once, so accounts without a format have
    # lost it, and with a new key every one of them would look unspent.
    has_accounts = _exists(connection, "memview_account")
    if _meta(connection, "format") is None:
        if has_accounts:
            raise sqlite3.DatabaseError
        # One transaction: another process sees all of it, with one key, or nothing.
        connection.executescript(
            f"BEGIN IMMEDIATE;{_SCHEMA}"  # noqa: S608 - constants and hex digits
            f"INSERT OR IGNORE INTO memview_meta VALUES ('format', '{FORMAT}');"
            f"INSERT INTO memview_meta SELECT 'key', '{secrets.token_hex(32)}'"
            " WHERE NOT EXISTS (SELECT 1 FROM memview_meta WHERE name = 'key');COMMIT;"
        )
    with undamaged():
        found = int(_meta(connection, "format") or 0)
        key = bytes.fromhex(_meta(connection, "key") or "")
    if found > FORMAT:
        raise LedgerVersionError(found=found, known=FORMAT)
    if not key:
        # With another key every account would look unspent.
        raise sqlite3.DatabaseError
    return key


def _exists(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE name = ?", (table,)
    ).fetchone()
    return found is not None


def _meta(connection: sqlite3.Connection, name: str) -> str | None:
    if not _exists(connection, "memview_meta"):
        return None
    row = connection.execute(
        "SELECT value FROM memview_meta WHERE name = ?", (name,)
    ).fetchone()
    return str(row[0]) if row else None
