"""The recipe table keeps its own rules: figures decide tags, contents decide classes."""

import re
from collections import Counter

import pytest

from langchain_memview.demo.recipes import MEALS, Dish, dishes, rows

FISH = {
    "salmon",
    "smoked_salmon",
    "cod",
    "trout",
    "tuna_canned",
    "sardines_canned",
    "shrimp",
    "scallops",
    "mussels",
    "crab_cooked",
}
MEAT = {
    "beef_sirloin",
    "beef_tenderloin",
    "beef_chuck",
    "pork_tenderloin",
    "ham",
    "lamb_ground",
}
POULTRY = {
    "chicken_breast",
    "chicken_thigh",
    "chicken_liver",
    "turkey_ground",
    "duck_meat",
}
NOT_VEGAN = {
    "egg",
    "milk",
    "yogurt_greek",
    "yogurt_fruit",
    "cottage_cheese",
    "feta",
    "cheddar",
    "mozzarella",
    "brie",
    "hard_cheese_italian",
    "cream_cheese",
    "butter",
    "cream_heavy",
    "honey",
    "mayonnaise",
    "granola",
    "pancakes_ready",
    "waffles_plain",
    "egg_noodles_dry",
    "hazelnut_spread",
    "dark_chocolate",
}
ALCOHOL = {"wine_red", "wine_white"}
NOT_IN_PREGNANCY = {"smoked_salmon", "brie", "ham", "chicken_liver"} | ALCOHOL
SERVED_RARE = re.compile(r"\b(pink|rosy|rare|soft-yolk)\b", re.IGNORECASE)
COOKED_IN_THE_TIN = {"tuna_canned", "sardines_canned", "crab_cooked"}

every_dish = pytest.mark.parametrize("dish", dishes(), ids=lambda dish: dish.name)


def contents(dish: Dish) -> set[str]:
    return {portion.ingredient for portion in dish.portions}


@every_dish
def test_the_figures_of_a_dish_decide_its_tags(dish):
    expected = {
        "quick": dish.minutes <= 20,
        "budget": dish.cost <= 1.60,
        "premium": dish.cost >= 4.00,
        "high_protein": dish.protein >= 25,
        "low_sugar": dish.sugar <= 8 and dish.carbohydrate <= 45,
        "low_sodium": dish.sodium <= 350,
        "high_fiber": dish.fibre >= 8,
    }
    assert {tag: tag in dish.tags for tag in expected} == expected
    assert "light" not in dish.tags or dish.kcal <= 500


@every_dish
def test_the_ingredients_of_a_dish_decide_its_classes(dish):
    ids = contents(dish)
    flesh = ids & (FISH | MEAT | POULTRY)
    expected = {
        "fish": bool(ids & FISH),
        "meat": bool(ids & MEAT),
        "poultry": bool(ids & POULTRY),
        "vegetarian": not flesh,
        "vegan": not flesh and not ids & NOT_VEGAN,
        "no_alcohol": not ids & ALCOHOL,
    }
    assert {tag: tag in dish.tags for tag in expected} == expected


@every_dish
def test_a_dish_called_safe_holds_nothing_raw_mouldy_or_alcoholic(dish):
    if "pregnancy_safe" not in dish.tags:
        return
    ids = contents(dish)
    assert not ids & NOT_IN_PREGNANCY
    assert not SERVED_RARE.search(dish.name)
    if "no_cook" in dish.tags:
        raw = (FISH | MEAT | POULTRY | {"egg"}) - COOKED_IN_THE_TIN
        assert not ids & raw


@every_dish
def test_a_serving_is_a_plausible_amount_of_food(dish):
    low, high = (100, 350) if dish.meal == "snack" else (250, 800)
    assert low <= dish.kcal <= high
    assert 4 <= len(dish.portions) == len(contents(dish)) <= 9
    assert dish.sugar + dish.fibre <= dish.carbohydrate + 0.5


def test_every_meal_has_choice_and_no_name_comes_twice():
    assert len(dishes()) == len({dish.name.casefold() for dish in dishes()}) == 72
    assert set(Counter(dish.meal for dish in dishes())) == set(MEALS)
    assert min(Counter(dish.meal for dish in dishes()).values()) >= 8


def test_every_ingredient_is_used_and_known():
    known = {row["ingredient"] for row in rows("ingredients.csv")}
    assert known == set().union(*(contents(dish) for dish in dishes()))


def test_figures_are_sums_over_the_portions():
    porridge = next(dish for dish in dishes() if "oat porridge" in dish.name)
    # oats 50 g, milk 220 g, apple 80 g, almonds 15 g
    table = {row["ingredient"]: row for row in rows("ingredients.csv")}
    grams = {"oats_rolled": 50, "milk": 220, "apple": 80, "almonds": 15}
    sugar = sum(float(table[i]["sugar_g"]) * g / 100 for i, g in grams.items())
    cost = sum(float(table[i]["price"]) * g / 100 for i, g in grams.items())
    assert porridge.sugar == pytest.approx(sugar)
    assert porridge.cost == pytest.approx(cost)
