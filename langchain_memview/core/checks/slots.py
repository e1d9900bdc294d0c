"""Problems of slots and views: fixed texts, complete charging, fixed reads."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_memview.core.checks.draft import (
    Draft,
    DraftSlot,
    did_you_mean,
    items,
    mapping,
)
from langchain_memview.core.checks.plain import listed, mistake, name_problems, shown
from langchain_memview.core.shares import MAX_CHOICES
from langchain_memview.core.views import GENERIC
from langchain_memview.errors import Problem

# {name}, ${name}, $name, %s, %(name)s and <name>, but no price and no comparison.
_PLACEHOLDER = re.compile(
    r"\{[^{}\n]{0,80}\}|\$[A-Za-z_]\w*|%\(\w{1,80}\)[sdr]|%[sdr]\b|<[A-Za-z_][\w -]{0,80}>"
)
_SIMILARITY = re.compile(r"semantic|simil|nearest|embed|vector|search|retriev|relevan")
_SPLIT_TEXT = re.compile(r"[A-Za-z0-9 ]")


def check_slots(fields: Mapping[Any, Any], readable: Draft) -> Iterator[Problem]:
    """Yield the errors of every slot that can be read.

    Args:
        fields: The policy document.
        readable: Its sound parts.
    """
    for slot in readable.slots:
        yield from _views(slot)
        yield from _lists(slot)
        yield from _read(slot, readable)
        yield from _charge(slot, fields)


def _views(slot: DraftSlot) -> Iterator[Problem]:
    path = ("slots", slot.name, "views")
    views = mapping(slot.fields.get("views"))
    if GENERIC not in views and isinstance(slot.fields.get("views", {}), Mapping):
        yield mistake(
            "MV201",
            (*path, GENERIC),
            f"slot {shown(slot.name)} has no 'generic' view; it is what the app gets "
            "when a ledger is at its cap, so it must exist",
            "add   generic: <one neutral sentence>   as the first view",
        )
    if len(views) > MAX_CHOICES:
        text = (
            f"slot {shown(slot.name)} has {len(views)} views; a selection is among at "
            f"most {MAX_CHOICES}"
        )
        yield mistake("MV212", path, text, "split the slot")
    for name in views:
        yield from name_problems((*path, name), name)
    for name, view in views.items():
        where = shown(f"{slot.name}.{name}")
        say = view.get("say") if isinstance(view, Mapping) else view
        if say is None or (isinstance(say, str) and not say.strip()):
            fix = "give it one sentence, or delete it"
            yield mistake("MV214", (*path, name), f"view {where} says nothing", fix)
        elif isinstance(say, str) and _PLACEHOLDER.search(say):
            yield mistake(
                "MV202",
                (*path, name),
                f"view {where} contains a placeholder: a view must be the same text "
                "for every user (contract C1)",
                "write it as a fixed instruction; put user facts in memory, not in "
                "views",
            )
        yield from _support((*path, name, "support"), where, view)


def _support(path: tuple[Any, ...], where: str, view: object) -> Iterator[Problem]:
    support = mapping(view).get("support", "-")
    if not isinstance(support, str):
        return
    if not support.strip():
        text = f"the support of view {where} says nothing"
        yield mistake("MV214", path, text, "give it one sentence, or delete it")
    elif _PLACEHOLDER.search(support):
        yield mistake(
            "MV202",
            path,
            f"the support of view {where} contains a placeholder: what memories are "
            "compared with must be the same text for every user (contract C1)",
            "write what such a memory says of anybody",
        )


def _lists(slot: DraftSlot) -> Iterator[Problem]:
    path = ("slots", slot.name)
    yield from _words((*path, "when"), slot.fields.get("when"))
    for name, view in mapping(slot.fields.get("views")).items():
        yield from _words((*path, "views", name, "cues"), mapping(view).get("cues"))


def _words(path: tuple[Any, ...], words: object) -> Iterator[Problem]:
    """Yield problems of a list of words that a query or a memory is searched for."""
    typed = [word for word in items(words) if isinstance(word, str)]
    if len(typed) > 1 and all(_SPLIT_TEXT.fullmatch(word) for word in typed):
        # Python takes a text for a list of its letters, and "a" matches everything.
        text = f"{path[-1]} is the text {shown(''.join(typed))}, not a list of words"
        fix = f"{path[-1]}=[{shown(''.join(typed))}]"
        yield mistake("MV211", path, text, fix)
    elif not all(word.strip() for word in typed):
        text = f"{path[-1]} has a blank word, which is found in every text"
        yield mistake("MV211", path, text, "delete it")


def _read(slot: DraftSlot, readable: Draft) -> Iterator[Problem]:
    read, path = slot.fields.get("read"), ("slots", slot.name, "read")
    if read is None:
        return
    if not isinstance(read, list):
        if not _SIMILARITY.search(shown(read).lower()):
            yield _not_positions(path, slot.name, read)
        else:
            yield mistake(
                "MV204",
                path,
                f"slot {shown(slot.name)} chooses memories by content similarity; which "
                "memories are read then depends on their content and the guarantee does "
                "not cover it (contract C4)",
                "read fixed positions (the default), or register a private retriever "
                "and declare its cost",
            )
    repeated = [p for p, times in Counter(map(shown, items(read))).items() if times > 1]
    if repeated:
        text = f"slot {shown(slot.name)} reads position {repeated[0]} more than once"
        yield mistake("MV215", path, text, "list each position once")
    for index, item in enumerate(items(read)):
        if isinstance(item, bool) or not isinstance(item, int):
            yield _not_positions((*path, index), slot.name, item)
        elif readable.layout and item not in readable.layout:
            yield mistake(
                "MV210",
                (*path, index),
                f"slot {shown(slot.name)} reads position {shown(item)}, but the layout "
                f"has positions 1 to {shown(max(readable.layout))}",
            )


def _not_positions(path: tuple[Any, ...], name: str, read: object) -> Problem:
    return mistake(
        "MV209",
        path,
        f"slot {shown(name)} must read positions, got {shown(read)}",
        "delete 'read:' to read all of the slot's own, or list them: read: [1, 2]",
    )


def _charge(slot: DraftSlot, fields: Mapping[Any, Any]) -> Iterator[Problem]:
    charge, path = slot.fields.get("charge"), ("slots", slot.name, "charge")
    if not isinstance(charge, list):
        return
    known = mapping(fields.get("attributes"))
    for index, item in enumerate(charge):
        if isinstance(item, str) and known and item not in known:
            text = (
                f"slot {shown(slot.name)} charges {shown(item)}, which is no protected "
                "attribute"
            )
            yield mistake("MV213", (*path, index), text, did_you_mean(item, known))
    typed = {item for item in charge if isinstance(item, str)}
    missing = slot.affected - typed
    if missing:
        only = f"only {listed(typed)}" if typed else "nothing"
        yield mistake(
            "MV205",
            path,
            f"slot {shown(slot.name)} reads positions of {listed(slot.affected)} but "
            f"charges {only}; leaving out {listed(missing)} makes its ledger wrong "
            "(contract C2)",
            "delete 'charge:' (the right set is derived) or add the missing attributes",
        )
