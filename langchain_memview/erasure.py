"""What `MemView.forget` erases, and the receipt that says what it could not reach.

Memories go first and then what releases showed, so that nothing new is drawn from what
is being forgotten. What was spent stays under a keyed hash of the subject: a person who
is forgotten and comes back has the ledger of before, or the cap would not hold (C5).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, TypeVar

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.names import named
from langchain_memview.core.placement import positions_of
from langchain_memview.core.policy import Policy

Part: TypeAlias = Literal["memories", "releases"]
Answer = TypeVar("Answer")

UNREACHED = (
    "what applications were shown before: answers, and prompts that models were given",
    "checkpoints, conversations and stores of the application, which hold what the user "
    "typed",
    "traces and logs of services that saw a prompt or an answer",
    "backups, snapshots and replicas, and a database server's own archives",
    "other processes that have the memories open, until they end",
    "the amounts that were spent, which stay under a keyed hash so that caps hold",
)
"""What no call of `forget` reaches, whatever the parts of a `MemView` are."""


@dataclass(frozen=True)
class ErasureReceipt:
    """What was erased; it holds no memory, no view and no name of the subject.

    Attributes:
        subject: Keyed hash under which the ledger knows the subject; empty if the
            ledger could not be asked.
        lineage: Name and layout hash of the policy.
        positions: The positions that were asked for, sorted; None for all there are.
        at: When the call ended, ISO 8601 in UTC.
        memories: How many memories this call erased.
        releases: How many recorded releases lost what they showed.
        failed: What could not be erased, or not wholly; empty if all of it was.
        unreached: What no such call reaches.
    """

    subject: str
    lineage: str
    positions: tuple[int, ...] | None
    at: str
    memories: int
    releases: int
    failed: tuple[Part, ...] = ()
    unreached: tuple[str, ...] = UNREACHED

    @property
    def complete(self) -> bool:
        """Return whether all was erased; if not, repeat the call."""
        return not self.failed

    def document(self) -> dict[str, Any]:
        """Return the receipt as the JSON document `memview.erasure/1`."""
        return {
            "schema": "memview.erasure/1",
            "subject": self.subject,
            "lineage": self.lineage,
            "positions": None if self.positions is None else list(self.positions),
            "at": self.at,
            "complete": self.complete,
            "memories": self.memories,
            "releases": self.releases,
            "failed": list(self.failed),
            "unreached": list(self.unreached),
        }


def forget(
    policy: Policy,
    backend: Backend,
    ledger: LedgerStore,
    subject: str,
    *,
    slot: str = "",
    position: int | None = None,
) -> ErasureReceipt:
    """Return the receipt after erasing a subject's memories and what they showed.

    A part that cannot be reached is named in the receipt, and the other one is erased
    all the same; done again, it goes on with what is left.

    Args:
        policy: Says which positions a slot has.
        backend: Where the memories are.
        ledger: Where releases are recorded.
        subject: The person to forget.
        slot: Only this slot's positions.
        position: Only this position.

    Raises:
        PositionError: The policy has no such slot or position, or the two differ.
        SubjectError: The subject is missing or blank.
    """
    named("subject", subject)
    everything = not slot and position is None
    own = None if everything else positions_of(policy, slot, position)
    gone = _answer(lambda: len(backend.forget(subject, own)))
    erased = _answer(lambda: ledger.erase(subject, policy.lineage, own))
    parts: dict[Part, int | None] = {"memories": gone, "releases": erased}
    return ErasureReceipt(
        _answer(lambda: ledger.pseudonym(subject)) or "",
        policy.lineage,
        None if own is None else tuple(sorted(own)),
        datetime.now(UTC).isoformat(timespec="seconds"),
        gone or 0,
        erased or 0,
        tuple(part for part, count in parts.items() if count is None),
    )


def _answer(call: Callable[[], Answer]) -> Answer | None:
    """Return the call's answer; None if it failed, whose text may hold a memory."""
    with suppress(Exception):
        return call()
    return None
