"""What the PostgreSQL ledger sends and what it makes of the rows that come back."""

import json
import secrets
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from langchain_memview.core.accounts import Account, Operation, Record, concerns
from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.recount import recomputed
from langchain_memview.ledgers.postgres_connection import Row, Session
from langchain_memview.ledgers.postgres_driver import psycopg
from langchain_memview.ledgers.postgres_schema import BEGIN, undamaged
from langchain_memview.ledgers.postgres_text import restored, stored
from langchain_memview.ledgers.rows import (
    GENESIS,
    chain_hash,
    charges_text,
    slots_of,
    text_hash,
    views_text,
)

_SEEN: Final = "SELECT * FROM memview_seen(%s, %s)"
_LOCKED: Final = f"{BEGIN}SELECT pg_advisory_xact_lock(%s);{_SEEN}"
_RELEASES: Final = (
    "SELECT sequence, operation, request, audience, at, charges, views"
    " FROM memview_release WHERE account = %s"
)
_APPEND: Final = (
    "SELECT memview_append("
    "%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
# The server undid it, so it can be done again under the account's lock.
_UNDONE: Final = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.ReadOnlySqlTransaction,
)


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
        releases = (
            slot
            for record in (records(session, self.key) if self.sequence else ())
            for slot in record.slots
        )
        return recomputed(releases, account.groups, account.caps, self.ledger)


def seen(session: Session, key: str, operation: str = "") -> Stored:
    """Return what is stored at one moment; somebody may change it the next."""
    (row,) = session.run(_SEEN, key, stored(operation))
    return _stored(key, row)


def opened(session: Session, key: str, operation: str) -> Stored:
    """Return what is stored, in a transaction that nobody else has on this account."""
    _, [row] = session.batch(_LOCKED, lock_number(key), key, stored(operation))
    return _stored(key, row)


def lock_number(key: str) -> int:
    """Return the number of the account's advisory lock: 64 bits of its keyed hash.

    Accounts that share them wait for each other and no more.
    """
    return int.from_bytes(bytes.fromhex(key)[:8], signed=True)


def _stored(key: str, row: Row) -> Stored:
    meta, terms, attributes, spent, caps, release = row
    fingerprint, sequence, head = terms or (None, 0, GENESIS)
    balances = zip(attributes or (), spent or (), caps or (), strict=True)
    with undamaged():
        ledger = Ledger(
            {
                restored(name): Balance(from_ticks(used), from_ticks(cap))
                for name, used, cap in balances
            }
        )
    return Stored(
        key,
        [line.split(" ", 1) for line in meta],
        None if fingerprint is None else restored(fingerprint),
        int(sequence),
        head,
        ledger,
        _record(release) if release else None,
    )


def version(session: Session, key: str) -> str:
    """Return a text that changes with everything that is written to the account."""
    rows = session.run(
        "SELECT fingerprint || ' ' || head FROM memview_account WHERE account = %s", key
    )
    return str(rows[0][0]) if rows else ""


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


def erase(
    session: Session, subject: str, lineage: str, positions: Set[int] | None
) -> int:
    """Return how many releases have lost their views, account by account."""
    rows = session.run(
        "SELECT account, r.sequence, charges FROM memview_release AS r"
        " JOIN memview_account USING (account)"
        " WHERE subject = %s AND views IS NOT NULL AND (%s OR lineage = %s)",
        *(subject, positions is None, stored(lineage)),
    )
    erased: dict[str, list[int]] = {}
    with undamaged():
        for account, sequence, charges in rows:
            if concerns(slots_of(charges, None), positions):
                erased.setdefault(account, []).append(sequence)
    for account, sequences in erased.items():
        session.run(
            "UPDATE memview_release SET views = NULL WHERE account = %s"
            " AND sequence = ANY(%s) RETURNING sequence",
            *(account, sequences),
        )
    return sum(map(len, erased.values()))


def scrub(session: Session) -> None:
    """Let the server clear the rows that were replaced; it keeps its own archives."""
    session.batch("VACUUM memview_release")


def appended(
    session: Session,
    account: Account,
    subject: str,
    before: Stored,
    after: tuple[Record, Ledger],
) -> bool:
    """Write a record, and the balances that differ from the stored ones, and commit.

    Inside the transaction of `opened`, it is for the caller to commit.

    Args:
        session: Where to write.
        account: Its terms.
        subject: Keyed hash of its subject.
        before: What was stored when it was decided.
        after: The record and the ledger after it.

    Returns:
        Whether it was written. It is not if the account is no longer as it was before.
    """
    record, ledger = after
    changed = [
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
    with suppress(*_UNDONE):
        ((written,),) = session.run(
            _APPEND,
            *(lock_number(key), key, subject, stored(account.lineage)),
            None if account.audience is None else stored(account.audience),
            *(stored(account.fingerprint), json.dumps(changed)),
            *(record.sequence, stored(operation.id), operation.request),
            *(stored(operation.audience), record.at, charges, views, views_hash),
            *(before.head, head),
        )
        return bool(written)
    return False
