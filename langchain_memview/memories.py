"""Memories as a scorer needs them: as texts, or as what it prepared from each of them.

A scorer that reads texts gets texts. A `PreparingScorer` gets numbers that were made
when a memory was written, so that a turn waits for no model. When they cannot be made,
because a service is down for example, the memory is written all the same; it supports
no view until it is prepared: with the next memory for which that works, or by
`MemView.prepare`.
"""

from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any, Protocol

from typing_extensions import override

from langchain_memview.core.backend import Backend, PreparedBackend
from langchain_memview.core.preparation import (
    Numbers,
    PreparingScorer,
    same_direction,
    sound,
)
from langchain_memview.core.scoring import Scorer
from langchain_memview.errors import (
    MemoryUnavailableError,
    MemViewError,
    WiringError,
    alone,
    withheld,
)

_MOST_LATE = 10_000


class Memories(Protocol):
    """Reads and writes the positions of a subject."""

    def read(self, subject: str, positions: Set[int]) -> Mapping[int, Any]:
        """Return a content for every position. Private.

        Raises:
            MemoryUnavailableError: The backend cannot be reached. Any other failure may
                depend on what is stored, so it looks like an empty memory.
        """
        ...

    def prepared(self, text: str) -> Numbers | None:
        """Return what is to be kept beside the text, or None. Private."""
        ...

    def write(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        """Replace the content of one position.

        Args:
            subject: Whose memory it is.
            position: A position of the layout.
            text: The memory. Private.
            numbers: What `prepared` returned for it.
        """
        ...

    def catch_up(self) -> int:
        """Return how many memories still have no numbers, after trying all of them."""
        ...

    def forgotten(self, subject: str) -> None:
        """Keep nothing of a subject whose memories were erased."""
        ...


def memories_of(backend: Backend, scorer: Scorer) -> Memories:
    """Return the memories of the backend as this scorer needs them.

    Raises:
        WiringError: The scorer's numbers cannot be kept there, or those that are there
            were prepared by another model.
        MemoryUnavailableError: The backend cannot be reached.
    """
    if not isinstance(scorer, PreparingScorer):
        return _Texts(backend)
    if not isinstance(backend, PreparedBackend):
        raise WiringError(
            f"{type(scorer).__name__} keeps numbers beside every memory, which "
            f"{type(backend).__name__} cannot. InMemoryBackend() and "
            "ChromaBackend(directory) can."
        )
    failure: MemViewError
    try:
        _check_model(backend, scorer)
        return _Prepared(backend, scorer)
    except MemViewError as error:
        failure = error
    except Exception as error:  # noqa: BLE001 - its text may hold a memory
        failure = withheld(error)
    raise alone(failure)


def _check_model(backend: PreparedBackend, scorer: PreparingScorer) -> None:
    """Compare the model with the one whose numbers are stored, and record it if new."""
    known = backend.prepared_by()
    if known is not None:
        difference = known.differs(scorer.preparation)
    else:
        difference = _other_numbers(backend, scorer)
    if difference:
        raise WiringError(
            f"the memories are embedded by another model than the scorer's: "
            f"{difference}. Give the scorer the model that they were embedded by, or "
            "move them: memview reembed DIRECTORY --model NAME."
        )
    backend.prepare_for(scorer.preparation)


def _other_numbers(backend: PreparedBackend, scorer: PreparingScorer) -> str:
    """Return how a memory's numbers differ from the scorer's, without saying which.

    Nobody recorded who made them, so one memory is prepared once more to see.
    """
    sample = backend.sample()
    if sample is None:
        return ""
    text, numbers = sample
    if len(numbers) != scorer.preparation.size:
        return f"{len(numbers)} numbers are not {scorer.preparation.size}"
    again: Numbers = ()
    with suppress(Exception):
        again = scorer.prepare(text)
    # One text for both, so that it does not tell what the memory was like.
    same = len(again) == len(numbers) and same_direction(again, numbers)
    return "" if same else "it gives a stored memory other numbers, or none"


def _found(read: Callable[[], Mapping[int, Any]]) -> Mapping[int, Any]:
    """Return what was read; nothing if the backend fails on what is stored.

    A backend that cannot be reached says so, which is the same for every memory. Any
    other failure may depend on what is stored, so it must look like an empty memory:
    the selection is still charged and still drawn.
    """
    try:
        return dict(read())
    except MemoryUnavailableError:
        pass
    except Exception:  # noqa: BLE001 - see above
        return {}
    # Outside the block, so that no chain of errors leads to what was read.
    raise MemoryUnavailableError(
        "the memory backend cannot be reached, so no view is released. Repeat the "
        "operation under the same id when it is back; nothing is charged twice."
    )


class _Texts(Memories):
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, Any]:
        found = _found(lambda: self._backend.read(subject, positions))
        texts = ((p, found.get(p)) for p in positions)
        return {p: text if isinstance(text, str) else "" for p, text in texts}

    @override
    def prepared(self, text: str) -> None:
        return None

    @override
    def write(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        self._backend.write(subject, position, text)

    @override
    def catch_up(self) -> int:
        return 0

    @override
    def forgotten(self, subject: str) -> None:
        pass


class _Prepared(Memories):
    def __init__(self, backend: PreparedBackend, scorer: PreparingScorer) -> None:
        self._backend = backend
        self._scorer = scorer
        self._size = scorer.preparation.size
        # Places that this process could not prepare; they are tried once more.
        self._late: set[tuple[str, int]] = set()

    @override
    def read(self, subject: str, positions: Set[int]) -> Mapping[int, Any]:
        found = _found(lambda: self._backend.read_prepared(subject, positions))
        rows = ((p, found.get(p)) for p in positions)
        return {p: None if not _fits(row, self._size) else row for p, row in rows}

    @override
    def prepared(self, text: str) -> Numbers | None:
        # What a model raises may quote the text, and the memory is kept all the same.
        with suppress(Exception):
            numbers = self._scorer.prepare(text)
            if sound(numbers, self._size):
                return numbers
        return None

    @override
    def write(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        self._backend.write_prepared(subject, position, text, numbers)
        if not text:
            return
        if numbers is None:
            if len(self._late) < _MOST_LATE:
                self._late.add((subject, position))
            return
        late, self._late = self._late, set()
        for place in late - {(subject, position)}:
            self._prepare_late(*place)

    def _prepare_late(self, subject: str, position: int) -> None:
        with suppress(Exception):
            text = self._backend.read(subject, {position}).get(position, "")
            self._attach(subject, position, text)

    @override
    def forgotten(self, subject: str) -> None:
        self._late = {place for place in self._late if place[0] != subject}

    @override
    def catch_up(self) -> int:
        waiting = list(self._backend.unprepared())
        return sum(not self._attach(*memory) for memory in waiting)

    def _attach(self, subject: str, position: int, text: str) -> bool:
        numbers = self.prepared(text)
        if numbers is not None:
            self._backend.attach(subject, position, text, numbers)
        return numbers is not None


def _fits(row: Any, size: int) -> bool:
    return row is not None and len(row) == size
