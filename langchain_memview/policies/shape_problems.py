"""Problems of a policy file's shape: unknown keys, and lists where text should be."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from langchain_memview.core.checks.draft import closest, did_you_mean
from langchain_memview.core.checks.plain import listed, mistake, shown
from langchain_memview.errors import Problem
from langchain_memview.policies.shape import PolicyShape, keys_at
from langchain_memview.policies.source import Place, boolean_word

Path = tuple[Any, ...]

_EXPECTED = {
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_type": "text",
}


def shape_problems(
    document: Mapping[str, Any], places: Mapping[Path, Place]
) -> Iterator[Problem]:
    """Yield what pydantic and YAML say about the shape, in words for a policy's author.

    Keys that are missing and values that are wrong are not here: the checks of the
    core report them, for Python policies too.

    Args:
        document: The parsed policy file.
        places: Path to place of every value, to find words that YAML reads as booleans.
    """
    try:
        PolicyShape.model_validate(document)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_context=False):
            path = _without_tags(found["loc"])
            if found["type"] == "extra_forbidden":
                yield _unknown_key(path, document)
            elif found["type"] in _EXPECTED:
                yield _wrong_type(
                    path, _EXPECTED[found["type"]], found["input"], places
                )
    for path, place in places.items():
        if place.word and place.word.lower() not in ("~", "null"):
            yield mistake("MV103", path, *boolean_word("value", place.word))


def meant_path(path: Path, document: Mapping[str, Any]) -> Path:
    """Return the path to the key that an unknown key was probably meant for.

    Args:
        path: The path to the unknown key.
        document: The parsed policy file.
    """
    return (*path[:-1], closest(path[-1], keys_at(path[:-1], document)))


def _without_tags(loc: tuple[int | str, ...]) -> Path:
    """Return the path in the document: pydantic adds the kind of a union's member."""
    if loc[0] in ("budget", "scorer"):
        return (*loc[:1], *loc[2:])
    if loc[0] == "slots" and loc[2:3] == ("views",):
        return (*loc[:4], *loc[5:])
    return loc


def _unknown_key(path: Path, document: Mapping[str, Any]) -> Problem:
    keys = keys_at(path[:-1], document)
    fix = did_you_mean(path[-1], keys) or f"known keys are {listed(keys)}"
    text = f"unknown key {shown(path[-1])}"
    return Problem("MV104", "error", path, text, fix, at_key=True)


def _wrong_type(
    path: Path, expected: str, value: object, places: Mapping[Path, Place]
) -> Problem:
    place = places.get(path)
    if expected == "text" and place is not None and place.word:
        return mistake("MV103", path, *boolean_word("value", place.word))
    *_, last = path
    what = f"item {last + 1} of {path[-2]}" if isinstance(last, int) else shown(last)
    fix = (
        f'quote it: "{shown(value)}"'
        if expected == "text" and _is_number(value)
        else ""
    )
    text = f"{what} must be {expected}, got {shown(value)}"
    return mistake("MV101", path, text, fix)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
