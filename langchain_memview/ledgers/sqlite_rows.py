"""What the SQLite ledger reads from its tables and writes into them."""

import secrets
import sqlite3
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from langchain_memview.core.accounts import Account, Operation, Record, concerns
from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.recount import recomputed
from langchain_memview.ledgers.rows import (
    GENESIS,
    chain_hash,
    charges_text,
    slots_of,
    text_hash,
    views_text,
)
from langchain_memview.ledgers.sqlite_schema import undamaged

_RELEASES: Final = (
    "SELECT sequence, operation, request, audience, at, charges, views"
    " FROM memview_release WHERE account = ?"
)


@dataclass(frozen=True)
class Stored:
    """What the file holds of one account.

    Attributes:
        fingerprint: Of the terms that hold; None for an unknown account.
        sequence: Number of releases.
        head: Hash of the last one.
        ledger: Balances of every attribute that any policy had.
    """

    fingerprint: str | None
    sequence: int
    head: str
    ledger: Ledger


def seen(connection: sqlite3.Connection, key: str) -> Stored:
    """Return what is stored of the account under this keyed hash."""
    known = connection.execute(
        "SELECT fingerprint, sequence, head FROM memview_account WHERE account = ?",
        (key,),
    ).fetchone()
    rows = connection.execute(
        "SELECT attribute, spent, cap FROM memview_balance WHERE account = ?", (key,)
    )
    fingerprint, sequence, head = known or (None, 0, GENESIS)
    with undamaged():
        ledger = Ledger(
            {
                name: Balance(from_ticks(spent), from_ticks(cap))
                for name, spent, cap in rows
            }
        )
    return Stored(fingerprint, sequence, head, ledger)


def version(connection: sqlite3.Connection, key: str) -> str:
    """Return a text that changes with everything that is written to the account."""
    row = connection.execute(
        "SELECT fingerprint || ' ' || head FROM memview_account WHERE account = ?",
        (key,),
    ).fetchone()
    return str(row[0]) if row else ""


def under(
    connection: sqlite3.Connection, key: str, account: Account, before: Stored
) -> Ledger:
    """Return the account's ledger: recounted if its terms are new."""
    if before.fingerprint == account.fingerprint:
        with undamaged():
            return before.ledger.only(account.caps)
    releases = (slot for record in records(connection, key) for slot in record.slots)
    return recomputed(releases, account.groups, account.caps, before.ledger)


def found(connection: sqlite3.Connection, key: str, operation: str) -> Record | None:
    """Return what is recorded under an operation's id, or None."""
    row = connection.execute(
        f"{_RELEASES} AND operation = ?", (key, operation)
    ).fetchone()
    return _record(row) if row else None


def records(connection: sqlite3.Connection, key: str) -> Iterator[Record]:
    """Return the recorded releases of an account one by one, oldest first."""
    rows = connection.execute(f"{_RELEASES} ORDER BY sequence", (key,))
    return (_record(row) for row in rows)


def _record(row: tuple[int, str, str, str, str, str, str | None]) -> Record:
    sequence, operation, request, audience, at, charges, views = row
    with undamaged():
        slots = slots_of(charges, views)
    return Record(sequence, Operation(operation, request, audience), slots, at)


def erase(
    connection: sqlite3.Connection,
    subject: str,
    lineage: str,
    positions: Set[int] | None,
) -> int:
    """Return how many releases have lost their views; inside a transaction."""
    rows = connection.execute(
        "SELECT account, memview_release.sequence, charges FROM memview_release"
        " JOIN memview_account USING (account) WHERE subject = ? AND views IS NOT NULL"
        " AND (? OR lineage = ?)",
        (subject, positions is None, _storable(lineage)),
    ).fetchall()
    with undamaged():
        erased = [
            (account, sequence)
            for account, sequence, charges in rows
            if concerns(slots_of(charges, None), positions)
        ]
    connection.executemany(
        "UPDATE memview_release SET views = NULL WHERE account = ? AND sequence = ?",
        erased,
    )
    return len(erased)


def scrub(connection: sqlite3.Connection) -> None:
    """Rewrite the file and empty its log, so that neither holds what was erased.

    Raises:
        sqlite3.Error: Somebody else reads or writes for longer than the time-out.
    """
    connection.execute("VACUUM")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError


def append(
    connection: sqlite3.Connection,
    account: tuple[Account, str, str],
    before: Stored,
    after: tuple[Record, Ledger],
) -> None:
    """Write a record, and the balances that differ from the stored ones.

    Args:
        connection: Inside the transaction in which `before` was read.
        account: The account, its keyed hash and that of its subject.
        before: What is stored.
        after: The record and the ledger after it.
    """
    terms, key, subject = account
    record, ledger = after
    operation = record.operation
    charges = charges_text(record.slots)
    views = views_text(record.slots, secrets.token_hex(16))
    views_hash = text_hash(views)
    columns = (record.sequence, operation.id, operation.request, operation.audience)
    head = chain_hash(before.head, *columns, record.at, charges, views_hash)
    connection.execute(
        "INSERT INTO memview_account VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (account) DO UPDATE SET fingerprint = excluded.fingerprint,"
        " sequence = excluded.sequence, head = excluded.head",
        (
            *(key, subject, _storable(terms.lineage)),
            None if terms.audience is None else _storable(terms.audience),
            *(terms.fingerprint, record.sequence, head),
        ),
    )
    connection.executemany(
        "INSERT INTO memview_balance VALUES (?, ?, ?, ?)"
        " ON CONFLICT (account, attribute)"
        " DO UPDATE SET spent = excluded.spent, cap = excluded.cap",
        [
            (key, name, to_ticks(balance.spent), to_ticks(balance.cap))
            for name, balance in ledger.balances.items()
            if before.ledger.balances.get(name) != balance
        ],
    )
    connection.execute(
        "INSERT INTO memview_release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, *columns, record.at, charges, views, views_hash, before.head, head),
    )


def _storable(text: str) -> str:
    """Return a text as it can be stored for people to read: without lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()
