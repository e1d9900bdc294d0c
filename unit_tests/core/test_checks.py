"""`check_policy`: every problem at once, and none where there is none."""

import copy
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.budget import OnlineBudget, PreallocatedBudget
from langchain_memview.core.checks import check_policy
from langchain_memview.core.checks.hints import AttributeNames
from langchain_memview.core.checks.plain import listed, number, shown
from langchain_memview.core.policy import Policy, ProtectedAttribute, ScoreWeights, Slot
from langchain_memview.core.views import View
from langchain_memview.errors import PolicyError


def good() -> dict[str, Any]:
    return {
        "version": 1,
        "name": "shop",
        "layout": {1: "health", 2: "food", 3: "food", 4: "work"},
        "attributes": {
            "diabetes": {"positions": [1, 2], "cap": 2},
            "debt": {"positions": [3], "cap": "4/3"},
        },
        "budget": {"mode": "online", "k": 1},
        "slots": {
            "food": {
                "when": ["dinner"],
                "views": {
                    "generic": "Anything.",
                    "light": {"say": "Light.", "cues": []},
                },
            },
            "health": {"views": {"generic": "As usual.", "slow": "Slow carbs."}},
            "work": {"views": {"generic": "No limit.", "quick": "Quick."}},
        },
    }


def with_(path: str, value: object) -> dict[str, Any]:
    """Return the good document with one value replaced, or deleted if it is `...`."""
    document = good()
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place: Any = document
    for key in parents:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document


def said(document: object) -> list[str]:
    return [str(problem) for problem in check_policy(document)]  # type: ignore[arg-type]


def codes(document: object) -> list[str]:
    return [problem.code for problem in check_policy(document)]  # type: ignore[arg-type]


def test_a_good_policy_has_only_notes() -> None:
    assert codes(good()) == ["MV503"]


