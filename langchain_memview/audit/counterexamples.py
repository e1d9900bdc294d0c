"""What breaks when one condition of the contract is left out: Proposition 1.

Each counterexample keeps the other conditions and gives the exact probabilities of one
transcript event under two adjacent stores; the ratio passes e^{B_a}. They are the
constructions of Appendix B.5, run through the package's own mechanism.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from langchain_memview.core.mechanism import ExponentialMechanism

_CAP = Fraction(2)
_EPSILON = Fraction(2, 3)
_ENOUGH = 7
"""More than 2·B_a/ε repetitions: each contributes e^{ε/2} when nothing stops it."""


@dataclass(frozen=True)
class Counterexample:
    """One event that an interface without a condition cannot hide.

    Attributes:
        condition: The condition left out.
        event: What the application sees.
        likelihood: Probability of the event under M.
        other: Probability of the event under M'.
        cap: B_a in nats.
    """

    condition: str
    event: str
    likelihood: Fraction
    other: Fraction
    cap: Fraction


def _chosen(evidence: bool) -> Fraction:  # noqa: FBT001 - which of the two stores
    """Return Pr[v1] by Eq. (7) with the reversed scores of the construction."""
    scores = [0, 1] if evidence else [1, 0]
    return ExponentialMechanism(_EPSILON, 1).probabilities(scores)[1]


def _store_dependent_vocabulary() -> Counterexample:
    law = ExponentialMechanism(_EPSILON, 1).probabilities([0, 1])
    return Counterexample(
        "C1", "the view that only M's vocabulary has", law[1], Fraction(0), _CAP
    )


def _incomplete_charge() -> Counterexample:
    # The ledger of b pays every time and has room; the ledger of a stays at 0.
    return Counterexample(
        "C2",
        f"v1 in each of {_ENOUGH} turns that are charged to b alone",
        _chosen(evidence=True) ** _ENOUGH,
        _chosen(evidence=False) ** _ENOUGH,
        _CAP,
    )


def _deterministic_selection() -> Counterexample:
    return Counterexample(
        "C3", "v1, which has the highest score under M", Fraction(1), Fraction(0), _CAP
    )


def _memory_dependent_control() -> Counterexample:
    return Counterexample(
        "C4/C6",
        "a control signal that says whether M holds evidence",
        Fraction(1),
        Fraction(0),
        _CAP,
    )


def _no_cap() -> Counterexample:
    return Counterexample(
        "C5",
        f"v1 in each of {_ENOUGH} turns, charged to a beyond its cap",
        _chosen(evidence=True) ** _ENOUGH,
        _chosen(evidence=False) ** _ENOUGH,
        _CAP,
    )


_ALL: tuple[Callable[[], Counterexample], ...] = (
    _store_dependent_vocabulary,
    _incomplete_charge,
    _deterministic_selection,
    _memory_dependent_control,
    _no_cap,
)


def counterexamples() -> tuple[Counterexample, ...]:
    """Return one counterexample for every category of Proposition 1."""
    return tuple(build() for build in _ALL)
