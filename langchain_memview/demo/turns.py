"""What came of a question, as plain values that a terminal or a page can show."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from langchain_memview.core.ledger import Balance
from langchain_memview.core.policy import Policy
from langchain_memview.core.release import SlotRelease
from langchain_memview.demo.policy import LABELS
from langchain_memview.demo.tour import FIGURE_2_QUESTION


@dataclass(frozen=True)
class SlotLine:
    """What one slot released at a turn, with the reason; all of it is public.

    Attributes:
        slot: Name of the slot.
        view: Name of the released view.
        say: The sentence that the chat model was given.
        outcome: How the view came about.
        charged: Attributes that were charged.
        epsilon: The charge to each of them, in nats.
        blocked_by: Attributes whose cap forbade a selection.
    """

    slot: str
    view: str
    say: str
    outcome: str
    charged: tuple[str, ...]
    epsilon: Fraction
    blocked_by: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy, release: SlotRelease) -> "SlotLine":
        """Return the line of a recorded release."""
        view = policy.slots_by_name[release.slot].vocabulary[release.view]
        return cls(
            release.slot,
            view.name,
            view.say,
            release.outcome,
            release.charged,
            release.epsilon,
            release.blocked_by,
        )

    @property
    def reason(self) -> str:
        """Return why this view was released, in words."""
        if self.blocked_by:
            caps = "its cap" if len(self.blocked_by) == 1 else "their caps"
            return (
                f"Capped: {_labels(self.blocked_by)} would pass {caps}, so the "
                "generic view is used"
            )
        if self.charged:
            return f"Charged {self.epsilon} to {_labels(self.charged)}"
        return "Free: no protected attribute is read"


@dataclass(frozen=True)
class Turn:
    """One question and all that came of it.

    Attributes:
        question: What the app asked.
        slots: What every active slot released; empty when none was active.
        answer: What the chat model answered.
        balances: Attribute to spent and cap after the turn.
    """

    question: str
    slots: tuple[SlotLine, ...]
    answer: str
    balances: Mapping[str, Balance]

    @property
    def is_figure_2(self) -> bool:
        """Return whether the turn came out as the running example of the paper."""
        facts = [(s.slot, s.view, s.charged, s.blocked_by) for s in self.slots]
        return self.question == FIGURE_2_QUESTION and facts == [
            ("food", "generic", (), ("type2_diabetes",)),
            ("finance", "strict_budget", ("severe_debt",), ()),
        ]


def document(turns: Iterable[Turn], model: str, seed: int | None) -> dict[str, Any]:
    """Return the turns as plain data of schema `memview.demo/1`.

    Args:
        turns: The turns, in order.
        model: Name of the chat model.
        seed: Seed of the draws, or None for real coins.
    """
    return {
        "schema": "memview.demo/1",
        "model": model,
        "seed": seed,
        "turns": [
            {
                "turn": number,
                "question": turn.question,
                "figure_2": turn.is_figure_2,
                "slots": [
                    {
                        "slot": line.slot,
                        "view": line.view,
                        "say": line.say,
                        "outcome": line.outcome,
                        "reason": line.reason,
                        "charged": list(line.charged),
                        "epsilon": str(line.epsilon),
                        "blocked_by": list(line.blocked_by),
                    }
                    for line in turn.slots
                ],
                "answer": turn.answer,
                "ledgers": {
                    name: {
                        "spent": str(balance.spent),
                        "spent_float": round(float(balance.spent), 6),
                        "cap": str(balance.cap),
                    }
                    for name, balance in turn.balances.items()
                },
            }
            for number, turn in enumerate(turns, 1)
        ],
    }


def _labels(attributes: tuple[str, ...]) -> str:
    return ", ".join(LABELS[name] for name in attributes)
