"""What a scorer makes of a memory when it is written, so that a turn need not.

An embedding or a rating by a chat model takes too long for a turn, and its time would
depend on the memory. So such a scorer prepares a fixed number of numbers for every
memory at write time; they are stored beside the text, belong to the same position, and
are what it is given at a turn instead of the text.

In the terms of the paper the content of a position is the text together with what was
prepared from it, so two stores that agree off I_a agree in the prepared numbers there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from langchain_memview.core.scoring import Scorer

Numbers = Sequence[float]
"""What was prepared from one memory; private, as the memory is."""

PROBE = "The weather was mild and the train came on time."
"""A public sentence; two models that prepare the same from it are taken for one."""

_SAME = 0.99


@dataclass(frozen=True)
class Preparation:
    """Which scorer prepared numbers; all of it is public.

    Attributes:
        model: Name of the model.
        size: How many numbers it prepares for every memory.
        digest: Hash of its weights or of what else decides about the numbers; empty
            where it cannot be known.
        probe: What it prepares from `PROBE`.
    """

    model: str
    size: int
    digest: str = ""
    probe: Numbers = field(default=(), repr=False)

    def differs(self, other: "Preparation") -> str:
        """Return in what the other one differs, in words; empty if in nothing."""
        hashes = {self.digest, other.digest} - {""}
        differences = {
            f"{self.model!r} is not {other.model!r}": self.model != other.model,
            f"{self.size} numbers are not {other.size}": self.size != other.size,
            f"{self.model!r} has another hash": len(hashes) > 1,
            f"{self.model!r} gives other numbers": (
                self.size == other.size and not same_direction(self.probe, other.probe)
            ),
        }
        return next((words for words, differ in differences.items() if differ), "")


@runtime_checkable
class PreparingScorer(Scorer, Protocol):
    """A scorer whose `support` is given prepared numbers instead of texts.

    A position that is empty, or whose memory could not be prepared yet, is None there.
    """

    @property
    def preparation(self) -> Preparation:
        """Return who prepares; it is stored beside the numbers."""
        ...

    def prepare(self, text: str) -> Numbers:
        """Return the numbers for a memory, shape `(size,)`, not all of them 0.

        Called when a memory is written, never at a turn. Whatever it raises means that
        the memory is stored and prepared later.

        Args:
            text: The memory. Private.
        """
        ...


def sound(numbers: Sequence[Any], size: int) -> bool:
    """Return whether these are prepared numbers: as many, finite and not all 0."""
    return len(numbers) == size and all(map(math.isfinite, numbers)) and any(numbers)


def same_direction(mine: Numbers, yours: Numbers) -> bool:
    """Return whether two vectors point the same way, but for rounding; or one is empty."""
    if not len(mine) or not len(yours):
        return True
    lengths = math.hypot(*mine) * math.hypot(*yours)
    return sum(a * b for a, b in zip(mine, yours, strict=True)) >= _SAME * lengths
