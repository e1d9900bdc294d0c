"""The ordinary and the augmented transcript, the adversary's view of a dialogue: Eq. (1).

The application observes τ = (q, c, y) per turn; the analysis gives the adversary the
views as well, τ~ = (q, v, c, y). What holds for τ~ holds for τ, its projection.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from langchain_memview.core.release import ObservableControl


@dataclass(frozen=True)
class Turn:
    """One turn of the ordinary transcript.

    Attributes:
        query: q_t, what the application asked.
        control: c_t, the observable signals; None where the caller kept none.
        response: y_t, what the chat model answered.
    """

    query: str
    control: ObservableControl | None = None
    response: str = ""


@dataclass(frozen=True)
class AugmentedTurn(Turn):
    """One turn of the augmented transcript.

    Attributes:
        views: v_t, slot to the name of its released view.
    """

    views: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AugmentedTranscript:
    """τ~: what the strong adversary knows after some turns."""

    turns: tuple[AugmentedTurn, ...] = ()

    def ordinary(self) -> tuple[Turn, ...]:
        """Return τ: the turns without their views."""
        return tuple(Turn(t.query, t.control, t.response) for t in self.turns)

    def then(self, turn: AugmentedTurn) -> "AugmentedTranscript":
        """Return the transcript with one more turn (Algorithm 1, line 21)."""
        return AugmentedTranscript((*self.turns, turn))