# Path, value, and the exact first line and fix of the problem that it makes.
MISTAKES = [
    ("version", 2, "version error[MV109] version 2 is not known; this release reads version 1\n  fix: version: 1"),
    ("version", True, "version error[MV109] version True is not known; this release reads version 1\n  fix: version: 1"),
    ("version", ..., "version error[MV105] missing section 'version'\n  fix: add version: 1"),
    ("name", ..., "name error[MV105] missing section 'name'"),
    ("name", " a", "name error[MV110] ' a' is no name: a name is 1 to 100 printable characters without blanks around it"),
    ("slots.", good()["slots"]["food"], "slots. error[MV110] '' is no name: a name is 1 to 100 printable characters without blanks around it"),
    ("slots.food.views.a\x1b", "Hi.", "slots.food.views.a\x1b error[MV110] 'a\\x1b' is no name: a name is 1 to 100 printable characters without blanks around it"),
    ("attributes", ..., "attributes error[MV105] missing section 'attributes'"),
    ("attributes", {}, "attributes error[MV115] section 'attributes' is empty, so the policy protects nothing"),
    ("slots", {}, "slots error[MV115] section 'slots' is empty, so the policy protects nothing"),
    ("budget", ..., "budget error[MV105] missing section 'budget'\n  fix: add budget: {mode: online, k: 3}"),
    ("scope", "app", "scope error[MV114] scope 'app' is not known\n  fix: use subject (one ledger for all applications) or audience (one for each, which holds only if they do not pool what they see)"),
    ("when_full", "newest", "when_full error[MV114] when_full 'newest' is not known\n  fix: use refuse (a full slot takes no more memories) or oldest (the memory whose last writing is longest ago is replaced)"),
    ("layout", ..., "layout error[MV105] missing section 'layout'\n  fix: add layout: {1: <slot>, 2: <slot>}, or give every slot a capacity"),
    ("layout", {}, "layout error[MV115] section 'layout' has no positions"),
    ("layout.x", "work", "layout.x error[MV111] layout position 'x' is not a whole number from 1\n  fix: number the positions 1, 2, 3, … without gaps"),
    ("layout.0", "work", "layout.0 error[MV111] layout position 0 is not a whole number from 1\n  fix: number the positions 1, 2, 3, … without gaps"),
    ("layout.9", "work", "layout error[MV111] the layout has no position 5, but later ones\n  fix: number the positions 1, 2, 3, … without gaps"),
    ("layout.4", "wrok", "layout.4 error[MV106] position 4 belongs to slot 'wrok', which is not defined under slots\n  fix: did you mean 'work'?"),
    ("layout.4", None, "layout.4 error[MV106] position 4 belongs to slot nothing, which is not defined under slots"),
    ("slots.food.capacity", 3, "slots.food.capacity error[MV112] slot 'food' has capacity 3, but the layout gives it 2 positions\n  fix: delete 'capacity:' (the layout says it) or correct one of them"),
    ("slots.food.capacity", "2", "slots.food.capacity error[MV113] capacity of slot 'food' must be a whole number, got '2'"),
    ("attributes.debt.positions", [], "attributes.debt.positions error[MV302] attribute 'debt' protects no positions, so nothing would ever be charged to it"),
    ("attributes.debt.positions", [3, 5], "attributes.debt.positions.1 error[MV301] attribute 'debt' protects position 5, but the layout has positions 1 to 4"),
    ("attributes.debt.positions", [3, -1], "attributes.debt.positions.1 error[MV301] attribute 'debt' protects position -1, but the layout has positions 1 to 4"),
    ("attributes.debt.positions", [3, "foot"], "attributes.debt.positions.1 error[MV106] attribute 'debt' protects slot 'foot', which is not defined under slots\n  fix: did you mean 'food'?"),
    ("attributes.debt.positions", [3, True], "attributes.debt.positions.1 error[MV308] attribute 'debt' lists True as a position\n  fix: positions are whole numbers; a slot's name stands for all of its own"),
    ("attributes.debt.positions", [3, 3], "attributes.debt.positions.1 warning[MV307] attribute 'debt' lists position 3 twice\n  fix: delete one of them"),
    ("attributes.debt.cap", ..., "attributes.debt.cap error[MV303] attribute 'debt' has no cap; a cap is the whole guarantee\n  fix: start with cap: 2.0 (an observer's odds can change at most 7.4-fold)"),
    ("attributes.debt.cap", 0, "attributes.debt.cap error[MV304] cap of 'debt' is 0: it must be positive\n  fix: to release nothing about it, remove the slots that read its positions"),
    ("attributes.debt.cap", "two", "attributes.debt.cap error[MV304] cap of 'debt' must be a number, got 'two'"),
    ("attributes.debt.cap", True, "attributes.debt.cap error[MV304] cap of 'debt' must be a number, got True"),
    ("attributes.debt.cap", float("nan"), "attributes.debt.cap error[MV304] cap of 'debt' must be a number, got nan"),
    ("attributes.debt.cap", float("inf"), "attributes.debt.cap error[MV304] cap of 'debt' must be a number, got inf"),
    ("attributes.debt.cap", 1e-11, "attributes.debt.cap error[MV304] cap of 'debt' is below 1/9009000000, the ledger's unit\n  fix: start with cap: 2.0"),
    ("attributes.debt.cap", 101, "attributes.debt.cap error[MV306] cap of 'debt' is 101: above 100 it limits nothing\n  fix: caps of 1 to 4 mean something"),
    ("attributes.debt.cap", 5, "attributes.debt.cap warning[MV305] cap 5 lets an observer's odds for 'debt' change 148-fold: a 10 in 100 suspicion can become 94 in 100\n  fix: caps of 1 to 4 keep it between 23 and 86 in 100"),
    ("budget", {}, "budget.mode error[MV405] budget has no mode\n  fix: use online, preallocated or standing"),
    ("budget.mode", "onlin", "budget.mode error[MV405] budget mode 'onlin' is not known\n  fix: did you mean 'online'?"),
    ("budget.mode", "daily", "budget.mode error[MV405] budget mode 'daily' is not known\n  fix: use online, preallocated or standing"),
    ("budget.fallback", "lates", "budget.fallback error[MV414] fallback 'lates' is not known\n  fix: did you mean 'latest'?"),
    ("slots.food.facet", "taste", "slots.food.facet error[MV410] slot 'food' names a facet, which only mode: standing has\n  fix: delete it, or use mode: standing"),
    ("budget", {"mode": "standing", "epochs": "on_write"}, "budget.epochs error[MV409] epochs 'on_write' is no public schedule. A view is drawn again when a schedule that everybody knows says so, or when the subject asks for it, never because a memory changed: a new draw would then reveal the change with certainty (contract C4)\n  fix: use never, {turns: 100, planned: 4}, {days: 30, start: 2026-01-01, planned: 12} or {renewals: 3}"),
    ("budget", {"mode": "standing", "threshold": 0}, "budget.threshold error[MV411] threshold must be a number in (0, 1], got 0\n  fix: delete it (0.5)"),
    ("budget", {"mode": "standing", "top": True}, "budget.top error[MV412] top must be a whole number of at least 1, got True\n  fix: delete it (1)"),
    ("budget", {"mode": "standing", "top": 9}, "budget.top error[MV412] top 9 leaves no view of slot 'food' less likely than the others, so its memory would not count\n  fix: use at most 1"),
    ("budget.k", ..., "budget.k error[MV404] k must be a whole number of at least 1, got nothing\n  fix: k: 3 lets each attribute be charged three times"),
    ("budget.k", 2.5, "budget.k error[MV404] k must be a whole number of at least 1, got 2.5\n  fix: k: 3 lets each attribute be charged three times"),
    ("budget.k", 0, "budget.k error[MV404] k must be a whole number of at least 1, got 0\n  fix: k: 3 lets each attribute be charged three times"),
    ("budget.k", 10**11, "slots.food error[MV408] ε of slot 'food' is below 1/9009000000, the ledger's unit\n  fix: a smaller k or planned count, or a larger cap, makes it positive"),
    ("budget", {"mode": "preallocated", "planned": {"debt": 1}}, "budget.planned.diabetes error[MV406] attribute 'diabetes' has no planned number of charges\n  fix: add diabetes: <how often its slots are expected to be charged>   under planned"),
    ("budget", {"mode": "preallocated", "planned": {"debt": 1, "diabetes": 0}}, "budget.planned.diabetes error[MV404] planned count of 'diabetes' must be a whole number of at least 1, got 0"),
    ("budget", {"mode": "preallocated", "planned": {"debt": 1, "diabetes": 1, "dept": 1}}, "budget.planned.dept error[MV407] planned names 'dept', which is no protected attribute\n  fix: did you mean 'debt'?"),
    ("slots.food.views.generic", ..., "slots.food.views.generic error[MV201] slot 'food' has no 'generic' view; it is what the app gets when a ledger is at its cap, so it must exist\n  fix: add   generic: <one neutral sentence>   as the first view"),
    ("slots.food.views.light", "Keep it under {weekly_budget}.", "slots.food.views.light error[MV202] view 'food.light' contains a placeholder: a view must be the same text for every user (contract C1)\n  fix: write it as a fixed instruction; put user facts in memory, not in views"),
    ("slots.food.views.light", "  ", "slots.food.views.light error[MV214] view 'food.light' says nothing\n  fix: give it one sentence, or delete it"),
    ("slots.food.views.light", {"cues": ["x"]}, "slots.food.views.light error[MV214] view 'food.light' says nothing\n  fix: give it one sentence, or delete it"),
    ("slots.food.views.light", "anything. ", "slots.food.views.light warning[MV207] views 'food.generic' and 'food.light' say the same\n  fix: delete one: a selection between equal texts costs and says nothing"),
    ("slots.food.views.light", "Mind it. They  owe money, you have debts.", "slots.food.views.light warning[MV203] view 'food.light' states the protected attribute 'debt' as a fact (\"They owe …\")\n  fix: say how to answer, not what is true, e.g. \"Give blood-sugar-conscious advice.\""),
    ("slots.food.views", {"generic": "Hi."}, "slots.food warning[MV206] slot 'food' has a single view, so nothing is selected; it is released free of charge"),
    ("slots.food.views", {"generic": "Hi."} | {f"v{i}": f"Say {i}." for i in range(4096)}, "slots.food.views error[MV212] slot 'food' has 4097 views; a selection is among at most 4096\n  fix: split the slot"),
    ("slots.food.views.light.cues", list("carb"), "slots.food.views.light.cues error[MV211] cues is the text 'carb', not a list of words\n  fix: cues=['carb']"),
    ("slots.food.when", ["dinner", " "], "slots.food.when error[MV211] when has a blank word, which is found in every text\n  fix: delete it"),
    ("slots.food.read", {"by": "Similarity"}, "slots.food.read error[MV204] slot 'food' chooses memories by content similarity; which memories are read then depends on their content and the guarantee does not cover it (contract C4)\n  fix: read fixed positions (the default), or register a private retriever and declare its cost"),
    ("slots.food.read", "all", "slots.food.read error[MV209] slot 'food' must read positions, got 'all'\n  fix: delete 'read:' to read all of the slot's own, or list them: read: [1, 2]"),
    ("slots.food.read", [2, "3"], "slots.food.read.1 error[MV209] slot 'food' must read positions, got '3'\n  fix: delete 'read:' to read all of the slot's own, or list them: read: [1, 2]"),
    ("slots.food.read", [2, 9], "slots.food.read.1 error[MV210] slot 'food' reads position 9, but the layout has positions 1 to 4"),
    ("slots.food.read", [], "slots.food warning[MV502] slot 'food' reads no position; it always returns its generic view"),
    ("slots.food.charge", [], "slots.food.charge error[MV205] slot 'food' reads positions of debt, diabetes but charges nothing; leaving out debt, diabetes makes its ledger wrong (contract C2)\n  fix: delete 'charge:' (the right set is derived) or add the missing attributes"),
    ("slots.food.charge", ["debt", "diabetes", "dept"], "slots.food.charge.2 error[MV213] slot 'food' charges 'dept', which is no protected attribute\n  fix: did you mean 'debt'?"),
    ("sensitivity", "much", "sensitivity error[MV403] sensitivity must be a number in (0, 1], got 'much'\n  fix: remove it (derived)"),
    ("sensitivity", 2, "sensitivity error[MV403] sensitivity must be a number in (0, 1], got 2\n  fix: remove it (derived)"),
    ("sensitivity", 0.3, "sensitivity error[MV401] sensitivity 0.3 is below the bound 1 of this scorer (support 1), so each release would cost more than its ε\n  fix: remove it (derived), or set it to 1 or more"),
    ("scorer", {"relevance": 0.4, "compatibility": 0.6}, "scorer.specificity error[MV402] weight of specificity must be a number from 0 to 1, got nothing"),
    ("scorer", {"relevance": -1, "compatibility": 0.6, "specificity": 0}, "scorer.relevance error[MV402] weight of relevance must be a number from 0 to 1, got -1"),
    ("scorer", {"relevance": 0.5, "compatibility": 0.6, "specificity": 0}, "scorer error[MV402] the weights add up to 1.1, so a score could pass 1\n  fix: let them add up to 1 (Eq. 5)"),
    ("scorer", {"relevance": 0.5, "compatibility": 0, "specificity": 0}, "scorer error[MV402] compatibility and specificity add up to 0, so no memory would ever count\n  fix: give them 1/1000 or more together; 0.4 and 0.2 are the paper's"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "text"),
    MISTAKES,
    ids=[f"{i}-{path}" for i, (path, _, _) in enumerate(MISTAKES)],
)
def test_each_mistake_has_one_text_and_a_fix(
    path: str, value: object, text: str
) -> None:
    assert text in said(with_(path, value))


