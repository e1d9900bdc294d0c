"""Words of a text: tokens, English stems, and the cues that a text contains.

Stemming is Snowball's. Scorers use cues only, routers and the relevance of a view use
stems; both are public rules over public words, applied to one text.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import snowballstemmer

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# The same with the marks that end a clause, which no cue reaches over.
_MARKED = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?()\n]")
_DETERMINERS = frozenset(
    {
        "a",
        "an",
        "the",
        "my",
        "your",
        "his",
        "her",
        "its",
        "our",
        "their",
        "this",
        "that",
    }
)
_stem_word: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord


@lru_cache(maxsize=8192)
def _stem(token: str) -> str:
    return _stem_word(token.replace("’", "'"))


def stems(text: str, beginnings: tuple[str, ...] | None = None) -> list[str]:
    """Return the stems of the words of a text, in order, case folded.

    Public texts only: the stems of recent words are remembered, so the time taken
    depends on them.

    Args:
        text: Any text.
        beginnings: First letters of the stems that matter. A word that starts with none
            of them is returned as it is: that keeps a long text cheap.
    """
    tokens = _TOKEN.findall(text.casefold())
    if beginnings is None:
        return [_stem(token) for token in tokens]
    return [_stem(token) if token.startswith(beginnings) else token for token in tokens]


def words(text: str) -> list[str]:
    """Return the words of a text, in order, case folded, with straight apostrophes."""
    return _TOKEN.findall(text.casefold().replace("’", "'"))


def folded(text: str) -> str:
    """Return the text case folded, with single spaces for all white space."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True)
class Cue:
    """A cue, ready to be searched for. Public.

    Attributes:
        beginning: The cue as it is written, folded; found where it begins a word.
        words: The forms of each of its words; found where they follow each other.
        last: Its last word, of which any word that begins with it is a form.
    """

    beginning: str
    words: tuple[frozenset[str], ...]
    last: str


class Passages:
    """Several texts that are searched for cues at once. Private, as the texts are.

    Args:
        texts: The texts, in the order in which they are numbered from 0.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        parts = [folded(text) for text in texts]
        # A line break stands nowhere else now, so no cue reaches over it.
        self._text = "\n".join(parts)
        self._ends = list(accumulate(len(part) + 1 for part in parts))

    def with_any(self, cues: Iterable[Cue]) -> set[int]:
        """Return the numbers of the texts that contain a cue.

        As it is written, a cue is found where it begins a word: `carb` in "carbs" and
        "carbohydrate" but not in "escarbot"; the words of a cue such as `blood
        pressure` may have any white space between them. Word for word, it is found in
        any of its forms, with at most an article or a possessive before each further
        word and no punctuation but a hyphen between them: `lose job` in "Lost my jobs".

        Args:
            cues: The cues.
        """
        found = set[int]()
        for cue in cues:
            self._add_beginnings(cue.beginning, found)
            self._add_forms(cue, found)
        return found

    def _add_beginnings(self, cue: str, found: set[int]) -> None:
        text = self._text
        at = text.find(cue)
        while at >= 0:
            if at and (text[at - 1].isalnum() or text[at - 1] == "_"):
                at = text.find(cue, at + 1)
                continue
            number = bisect_right(self._ends, at)
            found.add(number)
            at = text.find(cue, self._ends[number])

    def _add_forms(self, cue: Cue, found: set[int]) -> None:
        for form in cue.words[0] if cue.words else ():
            for place in self._places.get(form, ()):
                if self._follows(cue, place + 1):
                    found.add(bisect_right(self._breaks, place))

    def _follows(self, cue: Cue, place: int) -> bool:
        tokens, rest = self._tokens, len(cue.words) - 1
        for forms in cue.words[1:]:
            rest -= 1
            place += tokens[place] in _DETERMINERS and tokens[place] not in forms
            word = tokens[place]
            if not (word in forms or (rest == 0 and word.startswith(cue.last))):
                return False
            place += 1
        return True

    # The words of the texts are looked up in the forms of the cues and never stemmed:
    # a stem would have to be computed anew for each, or remembered, and neither the
    # memory nor the time of this process may keep them.
    @cached_property
    def _tokens(self) -> list[str]:
        return [*_MARKED.findall(self._text.replace("’", "'")), "\n", "\n"]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places = defaultdict(list)
        for place, token in enumerate(self._tokens):
            places[token].append(place)
        return places

    @cached_property
    def _breaks(self) -> list[int]:
        return self._places["\n"]
