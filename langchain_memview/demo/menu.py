"""What each view means for a dish: the composer's reading of the public sentences.

A rule says which dishes follow the view, which of those come first, what to say about
them and which figures to give. With several views a dish is judged by how many of them
it follows, then by how well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from langchain_memview.demo.policy import meal_policy
from langchain_memview.demo.recipes import Dish

SHORTLIST = 6
"""How many of the best dishes the questions rotate among."""


@dataclass(frozen=True)
class Rule:
    """How one view chooses among dishes.

    Attributes:
        follows: Whether a dish does what the view asks.
        cost: What to keep small among the dishes that do.
        says: What may be said of such a dish, after "It …"; may be empty.
        figures: Names of the figures that the answer gives beside the minutes.
    """

    follows: Callable[[Dish], bool]
    cost: Callable[[Dish], float]
    says: str = ""
    figures: tuple[str, ...] = ()


def _tagged(tag: str) -> Callable[[Dish], bool]:
    return lambda dish: tag in dish.tags


def _any(_: Dish) -> bool:
    return True


def _alike(_: Dish) -> float:
    return 0.0


def _sugar_before_fibre(dish: Dish) -> float:
    return dish.sugar - dish.fibre


RULES: Mapping[tuple[str, str], Rule] = {
    ("health", "generic"): Rule(
        lambda dish: dish.fibre >= 5 and dish.kcal <= 600,
        lambda dish: -dish.fibre,
        "brings fibre at moderate energy",
        ("kcal", "fibre"),
    ),
    ("health", "steady_energy"): Rule(
        _tagged("low_sugar"),
        _sugar_before_fibre,
        "gives its energy slowly",
        ("carbohydrate", "sugar"),
    ),
    ("health", "less_salt"): Rule(
        _tagged("low_sodium"),
        lambda dish: dish.sodium,
        "is low in salt",
        ("sodium",),
    ),
    ("food", "generic"): Rule(_tagged("family"), _alike, "pleases most people"),
    ("food", "lower_sugar"): Rule(
        lambda dish: dish.sugar <= 8,
        _sugar_before_fibre,
        "keeps sugar low",
        ("carbohydrate", "sugar", "fibre"),
    ),
    ("food", "high_protein"): Rule(
        _tagged("high_protein"),
        lambda dish: -dish.protein,
        "is rich in protein",
        ("protein",),
    ),
    ("food", "comfort"): Rule(_tagged("comfort"), _alike, "is a familiar comfort"),
    ("finance", "generic"): Rule(lambda dish: dish.cost < 4, _alike, figures=("cost",)),
    ("finance", "strict_budget"): Rule(
        _tagged("budget"), lambda dish: dish.cost, "costs very little", ("cost",)
    ),
    ("work", "generic"): Rule(lambda dish: dish.minutes <= 45, _alike),
    ("work", "quick"): Rule(
        lambda dish: dish.minutes < 25,
        lambda dish: dish.minutes,
        "cooks quickly",
    ),
    ("work", "unhurried"): Rule(
        lambda dish: dish.minutes >= 35, _alike, "rewards a little time"
    ),
    ("schedule", "generic"): Rule(_any, _alike),
    ("schedule", "on_the_dot"): Rule(
        _tagged("quick"),
        lambda dish: dish.minutes,
        "is ready within 20 minutes",
    ),
    ("schedule", "ahead"): Rule(_tagged("batch"), _alike, "can be cooked ahead"),
    ("household", "generic"): Rule(_any, _alike),
    ("household", "iron_rich"): Rule(_tagged("iron_rich"), _alike, "is rich in iron"),
    ("household", "one_pot"): Rule(_tagged("one_pot"), _alike, "needs a single pot"),
}
"""Slot and view name to the rule of the view."""


@lru_cache(maxsize=1)
def rules_by_sentence() -> Mapping[str, Rule]:
    """Return the rule of every public sentence of the policy."""
    return {
        view.say: RULES[slot.name, name]
        for slot in meal_policy().slots
        for name, view in slot.vocabulary.items()
    }


def shortlist(dishes: Sequence[Dish], rules: Sequence[Rule]) -> list[Dish]:
    """Return at least two dishes that follow the most rules, the best first.

    Args:
        dishes: The dishes of the meal, at least two.
        rules: The rules of the released views; without any, every dish is as good.
    """
    if not rules:
        return list(dishes)
    followed = {dish: sum(rule.follows(dish) for rule in rules) for dish in dishes}
    places = {
        dish: sum(sum(rule.cost(o) < rule.cost(dish) for o in dishes) for rule in rules)
        for dish in dishes
    }
    best = sorted(dishes, key=lambda d: (-followed[d], places[d], d.name))
    most = followed[best[0]]
    alike = [dish for dish in best if followed[dish] == most]
    return alike[:SHORTLIST] if len(alike) > 1 else best[:2]