def test_every_mistake_is_reported_in_one_go() -> None:
    document = good()
    document["layout"][4] = "wrok"
    document["attributes"]["debt"]["cap"] = 9
    document["budget"]["k"] = "three"
    del document["slots"]["health"]["views"]["generic"]
    assert codes(document) == ["MV106", "MV201", "MV404", "MV305", "MV206", "MV502"]


def test_the_sensitivity_bound_is_the_sum_of_the_private_weights() -> None:
    document = good() | {
        "scorer": {"relevance": 0.4, "compatibility": 0.4, "specificity": 0.2}
    }
    assert codes(document | {"sensitivity": 0.6}) == codes(document) == ["MV503"]
    assert said(document | {"sensitivity": 0.3})[0] == (
        "sensitivity error[MV401] sensitivity 0.3 is below the bound 0.6 of this scorer "
        "(compatibility 0.4 + specificity 0.2), so each release would cost more than "
        "its ε\n  fix: remove it (derived), or set it to 0.6 or more"
    )
    damaged = {"relevance": 0.4, "compatibility": "?", "specificity": 0.2}
    assert codes(good() | {"scorer": damaged, "sensitivity": 0.1}) == ["MV402", "MV503"]


CALIBRATED = {"model": "minilm", "midpoint": 0.4, "slope": 12}


