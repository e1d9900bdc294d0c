"""Reading a stored ledger without changing it, for the command line.

No account is recounted under a policy: what comes back is what is stored, on either
engine. It is public: balances, views, counts and hashes, never a memory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from langchain_memview.core.accounts import injective
from langchain_memview.core.amounts import from_ticks
from langchain_memview.core.ledger import Balance, Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerUnavailableError, LedgerVersionError
from langchain_memview.ledgers.places import Query, opened
from langchain_memview.ledgers.rows import FORMAT, keyed_hash, slots_of


@dataclass(frozen=True)
class StoredRelease:
    """One row of the chain: what was released under one operation, as it is stored.

    Attributes:
        sequence: 1, 2, … within the account.
        operation: Id of the operation.
        request: Hash of its public parameters.
        audience: The application that sees the views.
        at: Time of the commit, ISO 8601 in UTC.
        charges: What was charged, as JSON.
        views: The released views, as JSON with a salt; None after their erasure.
        views_hash: Hash of that JSON, which stays.
        previous: Hash of the row before.
        hash: Hash of this row and the one before.
    """

    sequence: int
    operation: str
    request: str
    audience: str
    at: str
    charges: str
    views: str | None
    views_hash: str
    previous: str
    hash: str

    @property
    def slots(self) -> tuple[SlotRelease, ...]:
        """Return what each slot released; erased views have the name `""`.

        Raises:
            LedgerUnavailableError: The row is damaged.
        """
        with suppress(ValueError, TypeError, LookupError):
            return slots_of(self.charges, self.views)
        raise LedgerUnavailableError


@dataclass(frozen=True)
class StoredAccount:
    """One account as a ledger holds it.

    Attributes:
        id: Keyed hash that stands for subject, lineage and audience.
        lineage: Name and layout hash of the policy.
        audience: The application, where the policy's scope is `audience`; else None.
        sequence: How many releases the account counts.
        head: Hash of the last one.
        ledger: Spent and cap of every attribute.
        releases: Its rows, oldest first.
    """

    id: str
    lineage: str
    audience: str | None
    sequence: int
    head: str
    ledger: Ledger
    releases: tuple[StoredRelease, ...]

    @cached_property
    def slots(self) -> tuple[SlotRelease, ...]:
        """Return what each slot released, oldest first, over all operations.

        Raises:
            LedgerUnavailableError: A row is damaged.
        """
        return tuple(slot for release in self.releases for slot in release.slots)

    @property
    def since(self) -> str:
        """Return the time of the first release; empty if there is none."""
        return self.releases[0].at if self.releases else ""

    def charges(self, attribute: str) -> int:
        """Return how many selections were charged to the attribute."""
        return sum(attribute in slot.charged for slot in self.slots)

    def blocked(self, attribute: str) -> int:
        """Return how many selections the attribute's cap turned into the generic view."""
        return sum(attribute in slot.blocked_by for slot in self.slots)


@dataclass(frozen=True)
class LedgerReader:
    """Reads accounts, one at a time.

    Attributes:
        query: Reads rows.
        restored: Restores a stored text.
    """

    query: Query
    restored: Callable[[str], str]

    def accounts(self, subject: str | None = None) -> Iterator[StoredAccount]:
        """Yield the accounts by lineage.

        Args:
            subject: Only the accounts of this person; None for all.

        Raises:
            LedgerUnavailableError: The ledger is unreadable, or there is none.
            LedgerVersionError: A newer version of the package wrote it.
        """
        key = self._key()
        rows = self.query(
            "SELECT account, lineage, audience, sequence, head, subject"
            " FROM memview_account"
        )
        if subject is not None:
            wanted = keyed_hash(key, injective(subject))
            rows = [row for row in rows if row[5] == wanted]
        for row in sorted(rows, key=lambda row: (row[1], row[2] or "", row[0])):
            yield self._account(*row[:5])

    def strays(self) -> list[str]:
        """Return the ids of accounts that have rows and are no accounts.

        Raises:
            LedgerUnavailableError: The ledger is unreadable, or there is none.
        """
        rows = self.query(
            "SELECT account FROM memview_release UNION SELECT account FROM"
            " memview_balance EXCEPT SELECT account FROM memview_account"
        )
        return sorted(row[0] for row in rows)

    def _key(self) -> bytes:
        meta: dict[str, str] = dict(self.query("SELECT name, value FROM memview_meta"))
        try:
            found, key = int(meta["format"]), bytes.fromhex(meta["key"])
        except (ValueError, TypeError, LookupError):
            found, key = 0, b""
        if found > FORMAT:
            raise LedgerVersionError(found=found, known=FORMAT)
        if not key:
            raise LedgerUnavailableError
        return key

    def _account(
        self, key: str, lineage: str, audience: str | None, sequence: int, head: str
    ) -> StoredAccount:
        balances = self.query(
            "SELECT attribute, spent, cap FROM memview_balance WHERE account = ?"
            " ORDER BY attribute",
            key,
        )
        releases = self.query(
            "SELECT sequence, operation, request, audience, at, charges, views,"
            " views_hash, previous, hash FROM memview_release WHERE account = ?"
            " ORDER BY sequence",
            key,
        )
        return StoredAccount(
            key,
            self.restored(lineage),
            None if audience is None else self.restored(audience),
            sequence,
            head,
            self._ledger(balances),
            tuple(
                StoredRelease(
                    row[0],
                    self.restored(row[1]),
                    row[2],
                    self.restored(row[3]),
                    *row[4:],
                )
                for row in releases
            ),
        )

    def _ledger(self, rows: list[tuple[str, int, int]]) -> Ledger:
        with suppress(TypeError, ValueError):
            return Ledger(
                {
                    self.restored(name): Balance(from_ticks(spent), from_ticks(cap))
                    for name, spent, cap in rows
                }
            )
        raise LedgerUnavailableError


@contextmanager
def reading(place: str) -> Iterator[LedgerReader]:
    """Give a reader of the ledger at a place.

    Args:
        place: A SQLite file, or an address that begins with `postgresql://`.

    Raises:
        LedgerUnavailableError: It cannot be opened.
        ImportError: It is an address and the driver is not installed.
    """
    with opened(place) as (query, restored):
        yield LedgerReader(query, restored)


def stored_accounts(
    place: str | Path, subject: str | None = None
) -> list[StoredAccount]:
    """Return the accounts of the ledger at a place, by lineage.

    Args:
        place: As in `reading`.
        subject: Only the accounts of this person; None for all.

    Raises:
        LedgerUnavailableError: The ledger is missing or unreadable.
        LedgerVersionError: A newer version of the package wrote it.
    """
    with reading(str(place)) as reader:
        return list(reader.accounts(subject))
