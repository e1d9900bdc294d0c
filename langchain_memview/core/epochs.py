"""When a standing release may be drawn again: public schedules, fixed by the policy.

An epoch is a stretch of time in which a facet keeps the view that was drawn for it. How
many epochs there can be is known from the start, because they share the facet's ε. An
epoch may end after a number of turns, on a date, or when the subject asks for it. It may
never end because something was written: whoever sees a new draw would learn that the
content changed, with certainty, and no finite ε would cover it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol


@dataclass(frozen=True)
class Moment:
    """The public circumstances of a turn.

    Attributes:
        turns: Number of turns of the dialogue before it, as the caller counts them.
        day: Returns the day, in UTC.
        renewals: Returns how many epochs the subject has begun after the first one.
    """

    turns: int
    day: Callable[[], date]
    renewals: Callable[[], int]


class Epochs(Protocol):
    """Numbers the epochs 0, 1, … from public circumstances."""

    @property
    def planned(self) -> int:
        """Return the number of epochs that share a facet's ε; at least 1."""
        ...

    def number(self, moment: Moment) -> int:
        """Return the epoch of a turn, from 0 to planned − 1; the last one never ends."""
        ...


@dataclass(frozen=True)
class OneEpoch:
    """One draw per facet, for ever."""

    @property
    def planned(self) -> int:
        """Return 1."""
        return 1

    def number(self, moment: Moment) -> int:
        """Return 0."""
        del moment
        return 0


@dataclass(frozen=True)
class TurnEpochs:
    """A new epoch after every so many turns of a dialogue.

    Attributes:
        turns: Turns of one epoch; at least 1. A thread of its own counts from 0, and
            then sees what was drawn for the early epochs again.
        planned: Number of epochs.
    """

    turns: int
    planned: int

    def number(self, moment: Moment) -> int:
        """Return how many times `turns` turns have passed, at most planned − 1."""
        return min(self.planned - 1, moment.turns // self.turns)


@dataclass(frozen=True)
class CalendarEpochs:
    """A new epoch every so many days.

    Attributes:
        days: Days of one epoch; at least 1.
        start: First day of epoch 0; days before it belong to epoch 0 too.
        planned: Number of epochs.
    """

    days: int
    start: date
    planned: int

    def number(self, moment: Moment) -> int:
        """Return how many times `days` days have passed since the start."""
        passed = max(0, (moment.day() - self.start).days) // self.days
        return min(self.planned - 1, passed)


@dataclass(frozen=True)
class SubjectEpochs:
    """A new epoch when the subject asks for it (`MemView.renew`).

    Attributes:
        planned: Number of epochs, so one more than there can be renewals.
    """

    planned: int

    def number(self, moment: Moment) -> int:
        """Return the number of renewals so far."""
        return moment.renewals()


def epochs_document(epochs: Epochs) -> str | dict[str, Any]:
    """Return a schedule as plain data, in the shape of a policy file."""
    document: str | dict[str, Any] = f"a {type(epochs).__name__}"
    match epochs:
        case OneEpoch():
            document = "never"
        case TurnEpochs(turns, planned):
            document = {"turns": turns, "planned": planned}
        case CalendarEpochs(days, start, planned):
            document = {"days": days, "start": str(start), "planned": planned}
        case SubjectEpochs(planned):
            document = {"renewals": planned - 1}
    return document


def epochs_of(document: object) -> Epochs | None:
    """Return the schedule that plain data describes; None if it describes none.

    Args:
        document: `never`, or a mapping with `turns` and `planned`, with `days`, `start`
            and `planned`, or with `renewals`.
    """
    fields = dict(document) if isinstance(document, Mapping) else {}
    start = _date(fields.get("start"))
    counts = {name: value for name, value in fields.items() if _whole(value)}
    found: Epochs | None = None
    match sorted(fields, key=str):
        case ["planned", "turns"] if len(counts) == 2:
            found = TurnEpochs(**counts)
        case ["days", "planned", "start"] if len(counts) == 2 and start:
            found = CalendarEpochs(start=start, **counts)
        case ["renewals"] if counts:
            found = SubjectEpochs(counts["renewals"] + 1)
        case _ if document == "never":
            found = OneEpoch()
    return found


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _date(value: object) -> date | None:
    with suppress(ValueError):
        day = date.fromisoformat(str(value))
        # Weeks and days of the year are other ways to write a date; one is enough.
        return day if day.isoformat() == str(value) else None
    return None
