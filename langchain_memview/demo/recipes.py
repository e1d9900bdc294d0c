"""The recipe table: 72 dishes with figures per serving, computed from ingredients.

`data/ingredients.csv` holds public-domain facts of the USDA National Nutrient Database
(SR28) per 100 g, beside invented prices in dollars; `data/dishes.csv` holds invented
dishes with grams per serving. Nothing here knows a user.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

MEALS = ("breakfast", "lunch", "dinner", "snack")


@dataclass(frozen=True)
class Portion:
    """An ingredient of one serving.

    Attributes:
        ingredient: Its id in the ingredient table.
        grams: How much of it one serving takes.
    """

    ingredient: str
    grams: float


@dataclass(frozen=True)
class Dish:
    """A dish of the table; every figure is for one serving.

    Attributes:
        name: What the dish is called.
        meal: One of `MEALS`.
        minutes: Time from start to table.
        tags: What the dish is, for example `vegetarian` or `one_pot`.
        portions: Its ingredients.
        kcal: Energy in kilocalories.
        carbohydrate: In grams, sugar and fibre included.
        fibre: In grams.
        sugar: In grams.
        protein: In grams.
        sodium: In milligrams.
        cost: In dollars, from invented prices.
    """

    name: str
    meal: str
    minutes: int
    tags: frozenset[str]
    portions: tuple[Portion, ...]
    kcal: float
    carbohydrate: float
    fibre: float
    sugar: float
    protein: float
    sodium: float
    cost: float


_COLUMNS = {
    "kcal": "kcal",
    "carbohydrate": "carb_g",
    "fibre": "fiber_g",
    "sugar": "sugar_g",
    "protein": "protein_g",
    "sodium": "sodium_mg",
    "cost": "price",
}


@lru_cache(maxsize=1)
def dishes() -> tuple[Dish, ...]:
    """Return all dishes in the order of the table."""
    per_100_g = {row["ingredient"]: row for row in rows("ingredients.csv")}
    return tuple(_dish(row, per_100_g) for row in rows("dishes.csv"))


def rows(table: str) -> Iterator[dict[str, str]]:
    """Return the rows of a table of `data/`, as texts by column.

    Args:
        table: File name, `ingredients.csv` or `dishes.csv`.
    """
    text = (files("langchain_memview.demo") / "data" / table).read_text("utf-8")
    return iter(csv.DictReader(text.splitlines()))


def _dish(row: dict[str, str], per_100_g: dict[str, dict[str, str]]) -> Dish:
    portions = tuple(
        Portion(ingredient, float(grams))
        for ingredient, grams in (p.split(":") for p in row["ingredients"].split(";"))
    )
    # Rounding takes away what the order of a float sum adds, not a digit of the facts.
    figures = {
        figure: round(
            sum(float(per_100_g[p.ingredient][c]) * p.grams / 100 for p in portions), 6
        )
        for figure, c in _COLUMNS.items()
    }
    return Dish(
        row["dish"],
        row["meal"],
        int(row["minutes"]),
        frozenset(row["tags"].split()),
        portions,
        **figures,
    )