def test_a_calibration_is_checked_number_by_number() -> None:
    assert codes(good() | {"scorer": CALIBRATED}) == ["MV503"]
    damaged = {"model": " ", "midpoint": 1, "slope": 0, "relevance": 1}
    assert said(good() | {"scorer": damaged})[:4] == [
        "scorer.model error[MV415] model must name an embedding model, got ' '",
        "scorer.midpoint error[MV415] midpoint must be a cosine between -1 and 1, got 1\n"
        "  fix: memview calibrate fits it to examples",
        "scorer.slope error[MV415] slope must be a number above 0 and up to 1000, got 0"
        "\n  fix: memview calibrate fits it to examples",
        "scorer.relevance error[MV402] relevance must be a weight from 0 to below 1, got "
        "1; the rest is the weight of what the memory supports",
    ]
    missing = {"model": 7, "slope": "steep", "relevance": "much"}
    assert codes(good() | {"scorer": missing}).count("MV415") == 3


def test_the_sensitivity_of_an_embedding_scorer_is_the_weight_of_support() -> None:
    scorer = CALIBRATED | {"relevance": 0.3}
    document = good() | {"scorer": scorer, "sensitivity": 0.5}
    assert "below the bound 0.7 of this scorer (support 0.7)" in said(document)[0]
    assert codes(document | {"sensitivity": 0.7}) == ["MV503"]
    broken = good() | {"scorer": CALIBRATED | {"relevance": "?"}, "sensitivity": 0.1}
    assert codes(broken) == ["MV402", "MV503"]


