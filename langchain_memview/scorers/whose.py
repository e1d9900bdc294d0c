"""How far a memory is about its subject, now: a public rule over the words of one text.

An embedding or a cue sees what a memory is about, but neither whose it is nor when. "My
brother was laid off", "I was in debt once", "I am not pregnant" and "if I lose my job"
come as close to a view as what they are not. `bearing` gives such texts less weight. It
knows neither views nor attributes. This is the whole rule; its words are those of
`whose_words`.

1.  Words are case folded and cut after 24 letters. A text with more function words of
    other languages (`FOREIGN`) than of English (`ENGLISH`) has 1.
2.  A sentence ends at a full stop, an exclamation or question mark, a semicolon or a
    line break; a clause also at a comma, colon, bracket or dash, and before a joint
    (`and`, `but`, `because`, `so`, `since`, `while`, `although`, `which`, `who`). A
    clause of one word is left out.
3.  A clause has the least value of those that hold, and 1 when none does:

    0.25, negated
        It has a phrase of `NEGATED` or begins with one of `NEGATED_FIRST`. What
        one would like to have (`GOODS`) may be missing: "no job", "don't have money".
    0.3, somebody else's
        It begins with something of a relative, a friend, a neighbour, a colleague or
        the like (`OTHERS`: "my brother's loan"), or speaks of a group of people
        (`GROUP`). Or it begins with such a person (`OTHER`), with `who`, or with `he`,
        `she`, `they`, `his`, `her` or `their` (`PRONOUN`) after such a person was
        named, and does not go on to say `me`, `my` or `I` (`MINE`). No clause is
        somebody else's in a sentence with `I do too`, `me too` or `my wife and I`
        (`ALSO`).
    0.35, over
        It has a phrase of `PAST`, and no word of `LASTING`, such as `diagnosed` or
        `still`.
    0.4, not so yet
        It has a phrase of `POSSIBLE`; or its sentence has one of `CONDITION`, or
        begins with one of `CONDITION_FIRST`; or it is the first clause of its sentence,
        names a fear (`FEAR`), and the sentence has something to come (`TO_COME`).
4.  The text has the geometric mean of its least and its greatest clause: beside a
    clause to which no rule applies, a negated one has 0.5.

The time taken grows in proportion to the text: no phrase reaches over more than a few
words, and a word has at most 24 letters.
"""

import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from langchain_memview.scorers import whose_words as these

_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[.!?;\n]|[,:()–—]")
_LONGEST = 24
_SENTENCE_ENDS = frozenset(".!?;\n")
_MARKS = frozenset(",:()–—")
_JOINTS = frozenset(
    {"and", "but", "because", "so", "since", "while", "although", "which", "who"}
)


def bearing(text: str) -> float:
    """Return how far a memory is about its subject now, between 0.25 and 1.

    1 is first-person and current as far as the words tell, and so is every text in
    another language than English. It is a factor for the support that the same text
    gives to a view.

    Args:
        text: One memory. Private, and so is the result.
    """
    words = [
        token[:_LONGEST] for token in _TOKEN.findall(text.replace("’", "'").casefold())
    ]
    known = frozenset(words)
    if len(known & these.FOREIGN) > len(known & these.ENGLISH):
        return 1.0
    values = [
        value
        for sentence in _split(words, _SENTENCE_ENDS)
        for value in _clause_values(sentence)
    ]
    return math.sqrt(min(values) * max(values)) if values else 1.0


def _split(words: Iterable[str], ends: AbstractSet[str]) -> list[list[str]]:
    """Return the parts between the ends; a joint is an end and begins the next part."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in ends:
            parts.append([])
        if word not in ends or word in _JOINTS:
            parts[-1].append(word)
    return [part for part in parts if part]


def _clause_values(words: list[str]) -> list[float]:
    """Return the value of every clause of a sentence that has two words or more."""
    whole = " ".join(word for word in words if word not in _MARKS)
    clauses = [_text(part) for part in _split(words, _MARKS | _JOINTS) if part[1:]]
    possible = these.CONDITION.search(whole) or these.CONDITION_FIRST.match(whole)
    feared = these.TO_COME.search(whole)
    others = _others(clauses)
    if these.ALSO.search(whole):
        others = [False] * len(clauses)
    values = []
    for number, (clause, other) in enumerate(zip(clauses, others, strict=True)):
        afraid = feared and not number and these.FEAR.search(clause)
        values.append(
            min(
                0.4 if possible or afraid else 1.0,
                0.3 if other else 1.0,
                _own_value(clause),
            )
        )
    return values


def _text(clause: list[str]) -> str:
    """Return a clause as a text, without the joint that it begins with."""
    joined = clause[0] in _JOINTS and clause[0] != "who"
    return " ".join(clause[1:] if joined else clause)


def _own_value(clause: str) -> float:
    """Return the value of a clause by denial, end and possibility."""
    if these.NEGATED.search(clause) or these.NEGATED_FIRST.match(clause):
        return 0.25
    if these.PAST.search(clause) and not these.LASTING.search(clause):
        return 0.35
    return 0.4 if these.POSSIBLE.search(clause) else 1.0


def _others(clauses: list[str]) -> list[bool]:
    """Return which clauses are somebody else's."""
    found, named = [], False
    for clause in clauses:
        theirs = these.OTHERS.match(clause)
        other = these.OTHER.match(clause)
        follows = these.PRONOUN.match(clause) if named else these.WHO.match(clause)
        end = other.end() if other else 0
        mine = these.MINE.search(clause, end)
        found.append(
            bool(
                theirs
                or ((other or follows) and not mine)
                or these.GROUP.search(clause)
            )
        )
        named = named or bool(other or theirs or these.PERSON.search(clause))
    return found
