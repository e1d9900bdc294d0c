"""A policy file as text: parsed without trust, every value with its line and column.

YAML that a reviewer could misread is refused: repeated keys (YAML keeps the last one,
so an attribute would vanish), `off` and `no` (YAML reads booleans), aliases and tags.
Only strings, numbers, lists and mappings come out, whatever the file says.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from typing_extensions import override
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from langchain_memview.core.checks.plain import listed, mistake, shown
from langchain_memview.errors import Problem

Path = tuple[Any, ...]

_DEEPEST = 20
# Parsing takes about 30 µs a node; 3,000 views with their cues fit.
_MOST_NODES = 30_000
_TAG = "tag:yaml.org,2002:"
_WORDS = frozenset({_TAG + "bool", _TAG + "null"})
_NUMBERS = frozenset({_TAG + "int", _TAG + "float"})
_TEXTS = frozenset({_TAG + name for name in ("str", "timestamp", "merge", "value")})


@dataclass(frozen=True)
class Place:
    """Where a key and its value begin; lines and columns count from 1.

    Attributes:
        key: Line and column of the key; of the value for an item of a list.
        value: Line and column of the value.
        word: The plain word if YAML reads the value as a boolean or null, else empty.
    """

    key: tuple[int, int]
    value: tuple[int, int]
    word: str = ""


@dataclass(frozen=True)
class Source:
    """A parsed policy file.

    Attributes:
        document: Plain data; None if it is no YAML or is empty. Words that YAML reads
            as booleans are their text, so that one mistake does not make others.
        places: Path to place, for every key and item of the document.
        problems: Problems of the text, with their line and column.
    """

    document: Any
    places: dict[Path, Place]
    problems: tuple[tuple[Problem, tuple[int, int]], ...]

    def position(self, problem: Problem) -> tuple[int, int]:
        """Return line and column of a problem; of the closest place for a missing one.

        Args:
            problem: A finding of the checks, with its path.
        """
        place = self.places.get(problem.path)
        if place is not None:
            return place.key if problem.at_key else place.value
        for length in range(len(problem.path) - 1, 0, -1):
            if problem.path[:length] in self.places:
                return self.places[problem.path[:length]].key
        return (1, 1)


class _RefusedError(yaml.MarkedYAMLError):
    """The text uses a part of YAML that has no place in a policy."""


class _Loader(yaml.SafeLoader):
    """Composes nodes, refuses aliases and stops at a public limit of depth and size."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._count = 0

    @override
    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            text = "an alias (*name) hides a value from the reader"
            raise _RefusedError(text, None, "write the value out", mark)
        self._depth += 1
        self._count += 1
        if self._depth > _DEEPEST:
            raise _RefusedError(f"nested deeper than {_DEEPEST} levels", None, "", mark)
        if self._count > _MOST_NODES:
            raise _RefusedError(f"more than {_MOST_NODES:,} entries", None, "", mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse(text: str) -> Source:
    """Return the parsed text; never raises on what the text holds.

    Args:
        text: The policy file.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except _RefusedError as error:
        problem = mistake("MV107", (), str(error.context), str(error.problem))
        return Source(None, {}, ((problem, _start(error.problem_mark)),))
    except yaml.YAMLError as error:
        return Source(None, {}, (_no_yaml(error, text),))
    builder = _Builder(loader)
    document = builder.value(node, ()) if node is not None else None
    return Source(document, builder.places, tuple(builder.problems))


def _start(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _no_yaml(error: yaml.YAMLError, text: str) -> tuple[Problem, tuple[int, int]]:
    if isinstance(error, yaml.MarkedYAMLError):
        what, place = str(error.problem), _start(error.problem_mark)
        fix = "a view text with a colon or a leading quote needs quotes around it"
        if "'\\t'" in what:
            fix = "indent with spaces, not tabs"
        # Some messages quote a character of the file, which may be a control code.
        what = "".join(char if char.isprintable() else "?" for char in what)
    else:
        before = text[: getattr(error, "position", 0)]
        what, fix = "a control character", "delete it"
        place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    return mistake("MV100", (), f"not valid YAML: {what}", fix), place


class _Builder:
    """Turns nodes into plain data; collects places and problems on the way."""

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader
        self.places: dict[Path, Place] = {}
        self.problems: list[tuple[Problem, tuple[int, int]]] = []

    def value(self, node: Node, path: Path) -> Any:
        """Return the node as plain data."""
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return dict(self._entries(node, path))
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            return [
                self._placed(item, (*path, index), _start(item.start_mark))
                for index, item in enumerate(node.value)
            ]
        return self._scalar(node)

    def _placed(self, node: Node, path: Path, key: tuple[int, int]) -> Any:
        word = node.value if node.tag in _WORDS else ""
        self.places[path] = Place(key, _start(node.start_mark), word)
        return self.value(node, path)

    def _entries(self, node: MappingNode, path: Path) -> Iterator[tuple[Any, Any]]:
        first_line: dict[Any, int] = {}
        for key_node, value_node in node.value:
            place = _start(key_node.start_mark)
            if not isinstance(key_node, ScalarNode):
                self._report("MV101", "a list or mapping is no name", "", place)
                continue
            key = self._key(key_node, place)
            if key in first_line:
                where = listed([".".join(str(part) for part in path)])
                where = f"under {where}" if path else "at the top level"
                text = (
                    f"{shown(key)} appears twice {where} (first on line "
                    f"{first_line[key]}); YAML would silently keep the last one"
                )
                self._report("MV102", text, "merge the two entries", place)
                continue
            first_line[key] = place[0]
            yield key, self._placed(value_node, (*path, key), place)

    def _key(self, node: ScalarNode, place: tuple[int, int]) -> Any:
        if node.tag in _WORDS:
            self._report("MV103", *boolean_word("key", node.value), place)
            return node.value
        return self._scalar(node)

    def _scalar(self, node: Node) -> Any:
        if node.tag in _NUMBERS:
            # Python refuses whole numbers of over 4300 digits: they stay text.
            with contextlib.suppress(ValueError, OverflowError):
                return self._loader.construct_object(node)
        elif node.tag == _TAG + "null":
            return None
        elif node.tag not in _TEXTS | _WORDS or not isinstance(node, ScalarNode):
            text = f"the tag {shown(node.tag.replace(_TAG, '!!'))} has no place in a policy"
            self._report("MV107", text, "delete it", _start(node.start_mark))
            return None
        return node.value

    def _report(self, code: str, text: str, fix: str, place: tuple[int, int]) -> None:
        self.problems.append((mistake(code, (), text, fix), place))


def boolean_word(kind: str, word: str) -> tuple[str, str]:
    """Return text and fix of MV103 for a word that YAML does not read as text.

    Args:
        kind: `key` or `value`.
        word: The word as it was typed.
    """
    if word.lower() in ("", "~", "null"):
        meaning = "the empty value"
    else:
        meaning = f"the boolean {word.lower() in ('on', 'yes', 'true')}"
    return f"{kind} {word} is read by YAML as {meaning}", f'quote it: "{word}"'
