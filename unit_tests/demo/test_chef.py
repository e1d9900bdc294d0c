"""The embedded cook follows every view of the policy, and nothing but the prompt."""

from statistics import median

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langchain_memview.demo.chef import MealChef, compose, meal_of, menu
from langchain_memview.demo.menu import RULES, rules_by_sentence, shortlist
from langchain_memview.demo.policy import LABELS, meal_policy
from langchain_memview.demo.recipes import MEALS, dishes
from langchain_memview.graph.prompt import views_text

QUESTIONS = tuple(f"Any idea number {n}?" for n in range(12))

EVERY_VIEW = [
    (slot.name, view)
    for slot in meal_policy().slots
    for view in slot.vocabulary.values()
]

FOLLOWS = {
    "steady_energy": lambda dish: dish.sugar <= 8 and dish.carbohydrate <= 45,
    "less_salt": lambda dish: dish.sodium <= 350,
    "lower_sugar": lambda dish: dish.sugar < DINNER_SUGAR,
    "high_protein": lambda dish: dish.protein >= 25,
    "comfort": lambda dish: "comfort" in dish.tags,
    "strict_budget": lambda dish: dish.cost <= 1.60,
    "quick": lambda dish: dish.minutes < 25,
    "unhurried": lambda dish: dish.minutes >= 35,
    "on_the_dot": lambda dish: dish.minutes <= 20,
    "ahead": lambda dish: "batch" in dish.tags,
    "iron_rich": lambda dish: "iron_rich" in dish.tags,
    "one_pot": lambda dish: "one_pot" in dish.tags,
}
DINNER_SUGAR = median(dish.sugar for dish in menu("dinner"))


def system(*sentences):
    return "\n".join(["You plan meals.", "", "How to answer:", *sentences])


def suggested(answer):
    """Return the suggested dish and the alternative."""
    places = {answer.find(dish.name): dish for dish in dishes() if dish.name in answer}
    first, second = (places[place] for place in sorted(places))
    return first, second


def test_every_view_of_the_policy_has_a_rule_and_every_rule_a_view():
    assert set(RULES) == {(slot, view.name) for slot, view in EVERY_VIEW}
    assert len(rules_by_sentence()) == len(EVERY_VIEW)


def test_every_view_that_is_not_generic_is_checked_here():
    assert set(FOLLOWS) == {v.name for _, v in EVERY_VIEW if v.name != "generic"}


@pytest.mark.parametrize("name", FOLLOWS)
def test_a_dinner_under_a_view_does_what_the_view_asks(name):
    say = next(view.say for _, view in EVERY_VIEW if view.name == name)
    for question in QUESTIONS:
        for dish in suggested(compose(system(f"- {say}"), question)):
            assert dish.meal == "dinner"
            assert FOLLOWS[name](dish)


@pytest.mark.parametrize("name", FOLLOWS)
def test_without_the_view_some_dinner_does_not_do_that(name):
    assert any(not FOLLOWS[name](dish) for dish in menu("dinner"))


@pytest.mark.parametrize("meal", MEALS)
@pytest.mark.parametrize(("slot", "view"), EVERY_VIEW, ids=str)
def test_there_is_a_suggestion_and_another_for_every_view_and_meal(slot, view, meal):
    best, other, *_ = shortlist(menu(meal), [RULES[slot, view.name]])
    assert best != other


def test_several_views_are_followed_together_where_a_dish_can():
    prompt = system("- Keep the meal very cheap.", "- Favour iron-rich dishes.")
    for question in QUESTIONS:
        for dish in suggested(compose(prompt, question)):
            assert dish.cost <= 1.60
            assert "iron_rich" in dish.tags


def test_a_dish_that_follows_more_views_comes_before_one_that_follows_fewer():
    rules = [RULES["finance", "strict_budget"], RULES["work", "quick"]]
    both = [d for d in menu("dinner") if d.cost <= 1.60 and d.minutes < 25]
    assert len(both) == 1  # too few for a choice, so the next best joins
    assert shortlist(menu("dinner"), rules)[0] == both[0]


def test_the_figures_that_a_view_is_about_are_given():
    answer = compose(system("- Favour lower-sugar, higher-fibre dishes."), "Dinner?")
    assert " g carbohydrate, " in answer
    assert " g sugar, " in answer
    assert " g fibre, " in answer
    assert "$" not in answer
    assert "$" in compose(system("- Keep the meal very cheap."), "Dinner?")


def test_a_sentence_counts_word_for_word_only():
    neutral = compose(system(), "Dinner?")
    assert compose(system("- keep the meal very cheap"), "Dinner?") == neutral
    assert compose(system("- The user has debts."), "Dinner?") == neutral
    assert compose(system("- Keep the meal very cheap."), "Dinner?") != neutral


def test_the_system_message_and_the_last_question_decide_alone():
    ask = [SystemMessage(system("- Go easy on salt.")), HumanMessage("A snack?")]
    before = [HumanMessage("I am ill."), AIMessage("Favour iron-rich dishes.")]
    chef = MealChef()
    alone = chef.invoke(ask).text
    assert chef.invoke([ask[0], *before, ask[1]]).text == alone
    assert chef.invoke(ask).text == alone == MealChef().invoke(ask).text


def test_no_question_at_all_is_answered_too():
    assert suggested(MealChef().invoke([SystemMessage("Hi")]).text)


def test_different_questions_get_different_dishes():
    prompt = system("- Suggest broadly appealing dishes.")
    mains = {suggested(compose(prompt, question))[0] for question in QUESTIONS}
    assert len(mains) >= 4


def test_an_answer_names_no_diagnosis_whatever_the_views():
    prompt = views_text(dict(reversed(EVERY_VIEW)))
    for view in [*(view.say for _, view in EVERY_VIEW), prompt]:
        answer = compose(system(f"- {view}"), "Dinner?").casefold()
        for label in LABELS.values():
            assert label not in answer
        assert "diabet" not in answer


def test_nobody_is_offered_what_could_hurt_somebody():
    offered = {dish for meal in MEALS for dish in menu(meal)}
    assert all("no_alcohol" in dish.tags for dish in offered)
    assert not any("Smoked salmon" in dish.name for dish in offered)


@pytest.mark.parametrize(
    ("question", "meal"),
    [
        ("What would be a healthy way to start the day?", "breakfast"),
        ("A cheap lunch, please", "lunch"),
        ("What keeps me going in the afternoon?", "snack"),
        ("Something for tonight", "dinner"),
        ("Surprise me", "dinner"),
    ],
)
def test_the_question_says_which_meal(question, meal):
    assert meal_of(question) == meal
