"""Words of a text: tokens, English stems, and cues that are word beginnings.

Stemming is Snowball's. Scorers use cues only, routers and the relevance of a view use
stems; both are public rules over public words, applied to one text.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

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


def cue_pattern(cues: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds any cue in a case-folded text; None for no cues.

    A cue is the beginning of a word: `carb` finds "carbs" and "carbohydrate" but not
    "escarbot". In a cue of several words, such as `blood pressure`, any white space may
    stand between them.
    """
    parts = [
        (r"\b" if cue.strip()[0].isalnum() else r"(?<!\w)")
        + r"\s+".join(re.escape(word) for word in cue.casefold().split())
        for cue in cues
        if cue.strip()
    ]
    return re.compile("|".join(parts)) if parts else None