@pytest.mark.parametrize(
    ("support", "code"),
    [
        ("{user} is ill.", "MV202"),
        (" ", "MV214"),
        (7, None),
        ("The user is ill.", None),
    ],
)
def test_a_support_sentence_is_a_public_text(support: object, code: str | None) -> None:
    document = good()
    document["slots"]["food"]["views"]["sweet"] = {"say": "Sweet.", "support": support}
    found = [p.code for p in check_policy(document) if p.path[-1] == "support"]
    assert found == ([code] if code else [])


def test_a_sensitivity_above_the_bound_makes_the_best_view_rarer() -> None:
    document = with_("budget.k", 3) | {
        "scorer": {"relevance": 0.4, "compatibility": 0.4, "specificity": 0.2}
    }
    document["slots"]["food"]["views"]["third"] = "Third."
    document["attributes"]["debt"]["cap"] = 2
    (note,) = [p.text for p in check_policy(document) if p.path[-1] == "food"]
    assert note == (
        "slot 'food': the best of its 3 views is picked 41 in 100 times at ε=0.67 "
        "(chance is 33)"
    )
    document["sensitivity"] = 1
    (note,) = [p.text for p in check_policy(document) if p.path[-1] == "food"]
    assert "38 in 100" in note


def test_capacities_can_stand_for_a_layout() -> None:
    document = with_("layout", ...)
    for slot, capacity in {"food": 1, "health": 2, "work": 1}.items():
        document["slots"][slot]["capacity"] = capacity
    assert codes(document) == ["MV503"]
    document["slots"]["work"]["capacity"] = -1
    assert said(document)[0] == (
        "slots.work.capacity error[MV113] capacity of slot 'work' must be a whole "
        "number, got -1"
    )
    document["slots"]["work"]["capacity"] = 10**12
    assert said(document)[0].startswith(
        "slots error[MV113] the slots have more than 100,000 positions"
    )
    for slot in document["slots"].values():
        slot["capacity"] = 0
    assert said(document)[0] == "slots error[MV115] no slot has a position"


# ------------------------------------------------------------ the omitted-group pitfall


def omitted(document: dict[str, Any]) -> list[str]:
    return [
        problem.text for problem in check_policy(document) if problem.code == "MV208"
    ]


def test_a_cue_that_names_an_attribute_warns_where_its_group_is_not_read() -> None:
    document = with_("slots.work.views.quick", {"say": "Quick.", "cues": ["Diabetic"]})
    assert omitted(document) == [
        "cue 'Diabetic' of slot 'work' points at diabetes, which protects none of the "
        "positions [4] that the slot reads; if they can hint at it, it leaks uncharged "
        "(contract C2)"
    ]
    document["attributes"]["diabetes"]["positions"].append(4)
    assert omitted(document) == []


def test_a_cue_of_a_protected_slot_warns_in_a_slot_that_misses_its_group() -> None:
    document = with_("slots.work.views.quick", {"say": "Quick.", "cues": ["metformin"]})
    document["slots"]["health"]["views"]["slow"] = {
        "say": "Slow.",
        "cues": ["Metformin"],
    }
    (text,) = omitted(document)
    assert "points at diabetes," in text


