"""Raw memories in this process: for tests, examples and short-lived agents."""

import threading
from array import array
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field

from typing_extensions import override

from langchain_memview.core.backend import PreparedBackend
from langchain_memview.core.preparation import Numbers, Preparation


@dataclass
class _Memories:
    """What is remembered of one subject, by position."""

    texts: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, Numbers] = field(default_factory=dict)


class InMemoryBackend(PreparedBackend):
    """Keeps raw memories in a dictionary; they end with the process.

    Args:
        memories: Subject to position to text, to start with.
    """

    def __init__(self, memories: Mapping[str, Mapping[int, str]] | None = None) -> None:
        self._lock = threading.Lock()
        self._preparation: Preparation | None = None
        self._contents = {
            subject: _Memories(dict(contents))
            for subject, contents in (memories or {}).items()
        }

    @override
    def __repr__(self) -> str:
        return "InMemoryBackend()"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        with self._lock:
            texts = self._of(subject).texts
            return {p: texts[p] for p in positions if p in texts}

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        self.write_prepared(subject, position, text, None)

    @override
    def written(self, subject: str, positions: Set[int]) -> Sequence[int]:
        with self._lock:
            return [p for p in self._of(subject).texts if p in positions]

    @override
    def forget(self, subject: str, positions: Set[int] | None = None) -> Set[int]:
        with self._lock:
            memories = self._of(subject)
            gone = set(memories.texts) & set(
                memories.texts if positions is None else positions
            )
            for position in gone:
                del memories.texts[position]
                memories.numbers.pop(position, None)
            if not memories.texts:
                self._contents.pop(subject, None)
            return gone

    @override
    def prepared_by(self) -> Preparation | None:
        return self._preparation

    @override
    def prepare_for(self, preparation: Preparation) -> None:
        self._preparation = preparation

    @override
    def write_prepared(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        with self._lock:
            memories = self._contents.setdefault(subject, _Memories())
            # Taken out first: a dictionary then has its keys in the order of writing.
            memories.texts.pop(position, None)
            memories.texts[position] = text
            memories.numbers.pop(position, None)
            if numbers is not None:
                memories.numbers[position] = array("f", numbers)

    @override
    def attach(self, subject: str, position: int, text: str, numbers: Numbers) -> None:
        with self._lock, suppress(KeyError):
            memories = self._contents[subject]
            if memories.texts[position] == text:
                memories.numbers[position] = array("f", numbers)

    @override
    def read_prepared(self, subject: str, positions: Set[int]) -> Mapping[int, Numbers]:
        with self._lock:
            numbers = self._of(subject).numbers
            return {p: numbers[p] for p in positions if p in numbers}

    @override
    def unprepared(self) -> list[tuple[str, int, str]]:
        with self._lock:
            return [
                (subject, position, text)
                for subject, memories in self._contents.items()
                for position, text in memories.texts.items()
                if text and position not in memories.numbers
            ]

    @override
    def sample(self) -> tuple[str, Numbers] | None:
        with self._lock:
            return next(
                (
                    (memories.texts[position], numbers)
                    for memories in self._contents.values()
                    for position, numbers in memories.numbers.items()
                ),
                None,
            )

    def _of(self, subject: str) -> _Memories:
        return self._contents.get(subject) or _Memories()
