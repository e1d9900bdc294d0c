"""Inflections of an English word, from the word as a dictionary has it.

An author writes `lose job` and means "losing my job" and "lost his job" as well. Regular
forms are the word with an inflectional ending, kept when Snowball gives them the stem of
the word: "owing" for `owe`, but not "cared" for `car`. Irregular ones are in the table
below. A word that is written in an inflected form stands for that form alone: "fired" is
not "fire", nor "laid" "lay". Everything here depends on public words only.
"""

from functools import lru_cache

from langchain_memview.words import stems

_IRREGULAR = {
    row.split()[0]: frozenset(row.split()[1:])
    for row in (
        "be am is are was were been being",
        "bear bore born borne",
        "become became",
        "begin began begun",
        "break broke broken",
        "bring brought",
        "buy bought",
        "catch caught",
        "choose chose chosen",
        "come came",
        "do does did done",
        "draw drew drawn",
        "drink drank drunk",
        "drive drove driven",
        "eat ate eaten",
        "fall fell fallen",
        "feel felt",
        "fight fought",
        "find found",
        "forget forgot forgotten",
        "get got gotten",
        "give gave given",
        "go goes went gone",
        "grow grew grown",
        "have has had having",
        "hear heard",
        "hold held",
        "keep kept",
        "know knew known",
        "lay laid",
        "lead led",
        "leave left",
        "lend lent",
        "lie lay lain lying",
        "lose lost",
        "make made",
        "meet met",
        "pay paid",
        "run ran",
        "say said",
        "see saw seen",
        "sell sold",
        "send sent",
        "shake shook shaken",
        "show shown",
        "shrink shrank shrunk",
        "sit sat",
        "sleep slept",
        "speak spoke spoken",
        "spend spent",
        "stand stood",
        "steal stole stolen",
        "swell swollen",
        "swim swam swum",
        "take took taken",
        "teach taught",
        "tell told",
        "think thought",
        "throw threw thrown",
        "wake woke woken",
        "wear wore worn",
        "win won",
        "write wrote written",
        "child children",
        "foot feet",
        "man men",
        "person people",
        "tooth teeth",
        "wife wives",
        "woman women",
    )
}


@lru_cache(maxsize=4096)
def inflections(word: str) -> frozenset[str]:
    """Return the word and its forms, case folded: `owe` gives "owe", "owes", "owing".

    Some of the forms are no words ("jobbed"); they are found in no text.

    Args:
        word: One word of a cue, case folded. Public: recent ones are remembered.
    """
    stem = stems(word)
    regular = {form for form in _endings(word) if stems(form) == stem}
    return frozenset({word}) | regular | _IRREGULAR.get(word, frozenset())


def _endings(word: str) -> list[str]:
    """Return the word with each ending of English inflection, right or wrong."""
    forms = [word + ending for ending in ("s", "es", "ed", "d", "ing")]
    body, last = word[:-1], word[-1:]
    if last == "e":
        forms.append(body + "ing")
    elif last == "y":
        forms += [body + "ies", body + "ied"]
    else:
        forms += [word + last + "ed", word + last + "ing"]
    return forms