def test_a_cue_shared_with_a_slot_of_several_attributes_points_at_all_of_them() -> None:
    document = with_("slots.work.views.quick", {"say": "Quick.", "cues": ["gym"]})
    document["slots"]["food"]["views"]["light"] = {"say": "Light.", "cues": ["gym"]}
    (text,) = omitted(document)
    assert "points at debt, diabetes," in text


def test_a_cue_that_only_its_own_attributes_use_is_fine() -> None:
    document = good()
    for slot, view in {"food": "light", "health": "slow"}.items():
        document["slots"][slot]["views"][view] = {
            "say": "So.",
            "cues": ["diabet", "gym"],
        }
    assert omitted(document) == []


def test_over_charging_the_attribute_answers_the_warning() -> None:
    document = with_("slots.work.views.quick", {"say": "Quick.", "cues": ["diabetes"]})
    document["slots"]["work"]["charge"] = ["diabetes"]
    assert codes(document) == []


@pytest.mark.parametrize(
    ("attribute", "text", "named"),
    [
        ("type2_diabetes", "diabetic", True),
        ("type2_diabetes", "diab", True),
        ("type2_diabetes", "type", False),
        ("type2_diabetes", "diary", False),
        ("type2_diabetes", "diabolic", False),
        ("debt", "debts", True),
        ("debt", "deb", False),
        ("gambling", "gamble", True),
    ],
)
def test_a_word_names_an_attribute_by_its_first_letters(
    attribute: str, text: str, *, named: bool
) -> None:
    assert AttributeNames([attribute]).named_in(text) == (
        {attribute} if named else set()
    )


@pytest.mark.parametrize(
    ("say", "is_placeholder"),
    [
        ("Dinners under $20.", False),
        ("Less than 5 % sugar, and 100 % fun.", False),
        ("Keep it < 20 and > 10.", False),
        ("Hello {}.", True),
        ("Hello $name.", True),
        ("Hello %(name)s.", True),
        ("Hello <user name>.", True),
        ("Hello {{ user.name }}.", True),
    ],
)
def test_a_placeholder_is_told_from_a_price(say: str, *, is_placeholder: bool) -> None:
    found = "MV202" in codes(with_("slots.food.views.light", say))
    assert found is is_placeholder


# ------------------------------------------------------------------- damaged documents

KEYS = st.sampled_from(
    [
        "version", "name", "layout", "attributes", "budget", "scorer", "sensitivity",
        "scope", "when_full", "slots", "positions", "cap", "mode", "k", "planned", "when",
        "capacity", "read", "charge", "views", "generic", "say", "cues", "relevance",
        "compatibility", "specificity", "food", "debt",
    ]
)  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["online", "preallocated", "food", "debt", "1e999999999", "2/0"])
    | KEYS
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS | st.integers(0, 5) | LEAVES, inner, max_size=6)
    ),
    max_leaves=30,
)


@given(JSON)
def test_it_never_raises_on_any_document(document: Any) -> None:
    for problem in check_policy(document):
        assert str(problem)
        assert problem.text.isprintable() or "\x1b" in problem.text


@given(st.data())
def test_it_never_raises_when_one_part_of_a_good_policy_is_damaged(data: Any) -> None:
    document = good() | {"sensitivity": 1, "scorer": {"relevance": 0.4}}
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(place, key=str)))
        if (
            not isinstance(place[key], dict)
            or not place[key]
            or data.draw(st.booleans())
        ):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    before = copy.deepcopy(document)
    assert all(str(problem) for problem in check_policy(document))
    assert repr(document) == repr(before)


@pytest.mark.parametrize(
    "path",
    ["version", "name", "layout.4", "budget.k", "attributes.debt.cap", "slots.food.read",
     "slots.food.capacity", "sensitivity", "scope", "when_full"],
)  # fmt: skip
def test_it_never_raises_on_numbers_that_python_cannot_spell(path: str) -> None:
    for value in (10**5000, [10**5000], -(10**5000)):
        assert all(str(problem) for problem in check_policy(with_(path, value)))
    document = with_("layout", {10**5000: "food", 1: "food"})
    document["attributes"]["debt"]["positions"] = [10**5000, 10**5001]
    assert any("thousands of digits" in line for line in said(document))


