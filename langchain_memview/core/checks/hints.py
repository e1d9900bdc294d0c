"""Which protected attributes a public text points at, to find groups that omit some.

A group I_a is complete when it has every position whose content may hint at the
attribute. Nobody can prove that, but cues and view texts that the author wrote give
incomplete groups away.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from langchain_memview.core.checks.draft import DraftSlot
from langchain_memview.core.checks.plain import listed, shown
from langchain_memview.errors import Problem

_FACT = re.compile(
    r"\b(?:the (?:user|person|customer|client|patient)|they|he|she|you)\s+"
    r"(?:has|have|had|is|are|was|were|suffers?|takes?|owes?|lives? with)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_STEM = 5
# Words that many attribute names have and that point at none of them.
_EMPTY_WORDS = frozenset({"type", "status", "level", "history", "state", "user"})


class AttributeNames:
    """Finds the attributes that a text names, by the first letters of their words."""

    def __init__(self, attributes: Iterable[str]) -> None:
        self._by_start: dict[str, list[tuple[str, str]]] = {}
        for name in attributes:
            for word in _WORD.findall(name.casefold()):
                if word not in _EMPTY_WORDS:
                    self._by_start.setdefault(word[:4], []).append((word, name))

    def named_in(self, text: str) -> set[str]:
        """Return attributes that share the first five letters of a word with the text.

        A shorter word must be the beginning of the other one: `debt` and `debts`.
        """
        found: set[str] = set()
        for typed in _WORD.findall(text.casefold()):
            for word, name in self._by_start.get(typed[:4], ()):
                if typed.startswith(word[:_STEM]) or word.startswith(typed):
                    found.add(name)
        return found


def stated_fact(say: str, names: AttributeNames) -> tuple[str, str]:
    """Return the words that state a fact and the attribute it is about, or blanks."""
    for sentence in re.split(r"[.!?;]\s", say):
        fact = _FACT.search(sentence)
        named = names.named_in(sentence[fact.end() :]) if fact else set()
        if fact and named:
            return " ".join(fact[0].split()), min(named)
    return "", ""


def attributes_by_cue(slots: Iterable[DraftSlot]) -> dict[str, frozenset[str]]:
    """Return what each cue stands for, judged by the protected slots that use it.

    An attribute counts when it is the only one of such a slot, or one of all of them:
    a cue that food (debt, diabetes) and health (diabetes) share is about diabetes.
    """
    users: dict[str, list[frozenset[str]]] = {}
    for slot in slots:
        for cue, _, _ in slot.cues:
            affected = users.setdefault(folded(cue), [])
            if slot.affected:
                affected.append(slot.affected)
    return {
        cue: frozenset().union(*(a for a in affected if len(a) == 1))
        | frozenset.intersection(*affected)
        for cue, affected in users.items()
        if affected
    }


def folded(text: str) -> str:
    """Return the text as it is compared: without case and extra blanks."""
    return " ".join(text.casefold().split())


def omitted_groups(
    slot: DraftSlot, names: AttributeNames, shared: Mapping[str, frozenset[str]]
) -> Iterator[Problem]:
    """Yield cues that point at an attribute whose group misses all that the slot reads.

    A cue says what the author expects in these positions. If that is a word of the
    attribute's name, or a cue of slots that do read its group, then the positions
    may hint at the attribute, and no ledger would notice.
    """
    for cue, view, index in slot.cues:
        about = names.named_in(cue) | shared.get(folded(cue), frozenset())
        missing = about - slot.charged
        if missing:
            reads = shown(sorted(slot.read or ()))
            yield Problem(
                "MV208",
                "warning",
                ("slots", slot.name, "views", view, "cues", index),
                f"cue {shown(cue)} of slot {shown(slot.name)} points at "
                f"{listed(missing)}, which protects none of the positions {reads} that "
                "the slot reads; if they can hint at it, it leaks uncharged "
                "(contract C2)",
                f"add the positions to {listed(missing)}, or drop the cue",
            )
