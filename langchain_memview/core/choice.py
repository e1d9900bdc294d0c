"""The one seam of the trusted interface: a choice that is about to be drawn.

Production draws it with fresh coins. The audit enumerates its law instead, and the
testing package puts known coins there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from typing_extensions import override


class Mechanism(Protocol):
    """A kernel: a private input to a law over indices."""

    def probabilities(self, *inputs: Any) -> list[Fraction]:
        """Return the exact probability of each index. Private."""
        ...

    def draw(self, *inputs: Any) -> int:
        """Return an index, given the inputs and optionally a source of coins."""
        ...


@dataclass(frozen=True, repr=False)
class Choice:
    """A mechanism with its inputs, which are private.

    Attributes:
        mechanism: The kernel; public.
        inputs: All arguments of its `probabilities`. Private.
    """

    mechanism: Mechanism
    inputs: tuple[Any, ...]

    @override
    def __repr__(self) -> str:
        """Return the mechanism."""
        return f"Choice({self.mechanism!r})"

    def probabilities(self) -> list[Fraction]:
        """Return the exact probability of each index. Private."""
        return self.mechanism.probabilities(*self.inputs)

    def draw(self, *coins: Callable[[int], int]) -> int:
        """Return an index drawn from `probabilities()`, with these coins if given."""
        return self.mechanism.draw(*self.inputs, *coins)


Draw: TypeAlias = Callable[[Choice], int]


def fresh_draw(choice: Choice) -> int:
    """Return one index drawn with fresh coins of the operating system."""
    return choice.draw()