@pytest.mark.parametrize(
    "path",
    ["attributes.debt", "attributes.debt.positions", "slots.food", "slots.food.views",
     "slots.food.when", "layout", "budget", "scorer"],
)  # fmt: skip
def test_a_part_of_the_wrong_type_is_left_to_the_loader(path: str) -> None:
    errors = [p for p in check_policy(with_(path, "text")) if p.level == "error"]
    assert errors == []


def test_planned_counts_of_the_wrong_type_are_left_to_the_loader() -> None:
    document = with_("budget", {"mode": "preallocated", "planned": [1]})
    assert [p for p in check_policy(document) if p.level == "error"] == []


def test_slots_of_the_wrong_type_do_not_count_as_slots_without_capacity() -> None:
    document = with_("layout", ...)
    document["slots"] = {
        "food": "text",
        "work": {"capacity": 4, "views": {"generic": "Hi."}},
    }
    assert codes(document) == ["MV206"]


@pytest.mark.parametrize("value", [None, 5, "text", [], [1], {}])
def test_a_document_of_another_shape_only_misses_its_sections(value: object) -> None:
    assert set(codes(value)) == {"MV105"}


# ------------------------------------------------------------------ no false errors


@st.composite
def policies(draw: Any) -> Policy:
    slots = draw(
        st.lists(st.text("abcde", min_size=1, max_size=5), min_size=1, unique=True)
    )
    layout = dict(enumerate(slots + draw(st.lists(st.sampled_from(slots))), 1))
    positions = st.sampled_from([*layout, *slots])
    names = draw(
        st.lists(st.text("xyz", min_size=1, max_size=9), min_size=1, unique=True)
    )
    attributes = {
        name: ProtectedAttribute(
            draw(st.lists(positions, min_size=1, max_size=4)),
            draw(
                st.sampled_from(
                    [1, 2.0, "2/3", Decimal("0.5"), Fraction(9, 7), 0.000001]
                )
            ),
        )
        for name in names
    }
    vocabulary = {"generic": "Any."} | {
        name: View(f"Say {name}.", ["cue", "another"])
        for name in draw(st.lists(st.sampled_from(["p", "q", "r"]), unique=True))
    }
    counts = st.integers(1, 500)
    return Policy(
        name=draw(st.text("abc", min_size=1)),
        attributes=attributes,
        slots=[Slot(name, when=["word"], views=vocabulary) for name in slots],
        budget=draw(
            st.builds(OnlineBudget, counts)
            | st.builds(
                PreallocatedBudget, st.fixed_dictionaries(dict.fromkeys(names, counts))
            )
        ),
        layout=layout,
        scorer=draw(st.sampled_from([None, ScoreWeights(), ScoreWeights(0, 1, 0)])),
        sensitivity=draw(st.sampled_from([None, 1])),
        scope=draw(st.sampled_from(["subject", "audience"])),
        when_full=draw(st.sampled_from(["refuse", "oldest"])),
    )


@given(policies())
def test_a_valid_policy_has_no_errors_and_neither_has_its_normal_form(
    policy: Policy,
) -> None:
    assert not [p for p in check_policy(policy.document()) if p.level == "error"]


def test_two_slots_of_one_name_are_refused() -> None:
    slots = [Slot("food", views={"generic": "Any."}, capacity=1)] * 2
    attributes = {"debt": ProtectedAttribute([1], 1)}
    with pytest.raises(PolicyError, match=r"slot 'food' is defined twice"):
        Policy("p", attributes, slots, OnlineBudget(1))


# ------------------------------------------------------------------------ plain values


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (2, Fraction(2)),
        (0.1, Fraction(1, 10)),
        ("2/3", Fraction(2, 3)),
        (".5", Fraction(1, 2)),
        (Decimal("1e-3"), Fraction(1, 1000)),
        ("1e999999999", None),
        ("2/0", None),
        ("", None),
        (True, None),
        pytest.param(10**5000, None, id="huge"),
        ([], None),
    ],
)
def test_a_number_is_read_exactly_or_not_at_all(
    value: object, exact: Fraction | None
) -> None:
    assert number(value) == exact


def test_values_are_shown_short_quoted_and_on_one_line() -> None:
    assert shown("a\n\x1b[31m") == r"'a\n\x1b[31m'"
    assert shown("x" * 100) == "'" + "x" * 58 + "…"
    assert shown(Fraction(2, 3)) == "2/3"
    assert shown(10**5000) == "a number of thousands of digits"
    assert listed(["b", "it's", "a"]) == "a, b, it's"
