"""Every exception of the package; each one is a `MemViewError`.

```text
MemViewError
├── PolicyError              the policy cannot be used; lists every problem at once
├── SubjectError             no usable subject, audience, operation or thread was named
├── PositionError            a memory was addressed to a position that is not there
├── MemoryUnavailableError   the memory backend cannot be reached
├── WiringError              the component is put into a graph in a way that cannot hold
└── LedgerError              the ledger refuses
    ├── LedgerOverdrawnError     a charge would pass its cap (C5)
    ├── LedgerUnavailableError   the ledger cannot be read or written; nothing is released
    ├── LedgerVersionError       the ledger was written by a newer version
    └── OperationConflictError   an operation id came back with another request
```

No message, attribute or representation of these errors depends on memory text, a
score or a probability (C6). They are `RuntimeError`s because LangGraph's default
retry policy leaves those alone: to repeat a refused release is never useful.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from typing_extensions import override

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Problem:
    """One finding about a policy: where, how bad, what is wrong, what to type.

    Attributes:
        code: Stable code such as `MV201`.
        level: `error` stops the policy, `warning` and `note` do not.
        path: Keys that lead to the place, for example `("attributes", "debt", "cap")`.
        text: What is wrong and why it matters.
        fix: What to type instead; empty when the text says it all.
        at_key: True when the place is the last key itself, not its value.
    """

    code: str
    level: Level
    path: tuple[str | int, ...]
    text: str
    fix: str = ""
    at_key: bool = False

    @override
    def __str__(self) -> str:
        """Return the finding with its path, for policies written in Python."""
        where = ".".join(str(key) for key in self.path) or "policy"
        line = f"{where} {self.level}[{self.code}] {self.text}"
        return f"{line}\n  fix: {self.fix}" if self.fix else line


class MemViewError(RuntimeError):
    """Base of every exception that langchain_memview raises on purpose."""


class PolicyError(MemViewError):
    """A policy cannot be used; `problems` holds every finding, not only the first.

    Attributes:
        problems: The findings, errors first as well as warnings and notes.
    """

    def __init__(self, problems: Iterable[Problem], report: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(report or "\n".join(str(p) for p in self.problems))


class SubjectError(MemViewError):
    """The subject, audience, operation or thread is missing or unusable."""


class PositionError(MemViewError):
    """A memory was addressed to a slot or position that the layout does not have."""


class MemoryUnavailableError(MemViewError):
    """The memory backend cannot be reached; nothing was read, charged or released."""


class WiringError(MemViewError):
    """The component was put into a graph in a way in which it cannot keep its promise."""


class LedgerError(MemViewError):
    """Base of the errors with which a ledger refuses an operation."""


class LedgerOverdrawnError(LedgerError):
    """A charge would lift an attribute above its cap (C5).

    Attributes:
        attribute: The protected attribute whose ledger refuses.
        spent: What it has spent so far, in nats.
        epsilon: The charge that was asked for, in nats.
        cap: Its cap, in nats.
    """

    def __init__(
        self, *, attribute: str, spent: Fraction, epsilon: Fraction, cap: Fraction
    ) -> None:
        self.attribute = attribute
        self.spent = spent
        self.epsilon = epsilon
        self.cap = cap
        super().__init__(
            f"charging epsilon={epsilon} to {attribute!r} would reach "
            f"{spent + epsilon}, above its cap {cap} (C5). Call `Ledger.admits` "
            "first and release the slot's generic view when it says no."
        )


class LedgerUnavailableError(LedgerError):
    """The ledger cannot be read or written now; nothing was released."""

    def __init__(self) -> None:
        super().__init__(
            "the ledger cannot be read or written, so nothing is released (C5). "
            "Check that its database is reachable and writable and has room, then "
            "repeat the operation under the same id."
        )


class LedgerVersionError(LedgerError):
    """The ledger was written by a newer version of the package."""

    def __init__(self, *, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"the ledger has format {found}, this version knows formats up to "
            f"{known}; nothing is released (C5). Upgrade langchain_memview."
        )


class OperationConflictError(LedgerError):
    """An operation id was used again with another request."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(
            f"operation {operation!r} was recorded for another query, audience or "
            "policy; a repeated id must repeat the request. Use a new id for a new "
            "request."
        )


class EpochError(LedgerError):
    """The last planned epoch of a standing policy has begun already."""

    def __init__(self, planned: int) -> None:
        self.planned = planned
        super().__init__(
            f"all {planned} epochs that the policy planned have been drawn, and they "
            "share the caps from the start; what was drawn last stays."
        )


def alone(error: MemViewError) -> MemViewError:
    """Return the error without the frames and errors that it came through.

    They hold memories in local variables, which error reporters read. Raise it outside
    the `except` block, or it is chained to them again.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def withheld(error: Exception) -> MemViewError:
    """Return an error that tells the kind of a failure and nothing else about it."""
    return MemViewError(
        f"the turn failed with {type(error).__name__} inside the trusted interface, and "
        "nothing was released. Message and traceback are withheld, because they may "
        "hold memory text; call the router or scorer by itself to see them."
    )
