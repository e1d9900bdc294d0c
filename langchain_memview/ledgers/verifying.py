"""Whether a stored ledger is whole: its chain of rows, and balances against charges.

Every row of an account is hashed together with the one before it, so a row that was
altered, removed or put in shows. Whoever can write to the database can also compute a
new chain: keep the printed heads elsewhere, and compare them, to notice that.

What an attribute has spent is the sum of its charges, or more: after a change of groups
a release that was not charged to it may count (see `core.ledger.recomputed`), so the sum
of all other charges is the most that may be added.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.core.release import SlotRelease
from langchain_memview.errors import LedgerUnavailableError
from langchain_memview.ledgers.reading import StoredAccount, StoredRelease
from langchain_memview.ledgers.rows import GENESIS, chain_hash, text_hash


@dataclass(frozen=True)
class Finding:
    """One thing that is broken in an account.

    Attributes:
        row: Sequence number of the release; None if it is about a balance.
        text: What is wrong.
    """

    row: int | None
    text: str


def findings(account: StoredAccount) -> list[Finding]:
    """Return what is broken in an account; nothing if it is whole."""
    broken = next(_chain(account), None)
    if broken:
        # The charges of a broken chain prove nothing about the balances.
        return [broken]
    return list(_balances(account))


def _chain(account: StoredAccount) -> Iterator[Finding]:
    last, number = GENESIS, 0
    for release in account.releases:
        what = _breaks(release, number, last)
        if what:
            place = f"does not follow row {number}" if number else "cannot be the first"
            yield Finding(release.sequence, f"row {release.sequence} {place}: {what}")
        last, number = release.hash, release.sequence
    if account.sequence != number:
        yield Finding(
            account.sequence,
            f"row {account.sequence} is missing: the last row is {number}",
        )
    if account.head != last:
        yield Finding(number, f"row {number} is not the last row that was written")


def _breaks(release: StoredRelease, number: int, last: str) -> str:
    """Return why a release does not follow row `number`, whose hash is `last`."""
    views = release.views
    fields = (
        *(release.sequence, release.operation, release.request, release.audience),
        *(release.at, release.charges, release.views_hash),
    )
    if release.sequence != number + 1:
        return f"row {number + 1} is missing"
    if release.previous != last:
        return "it was written after another row"
    if views is not None and text_hash(views) != release.views_hash:
        return "its views are not those that were recorded"
    altered = chain_hash(last, *fields) != release.hash or not _readable(release)
    return "its contents are not those that were recorded" if altered else ""


def _readable(release: StoredRelease) -> bool:
    try:
        return bool(release.slots)
    except LedgerUnavailableError:
        return False


def _balances(account: StoredAccount) -> Iterator[Finding]:
    charged = _sums(account.slots)
    total = sum((slot.epsilon for slot in account.slots if slot.charged), Fraction(0))
    # After a change of groups such a release counts as the whole cap.
    unbounded = any(s.outcome == "uncharged" and s.read_set for s in account.slots)
    for name in sorted(charged.keys() - account.ledger.balances.keys()):
        yield Finding(None, f"{name} was charged {charged[name]} and has no balance")
    for name, balance in account.ledger.balances.items():
        least = charged.get(name, Fraction(0))
        if balance.spent < least:
            text = f"{name} has spent {balance.spent}, but its charges sum to {least}"
            yield Finding(None, text)
        if balance.spent > total and not unbounded:
            text = f"{name} has spent {balance.spent}, but all charges sum to {total}"
            yield Finding(None, text)
        if balance.spent > balance.cap:
            text = f"{name} has spent {balance.spent}, above its cap {balance.cap}"
            yield Finding(None, text)


def _sums(slots: tuple[SlotRelease, ...]) -> dict[str, Fraction]:
    sums: dict[str, Fraction] = {}
    for slot in slots:
        for name, charge in slot.charges.items():
            sums[name] = sums.get(name, Fraction(0)) + charge
    return sums
