"""Every problem of a policy, all at once: what breaks a condition, and what to type.

`check_policy` judges plain data in the shape of a policy file, whether it comes from
YAML or from `Policy.document()`. It never raises: a part that is missing or of the
wrong type is reported, or skipped where the policy loader reports it.

| codes | about | module |
|---|---|---|
| MV105, MV109, MV110, MV114, MV115 | sections and names | here |
| MV106, MV301–MV304, MV306, MV308, MV309 | protected attributes and caps | here |
| MV105, MV106, MV111–MV113, MV115 | layout and capacities | `layout` |
| MV201, MV202, MV204, MV205, MV209–MV215 | slots and views | `slots` |
| MV404–MV408, MV410, MV414 | budget | `budget` |
| MV401–MV403, MV415 | scorer, sensitivity | `scorer` |
| MV409, MV411–MV413 | epochs and facets of the standing mode | `standing` |
| MV203, MV206–MV208, MV305, MV307, MV501–MV503 | warnings and notes | `advice` |
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from langchain_memview.core.amounts import TICKS_PER_NAT, to_ticks
from langchain_memview.core.checks.advice import advise
from langchain_memview.core.checks.budget import check_budget
from langchain_memview.core.checks.draft import (
    MAX_CAP,
    Draft,
    did_you_mean,
    draft,
    items,
    mapping,
)
from langchain_memview.core.checks.layout import check_layout
from langchain_memview.core.checks.plain import (
    mistake,
    name_problems,
    number,
    shown,
    whole,
)
from langchain_memview.core.checks.scorer import check_scorer
from langchain_memview.core.checks.slots import check_slots
from langchain_memview.core.names import EVERYTHING
from langchain_memview.errors import Problem

_LEVELS = ("error", "warning", "note")
_SECTIONS = {
    "version": "add version: 1",
    "name": "",
    "attributes": "",
    "budget": "add budget: {mode: online, k: 3}",
    "slots": "",
}


def check_policy(document: Mapping[str, Any]) -> list[Problem]:
    """Return every problem of the policy, errors first, then warnings and notes.

    Args:
        document: Plain data in the shape of a policy file; any part may be damaged.
    """
    fields = mapping(document)
    readable = draft(fields)
    problems = chain(
        _sections(fields),
        check_layout(fields, readable),
        _attributes(fields, readable),
        check_slots(fields, readable),
        check_budget(fields, readable),
        check_scorer(fields),
        advise(fields, readable),
    )
    return sorted(problems, key=lambda problem: _LEVELS.index(problem.level))


def _sections(fields: Mapping[Any, Any]) -> Iterator[Problem]:
    for section, fix in _SECTIONS.items():
        if fields.get(section) is None:
            yield mistake("MV105", (section,), f"missing section {section!r}", fix)
    for section in ("attributes", "slots"):
        if fields.get(section) == {}:
            text = f"section {section!r} is empty, so the policy protects nothing"
            yield mistake("MV115", (section,), text)
    version, scope = fields.get("version"), fields.get("scope")
    if version is not None and not (whole(version) and version == 1):
        text = f"version {shown(version)} is not known; this release reads version 1"
        yield mistake("MV109", ("version",), text, "version: 1")
    if scope is not None and scope not in ("subject", "audience"):
        yield mistake(
            "MV114",
            ("scope",),
            f"scope {shown(scope)} is not known",
            "use subject (one ledger for all applications) or audience (one for each, "
            "which holds only if they do not pool what they see)",
        )
    full = fields.get("when_full")
    if full is not None and full not in ("refuse", "oldest"):
        yield mistake(
            "MV114",
            ("when_full",),
            f"when_full {shown(full)} is not known",
            "use refuse (a full slot takes no more memories) or oldest (the memory "
            "whose last writing is longest ago is replaced)",
        )
    yield from _names(fields)


def _names(fields: Mapping[Any, Any]) -> Iterator[Problem]:
    if fields.get("name") is not None:
        yield from name_problems(("name",), fields["name"])
    for section in ("attributes", "slots"):
        for name in mapping(fields.get(section)):
            yield from name_problems((section, name), name)


def _attributes(fields: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    for name, attribute in readable.attributes.items():
        if not isinstance(mapping(fields["attributes"])[name], Mapping):
            continue
        path = ("attributes", name)
        listed = items(attribute.get("positions"))
        if name == EVERYTHING:
            if listed and set(map(str, listed)) != set(map(str, readable.layout)):
                yield mistake(
                    "MV309",
                    (*path, "positions"),
                    f"attribute {shown(name)} is the whole memory, but lists positions",
                    "delete 'positions:', or give the attribute a name",
                )
        elif attribute.get("positions") is None or attribute["positions"] == []:
            yield mistake(
                "MV302",
                (*path, "positions"),
                f"attribute {shown(name)} protects no positions, so nothing would ever "
                "be charged to it",
            )
        for index, item in enumerate(items(attribute.get("positions"))):
            place = (*path, "positions", index)
            yield from _position(place, name, item, fields, readable)
        yield from _cap((*path, "cap"), name, attribute.get("cap"))


def _position(
    path: tuple[Any, ...],
    name: str,
    item: object,
    fields: Mapping[Any, Any],
    readable: Draft,
) -> Iterator[Problem]:
    slots, layout = mapping(fields.get("slots")), readable.layout
    if isinstance(item, bool) or not isinstance(item, int | str):
        text = f"attribute {shown(name)} lists {shown(item)} as a position"
        fix = "positions are whole numbers; a slot's name stands for all of its own"
        yield mistake("MV308", path, text, fix)
    elif isinstance(item, str) and slots and item not in slots:
        yield mistake(
            "MV106",
            path,
            f"attribute {shown(name)} protects slot {shown(item)}, which is not "
            "defined under slots",
            did_you_mean(item, slots),
        )
    elif isinstance(item, int) and layout and item not in layout:
        yield mistake(
            "MV301",
            path,
            f"attribute {shown(name)} protects position {shown(item)}, but the layout "
            f"has positions 1 to {shown(max(layout))}",
        )


def _cap(path: tuple[Any, ...], name: str, cap: object) -> Iterator[Problem]:
    exact = number(cap)
    if cap is None:
        text = f"attribute {shown(name)} has no cap; a cap is the whole guarantee"
        fix = "start with cap: 2.0 (an observer's odds can change at most 7.4-fold)"
        yield mistake("MV303", path, text, fix)
    elif exact is None:
        text = f"cap of {shown(name)} must be a number, got {shown(cap)}"
        yield mistake("MV304", path, text)
    elif exact <= 0:
        text = f"cap of {shown(name)} is {shown(cap)}: it must be positive"
        fix = "to release nothing about it, remove the slots that read its positions"
        yield mistake("MV304", path, text, fix)
    elif exact > MAX_CAP:
        text = (
            f"cap of {shown(name)} is {shown(cap)}: above {MAX_CAP} it limits nothing"
        )
        yield mistake("MV306", path, text, "caps of 1 to 4 mean something")
    elif to_ticks(exact) == 0:
        text = f"cap of {shown(name)} is below 1/{TICKS_PER_NAT}, the ledger's unit"
        yield mistake("MV304", path, text, "start with cap: 2.0")
