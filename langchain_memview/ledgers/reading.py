"""Reading a ledger file without changing it, for the command line.

The file is opened read-only; nothing is created and no account is recounted under a
policy. What comes back is public: balances, counts and hashes, never a memory.
"""

import hashlib
import hmac
import json
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from langchain_memview.core.amounts import from_ticks
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerUnavailableError, LedgerVersionError
from langchain_memview.ledgers.rows import FORMAT, slots_of


@dataclass(frozen=True)
class StoredAccount:
    """One account as a ledger file holds it.

    Attributes:
        id: Keyed hash that stands for subject, lineage and audience.
        lineage: Name and layout hash of the policy.
        audience: The application, where the policy's scope is `audience`; else None.
        ledger: Spent and cap of every attribute.
        slots: What each slot released, oldest first, over all operations.
        since: Time of the first release, ISO 8601; empty if there is none.
    """

    id: str
    lineage: str
    audience: str | None
    ledger: Ledger
    slots: tuple[SlotRelease, ...]
    since: str

    def charges(self, attribute: str) -> int:
        """Return how many selections were charged to the attribute."""
        return sum(attribute in slot.charged for slot in self.slots)

    def blocked(self, attribute: str) -> int:
        """Return how many selections the attribute's cap turned into the generic view."""
        return sum(attribute in slot.blocked_by for slot in self.slots)


def stored_accounts(path: Path, subject: str | None = None) -> list[StoredAccount]:
    """Return the accounts of a ledger file, by lineage.

    Args:
        path: The SQLite file.
        subject: Only the accounts of this person; None for all.

    Raises:
        LedgerUnavailableError: The file is missing, unreadable or holds no ledger.
        LedgerVersionError: A newer version of the package wrote it.
    """
    with suppress(sqlite3.Error, OSError):
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return _accounts(connection, subject)
    raise LedgerUnavailableError


def _accounts(
    connection: sqlite3.Connection, subject: str | None
) -> list[StoredAccount]:
    meta = dict(connection.execute("SELECT name, value FROM memview_meta").fetchall())
    if int(meta["format"]) > FORMAT:
        raise LedgerVersionError(found=int(meta["format"]), known=FORMAT)
    rows = connection.execute(
        "SELECT account, subject, lineage, audience FROM memview_account"
        " ORDER BY lineage, audience, account"
    ).fetchall()
    if subject is not None:
        wanted = keyed(bytes.fromhex(meta["key"]), json.dumps([subject]))
        rows = [row for row in rows if row[1] == wanted]
    return [_account(connection, row[0], row[2], row[3]) for row in rows]


def _account(
    connection: sqlite3.Connection, key: str, lineage: str, audience: str | None
) -> StoredAccount:
    balances = connection.execute(
        "SELECT attribute, spent, cap FROM memview_balance WHERE account = ?"
        " ORDER BY attribute",
        (key,),
    )
    ledger = Ledger(
        {name: Balance(from_ticks(s), from_ticks(c)) for name, s, c in balances}
    )
    releases = connection.execute(
        "SELECT at, charges, views FROM memview_release WHERE account = ?"
        " ORDER BY sequence",
        (key,),
    ).fetchall()
    slots = tuple(slot for row in releases for slot in slots_of(row[1], row[2]))
    since = releases[0][0] if releases else ""
    return StoredAccount(key, lineage, audience, ledger, slots, since)


def keyed(key: bytes, text: str) -> str:
    """Return the keyed hash under which a ledger stores a text."""
    return hmac.new(key, text.encode("utf-8"), hashlib.sha256).hexdigest()
