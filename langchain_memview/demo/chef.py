"""The embedded chat model: a deterministic cook that follows the system message alone.

It knows the recipe table and the public sentences of the policy. It reads which of
those sentences are in the system message and what the last question asks for; nothing
else reaches an answer, so equal prompts give equal answers. It needs no network, no
key and no weights, and it is no substitute for a language model.

What could hurt somebody must not hang on a noisy draw, so the cook leaves out raw fish,
liver, alcohol and the like for everybody; views only choose among the rest.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from typing_extensions import override

from langchain_memview.demo.menu import Rule, rules_by_sentence, shortlist
from langchain_memview.demo.recipes import Dish, dishes

_MEAL_WORDS = {
    "breakfast": ("breakfast", "morning", "start the day"),
    "lunch": ("lunch", "midday", "noon"),
    "snack": ("snack", "afternoon", "nibble"),
    "dinner": ("dinner", "evening", "supper", "tonight"),
}

_OPENINGS = (
    "My suggestion for {meal}: {dish}.",
    "How about this {meal}: {dish}.",
    "Here is an idea for {meal}: {dish}.",
)

_FIGURES = {
    "kcal": "{:.0f} kcal",
    "carbohydrate": "{:.0f} g carbohydrate",
    "sugar": "{:.0f} g sugar",
    "fibre": "{:.0f} g fibre",
    "protein": "{:.0f} g protein",
    "sodium": "{:.0f} mg sodium",
    "cost": "${:.2f}",
    "minutes": "{} min",
}


class MealChef(BaseChatModel):
    """Composes a meal suggestion from the recipe table, the views and the question."""

    @property
    @override
    def _llm_type(self) -> str:
        return "meal-chef"

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        system = "\n".join(m.text for m in messages if isinstance(m, SystemMessage))
        human = [m.text for m in messages if isinstance(m, HumanMessage)]
        answer = compose(system, human[-1] if human else "")
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage(content=answer))]
        )


def compose(system: str, question: str) -> str:
    """Return a suggestion and an alternative, a function of these two texts.

    Args:
        system: Text of the system message; the rules are the ones of its lines that
            are sentences of the policy, word for word.
        question: The last question; it says which meal, and rotates the choice among
            the dishes that suit equally.
    """
    known = rules_by_sentence()
    lines = [line.strip().removeprefix("- ") for line in system.splitlines()]
    rules = [known[line] for line in dict.fromkeys(lines) if line in known]
    meal = meal_of(question)
    choice = shortlist(menu(meal), rules)
    turn = int.from_bytes(hashlib.sha256(question.encode()).digest()[:6])
    turn, opening = divmod(turn, len(_OPENINGS))
    turn, first = divmod(turn, len(choice))
    second = (first + 1 + turn % (len(choice) - 1)) % len(choice)
    main, other = choice[first], choice[second]
    return " ".join(
        [
            _OPENINGS[opening].format(meal=meal, dish=_described(main, rules)),
            *_merits(main, rules),
            f"Another idea: {_described(other, rules)}.",
        ]
    )


def menu(meal: str) -> list[Dish]:
    """Return the dishes of a meal that the cook offers to anybody at all."""
    return [d for d in dishes() if d.meal == meal and "pregnancy_safe" in d.tags]


def meal_of(question: str) -> str:
    """Return the meal that a question asks for; dinner if it names none."""
    text = question.casefold()
    for meal, words in _MEAL_WORDS.items():
        if any(re.search(rf"\b{word}", text) for word in words):
            return meal
    return "dinner"


def _described(dish: Dish, rules: Sequence[Rule]) -> str:
    asked = {"minutes", *(figure for rule in rules for figure in rule.figures)}
    figures = [
        text.format(getattr(dish, figure))
        for figure, text in _FIGURES.items()
        if figure in asked
    ]
    return f"{dish.name} ({', '.join(figures)})"


def _merits(dish: Dish, rules: Sequence[Rule]) -> list[str]:
    merits = [rule.says for rule in rules if rule.says and rule.follows(dish)]
    if not merits:
        return []
    *others, last = merits
    return [f"It {', '.join(others)} and {last}." if others else f"It {last}."]
