"""A recorded release as database rows, and the hash chain over them.

A row keeps what was charged apart from what was shown, so that the shown views can be
erased while the charges, and the chain over them, survive. The chain covers a salted
hash of the views: with the salt erased as well, the hash tells nothing about them.
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any

from langchain_memview.core.amounts import from_ticks, to_ticks
from langchain_memview.core.release import SlotRelease

FORMAT = 1
"""Format of the stored ledger; a store with a higher one was written by a newer version."""

GENESIS = "0" * 64

_compact = json.JSONEncoder(separators=(",", ":")).encode


def charges_text(slots: Sequence[SlotRelease]) -> str:
    """Return the charges of a release as JSON: public facts without the views."""
    return _compact([_charges_row(slot) for slot in slots])


def _charges_row(slot: SlotRelease) -> dict[str, Any]:
    row = {
        "slot": slot.slot,
        "outcome": slot.outcome,
        "read_set": list(slot.read_set),
        "charged": list(slot.charged),
        "epsilon": to_ticks(slot.epsilon),
        "blocked_by": list(slot.blocked_by),
    }
    if slot.shares:
        row["shares"] = [to_ticks(share) for share in slot.shares]
    return row


def views_text(slots: Sequence[SlotRelease], salt: str) -> str:
    """Return the released views as JSON with a salt, the part that can be erased."""
    views = {slot.slot: slot.view for slot in slots}
    return _compact({"salt": salt, "views": views})


def slots_of(charges: str, views: str | None) -> tuple[SlotRelease, ...]:
    """Return the slot releases of a row; erased views have the name `""`."""
    shown: dict[str, str] = json.loads(views)["views"] if views else {}
    rows: list[dict[str, Any]] = json.loads(charges)
    return tuple(
        SlotRelease(
            row["slot"],
            shown.get(row["slot"], ""),
            row["outcome"],
            tuple(row["read_set"]),
            tuple(row["charged"]),
            from_ticks(row["epsilon"]),
            tuple(row["blocked_by"]),
            tuple(from_ticks(share) for share in row.get("shares", ())),
        )
        for row in rows
    )


def keyed_hash(key: bytes, text: str) -> str:
    """Return the HMAC-SHA-256 of a text under a key as 64 hex digits."""
    return hmac.digest(key, text.encode("utf-8", "surrogatepass"), "sha256").hex()


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chain_hash(previous: str, *fields: str | int) -> str:
    """Return the hash of a row: of the row before it and of its own fields."""
    return text_hash(json.dumps([previous, *fields]))
