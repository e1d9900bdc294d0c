"""The meal planner's policy: six slots, four protected attributes, the paper's caps.

Every view is a way to answer that does no harm to anybody, so an odd draw now and then
is only an odd meal. Its sentence is all that the chat model is ever told.
"""

from functools import lru_cache

from langchain_memview.core.budget import OnlineBudget
from langchain_memview.core.policy import Policy, ProtectedAttribute, Slot
from langchain_memview.core.views import View

LABELS = {
    "type2_diabetes": "type 2 diabetes",
    "pregnancy": "pregnancy",
    "severe_debt": "severe debt",
    "job_loss": "job loss",
}
"""What the screen calls the attributes."""


@lru_cache(maxsize=1)
def meal_policy() -> Policy:
    """Return the policy: 28 positions, caps of 2 nats, three charges for each cap."""
    return Policy(
        name="meal-planner",
        attributes={
            # Position 8 hints at two attributes, so it is in both groups.
            "type2_diabetes": ProtectedAttribute([1, 2, 3, 7, 8], cap=2),
            "pregnancy": ProtectedAttribute([5, 6, 27, 28], cap=2),
            "severe_debt": ProtectedAttribute([8, 13, 14, 15, 16], cap=2),
            "job_loss": ProtectedAttribute([18, 19, 20, 21], cap=2),
        },
        budget=OnlineBudget(3),
        slots=[_health(), _food(), _finance(), _work(), _schedule(), _household()],
    )


def _health() -> Slot:
    return Slot(
        "health",
        when=["healthy", "energy", "feel", "wellbeing"],
        capacity=6,
        # Its views do not ask about positions 5 and 6; to read them would charge one
        # more attribute for nothing.
        read=[1, 2, 3, 4],
        views={
            "generic": "Give general healthy-eating advice.",
            "steady_energy": View(
                "Favour slow-release carbohydrates and little sugar.",
                cues=["diabet", "metformin", "glucose", "blood sugar"],
            ),
            "less_salt": View(
                "Go easy on salt.",
                cues=["blood pressure", "hypertension", "heart"],
            ),
        },
    )


def _food() -> Slot:
    return Slot(
        "food",
        when=["dinner", "lunch", "breakfast", "snack", "meal", "dish"],
        capacity=6,
        views={
            "generic": "Suggest broadly appealing dishes.",
            "lower_sugar": View(
                "Favour lower-sugar, higher-fibre dishes.",
                cues=["carb", "sugar", "diabet"],
            ),
            "high_protein": View(
                "Favour high-protein dishes.", cues=["protein", "gym", "muscle"]
            ),
            "comfort": View(
                "Favour familiar comfort dishes.", cues=["childhood", "comfort"]
            ),
        },
    )


def _finance() -> Slot:
    return Slot(
        "finance",
        when=["affordable", "cheap", "budget", "grocery", "cost"],
        capacity=5,
        # Two views only: the fewer there are, the more often the best one is drawn.
        views={
            "generic": "Assume an ordinary grocery budget.",
            "strict_budget": View(
                "Keep the meal very cheap.",
                cues=["owe", "loan", "debt", "minimum", "overdue"],
            ),
        },
    )


def _work() -> Slot:
    return Slot(
        "work",
        when=["work", "office", "working day"],
        capacity=4,
        views={
            "generic": "Assume an ordinary working day.",
            "quick": View(
                "Keep the cooking under 25 minutes.",
                cues=["overtime", "commute", "deadline"],
            ),
            "unhurried": View(
                "Slow cooking is fine.",
                cues=["unemploy", "let me go", "laid off", "at home"],
            ),
        },
    )


def _schedule() -> Slot:
    return Slot(
        "schedule",
        when=["sunday", "saturday", "weekend", "cook ahead", "prepare ahead"],
        capacity=4,
        views={
            "generic": "Assume no particular schedule.",
            "on_the_dot": View(
                "Have it on the table within 20 minutes.", cues=["hungry", "late"]
            ),
            "ahead": View(
                "Favour dishes that can be cooked ahead.", cues=["freezer", "batch"]
            ),
        },
    )


def _household() -> Slot:
    return Slot(
        "household",
        when=["household", "family", "kitchen", "all of us"],
        capacity=3,
        # It is charged to pregnancy anyway, so the two health positions that speak for
        # one of its views cost nothing more.
        read=[5, 6, 26, 27, 28],
        views={
            "generic": "Assume an ordinary home kitchen.",
            "iron_rich": View(
                "Favour iron-rich dishes.",
                cues=["pregnan", "midwife", "nursery", "crib"],
            ),
            "one_pot": View(
                "Favour one-pot dishes with little washing-up.",
                cues=["stove", "hob", "dishwasher"],
            ),
        },
    )
