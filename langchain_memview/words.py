"""Words of a text: tokens, English stems, and cues that are word beginnings.

Stemming is Snowball's. Scorers use cues only, routers and the relevance of a view use
stems; both are public rules over public words, applied to one text.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate

import snowballstemmer

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
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


def folded(text: str) -> str:
    """Return the text case folded, with single spaces for all white space."""
    return " ".join(text.casefold().split())


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

    def with_any(self, cues: Iterable[str]) -> set[int]:
        """Return the numbers of the texts in which a cue begins a word.

        `carb` is found in "carbs" and "carbohydrate" but not in "escarbot"; the words
        of a cue such as `blood pressure` may have any white space between them.

        Args:
            cues: Folded cues.
        """
        text, found = self._text, set[int]()
        for cue in cues:
            at = text.find(cue)
            while at >= 0:
                if at and (text[at - 1].isalnum() or text[at - 1] == "_"):
                    at = text.find(cue, at + 1)
                    continue
                number = bisect_right(self._ends, at)
                found.add(number)
                at = text.find(cue, self._ends[number])
        return found
