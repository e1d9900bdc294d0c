"""When a turn ends: at a public multiple of a deadline, whatever it found and did.

The theorem is about values. How long scoring takes may depend on memories, so an
answer's moment could tell what its text does not. A pacer holds every turn back until
the next whole multiple of its deadline, and counts the turns that needed more than one.
This is the only module with a clock: what is selected never depends on it.
"""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from langchain_memview.errors import WiringError

SHORTEST = 0.001
"""Shortest deadline, in seconds; below it an operating system's own delays are longer."""
LONGEST = 86_400.0
"""Longest deadline, in seconds: one day."""


@dataclass(frozen=True)
class Clock:
    """How a pacer reads time and lets it pass; tests put their own in.

    Attributes:
        now: Returns a moment in seconds that never goes back.
        sleep: Blocks the thread for a number of seconds.
        asleep: Lets other tasks of the event loop run for a number of seconds.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    asleep: Callable[[float], Awaitable[object]] = asyncio.sleep


class Pacer:
    """Ends turns at whole multiples of a deadline, counted from their beginning.

    Args:
        deadline: Seconds from 0.001 to 86 400; None ends every turn when it is done.
        clock: Reads time and lets it pass.

    Raises:
        WiringError: The deadline is none.
    """

    def __init__(self, deadline: float | None, clock: Clock | None = None) -> None:
        self._deadline = None if deadline is None else _seconds(deadline)
        self._clock = clock or Clock()
        self._overruns = 0
        self._counting = threading.Lock()

    @property
    def overruns(self) -> int:
        """Return how many turns took longer than the deadline so far."""
        with self._counting:
            return self._overruns

    def start(self) -> float:
        """Return the moment at which a turn begins, in seconds of the clock."""
        return self._clock.now()

    def wait(self, began: float) -> None:
        """Block until the next multiple of the deadline after the beginning.

        Args:
            began: What `start` returned.
        """
        end = self._end(began)
        while (left := end - self._clock.now()) > 0:
            self._clock.sleep(left)

    async def async_wait(self, began: float) -> None:
        """Wait as `wait` does, without blocking the event loop.

        Args:
            began: What `start` returned.
        """
        end = self._end(began)
        # An event loop may wake up a little early, by the resolution of its clock.
        while (left := end - self._clock.now()) > 0:
            await self._clock.asleep(left)

    def _end(self, began: float) -> float:
        """Return the moment at which the turn ends, and count it if it was too long."""
        if self._deadline is None:
            return began
        multiple = math.ceil((self._clock.now() - began) / self._deadline)
        if multiple > 1:
            with self._counting:
                self._overruns += 1
        return began + max(multiple, 1) * self._deadline


def _seconds(deadline: object) -> float:
    if (
        isinstance(deadline, int | float)
        and not isinstance(deadline, bool)
        and SHORTEST <= deadline <= LONGEST  # which NaN is not
    ):
        return float(deadline)
    raise WiringError(
        f"deadline must be a number of seconds from {SHORTEST} to {LONGEST:.0f}, or None "
        f"to end every turn when it is done; this {type(deadline).__name__} is neither. "
        "Take one that is well above the time of your slowest scorer."
    )
