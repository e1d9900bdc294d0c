"""The tables of `memview policy show`."""

from rich.console import Console
from rich.text import Text

from langchain_memview._cli.output import console, print_table, table
from langchain_memview._cli.policy_facts import (
    AttributeFacts,
    SlotFacts,
    attribute_facts,
    slot_facts,
)
from langchain_memview.core.budget import OnlineBudget, StandingBudget
from langchain_memview.core.guarantees import in_100
from langchain_memview.core.policy import Policy


def print_tables(policy: Policy) -> None:
    """Print what a policy promises, what its budget buys and what is protected.

    Args:
        policy: The policy.
    """
    on = console()
    match policy.budget:
        case OnlineBudget(granularity):
            budget = f"online budget, k={granularity}"
        case StandingBudget(epochs):
            count = epochs.planned
            budget = f"standing budget, {count} epoch{'' if count == 1 else 's'}"
        case _:
            budget = "preallocated budget"
    sizes = ", ".join(
        f"{count} {what}{'' if count == 1 else 's'}"
        for count, what in (
            (len(policy.positions), "position"),
            (len(policy.slots), "slot"),
            (len(policy.attributes), "protected attribute"),
        )
    )
    on.print(Text(f"{policy.name}  {sizes}, {budget}"), soft_wrap=True)
    _attributes(on, policy)
    _slots(on, policy)
    _positions(on, policy)


def _attributes(on: Console, policy: Policy) -> None:
    made = table(
        ("Attribute", "left"),
        ("Positions", "left"),
        ("Cap", "right"),
        ("Releases", "right"),
        ("Odds change at most", "right"),
        ("A 10 in 100 suspicion stays\nwithin", "left"),
    )
    for fact in attribute_facts(policy):
        low, high = fact.suspicion
        made.add_row(
            _words(fact.name),
            _numbers(fact.positions),
            f"{float(fact.cap):.1f}"
            if fact.cap * 10 % 1 == 0
            else f"{float(fact.cap):.3g}",
            _releases(fact),
            f"{fact.odds:,.1f}×",
            f"{in_100(low)} to {in_100(high)} in 100",
        )
    print_table(on, "Protected attributes", made)


def _releases(fact: AttributeFacts) -> str:
    if fact.releases is None:
        return "none"
    low, high = fact.releases
    return str(low) if low == high else f"{low} to {high}"


def _slots(on: Console, policy: Policy) -> None:
    made = table(
        ("Slot", "left"),
        ("Reads", "left"),
        ("Charges", "left"),
        ("ε each", "right"),
        ("Views", "right"),
        ("Best view picked", "left"),
        ("Optimum at ε", "right"),
    )
    for fact in slot_facts(policy):
        made.add_row(
            Text(f"{fact.name} ({fact.facet})" if fact.facet else fact.name),
            _numbers(fact.reads),
            Text(
                ", ".join(name.replace("_", " ") for name in fact.charges) or "nothing"
            ),
            f"{float(fact.epsilon):.2g}",
            str(fact.views),
            _picked(fact),
            "" if fact.optimum is None else f"{in_100(fact.optimum)} in 100",
        )
    print_table(on, "Slots", made)


def _picked(fact: SlotFacts) -> str:
    if not fact.reads:
        return "never: it reads nothing"
    if fact.best_picked is None or fact.views == 1:
        return "always"
    return f"{in_100(fact.best_picked)} in 100 (chance {in_100(1 / fact.views)})"


def _positions(on: Console, policy: Policy) -> None:
    made = table(("Position", "left"))
    for name in policy.attributes:
        made.add_column(_words(name), justify="center", overflow="fold")
    made.add_column("Slot", overflow="fold")
    for position, slot in policy.positions.items():
        marks = ["●" if position in group else "·" for group in policy.groups.values()]
        made.add_row(str(position), *marks, Text(slot))
    print_table(on, "Which memories count for what", made)


def _words(name: str) -> Text:
    return Text(name.replace("_", " "))


def _numbers(positions: tuple[int, ...]) -> str:
    return ", ".join(map(str, positions)) or "nothing"
