"""What the PostgreSQL ledger sends and what it makes of the rows that come back."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_memview.core.accounts import Account, Operation, Record
from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Balance, Ledger, recomputed
from langchain_memview.ledgers.postgres_connection import Row, Session
from langchain_memview.ledgers.postgres_schema import BEGIN, META, undamaged
from langchain_memview.ledgers.postgres_text import restored, stored
from langchain_memview.ledgers.rows import (
    GENESIS,
    chain_hash,
    charges_text,
    slots_of,
    text_hash,
    views_text,
)

_OPEN: Final = f"{BEGIN}SELECT * FROM memview_open(%s, %s, %s)"  # noqa: S608
_READ: Final = (
    f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;{META};"  # noqa: S608
    "SELECT fingerprint, sequence, head FROM memview_account WHERE account = %s;"
    "SELECT attribute, spent, cap FROM memview_balance WHERE account = %s"
)
_RELEASES: Final = (
    "SELECT sequence, operation, request, audience, at, charges, views"
    " FROM memview_release WHERE account = %s"
)
_WRITE: Final = """
WITH account AS (
    INSERT INTO memview_account VALUES (%s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (account) DO UPDATE SET fingerprint = excluded.fingerprint,
        sequence = excluded.sequence, head = excluded.head
), balance AS (
    INSERT INTO memview_balance
    SELECT %s, * FROM unnest(%s::text[], %s::bigint[], %s::bigint[])
    ON CONFLICT (account, attribute)
    DO UPDATE SET spent = excluded.spent, cap = excluded.cap
)
INSERT INTO memview_release VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


@dataclass(frozen=True)
class Stored:
    """What the database holds of one account.

    Attributes:
        key: Keyed hash of the account.
        meta: Names and values of the ledger itself.
        fingerprint: Of the terms that hold; None for an unknown account.
        sequence: Number of releases.
        head: Hash of the last one.
        ledger: Balances of every attribute that any policy had.
        record: What is recorded under the operation that was asked for.
    """

    key: str
    meta: Sequence[Sequence[str]]
    fingerprint: str | None
    sequence: int
    head: str
    ledger: Ledger
    record: Record | None = None

    def under(self, session: Session, account: Account) -> Ledger:
        """Return the account's ledger: recounted if its terms are new."""
        if self.fingerprint == account.fingerprint:
            with undamaged():
                return self.ledger.only(account.caps)
        # An unknown account has no releases.
        charges = (
            (slot.read_set, slot.charged, slot.epsilon)
            for record in (records(session, self.key) if self.sequence else ())
            for slot in record.slots
        )
        return recomputed(charges, account.groups, account.caps, self.ledger)


def opened(session: Session, key: str, operation: str) -> Stored:
    """Return what is stored, in a transaction that nobody else has on this account."""
    # 64 bits of the key; accounts that share them wait for each other and no more.
    lock_number = int.from_bytes(bytes.fromhex(key)[:8], signed=True)
    ((row,),) = session.batch(_OPEN, lock_number, key, stored(operation))
    meta, terms, attributes, spent, caps, release = row
    balances = list(zip(attributes or (), spent or (), caps or (), strict=True))
    lines = [line.split(" ", 1) for line in meta]
    return _stored(key, lines, terms, balances, release)


def seen(session: Session, key: str) -> Stored:
    """Return what is stored at one moment, in a transaction that only reads."""
    meta, accounts, balances = session.batch(_READ, key, key)
    return _stored(key, meta, accounts[0] if accounts else None, balances)


def _stored(
    key: str,
    meta: Sequence[Sequence[str]],
    terms: Row | None,
    balances: Sequence[Row],
    release: Row | None = None,
) -> Stored:
    fingerprint, sequence, head = terms or (None, 0, GENESIS)
    with undamaged():
        ledger = Ledger(
            {
                restored(name): Balance(from_ticks(spent), from_ticks(cap))
                for name, spent, cap in balances
            }
        )
    return Stored(
        key,
        meta,
        None if fingerprint is None else restored(fingerprint),
        int(sequence),
        head,
        ledger,
        _record(release) if release else None,
    )


def found(session: Session, key: str, operation: str) -> Record | None:
    """Return what is recorded under an operation's id, or None."""
    rows = session.run(f"{_RELEASES} AND operation = %s", key, stored(operation))
    return _record(rows[0]) if rows else None


def records(session: Session, key: str) -> list[Record]:
    """Return the recorded releases of an account, oldest first."""
    rows = session.run(f"{_RELEASES} ORDER BY sequence", key)
    return [_record(row) for row in rows]


def _record(row: Row) -> Record:
    sequence, name, request, audience, at, charges, views = row
    with undamaged():
        slots = slots_of(charges, views)
    operation = Operation(restored(name), request, restored(audience))
    return Record(int(sequence), operation, slots, at)


def write(
    session: Session,
    account: Account,
    subject: str,
    before: Stored,
    after: tuple[Record, Ledger],
) -> None:
    """Write a record, and the balances that differ from the stored ones.

    Args:
        session: Inside the transaction of `opened`.
        account: Its terms.
        subject: Keyed hash of its subject.
        before: What is stored.
        after: The record and the ledger after it.
    """
    record, ledger = after
    changed: list[tuple[Any, ...]] = [
        (stored(name), to_ticks(balance.spent), to_ticks(balance.cap))
        for name, balance in ledger.balances.items()
        if before.ledger.balances.get(name) != balance
    ]
    key, operation = before.key, record.operation
    charges = charges_text(record.slots)
    views = views_text(record.slots, secrets.token_hex(16))
    views_hash = text_hash(views)
    head = chain_hash(
        *(before.head, record.sequence, operation.id, operation.request),
        *(operation.audience, record.at, charges, views_hash),
    )
    session.run(
        _WRITE,
        *(key, subject, stored(account.lineage)),
        None if account.audience is None else stored(account.audience),
        *(stored(account.fingerprint), record.sequence, head),
        *(key, *([row[column] for row in changed] for column in range(3))),
        *(key, record.sequence, stored(operation.id), operation.request),
        *(stored(operation.audience), record.at, charges, views, views_hash),
        *(before.head, head),
    )
