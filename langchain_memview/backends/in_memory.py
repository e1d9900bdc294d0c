"""Raw memories in this process: for tests, examples and short-lived agents."""

import threading
from collections.abc import Mapping, Set

from typing_extensions import override

from langchain_memview.core.backend import Backend


class InMemoryBackend(Backend):
    """Keeps raw memories in a dictionary; they end with the process.

    Args:
        memories: Subject to position to text, to start with.
    """

    def __init__(self, memories: Mapping[str, Mapping[int, str]] | None = None) -> None:
        self._lock = threading.Lock()
        self._contents = {
            subject: dict(contents) for subject, contents in (memories or {}).items()
        }

    @override
    def __repr__(self) -> str:
        return "InMemoryBackend()"

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        with self._lock:
            contents = self._contents.get(subject, {})
            return {p: contents[p] for p in positions if p in contents}

    @override
    def write(self, subject: str, position: int, text: str) -> None:
        with self._lock:
            self._contents.setdefault(subject, {})[position] = text

    @override
    def written(self, subject: str, positions: Set[int]) -> Set[int]:
        with self._lock:
            return positions & self._contents.get(subject, {}).keys()

    @override
    def forget(self, subject: str) -> None:
        with self._lock:
            self._contents.pop(subject, None)
