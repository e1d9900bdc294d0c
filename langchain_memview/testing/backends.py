"""What every memory backend must do, as tests that a backend of your own can inherit.

They need the package `pytest`. Put this into a test module:

```python
from langchain_memview.testing.backends import BackendConformance


class TestMyBackend(BackendConformance):
    @pytest.fixture
    def backend(self):
        return MyBackend()
```
"""
# ruff: noqa: S101 - these are tests

import pytest

from langchain_memview.core.backend import Backend
from langchain_memview.testing.ledgers import ALIKE

CANARY = "canary-4f1d"


class BackendConformance:
    """Tests that every `Backend` passes; inherit it and give the fixture `backend`."""

    @pytest.fixture
    def backend(self) -> Backend:
        """Return an empty backend; a new one for every test."""
        raise NotImplementedError("give the fixture `backend`")

    def test_what_was_written_is_read(self, backend: Backend) -> None:
        """Any text comes back as it was, the empty one included."""
        texts = {
            1: "Has debts.",
            2: "",
            3: "naïve 😀 \x00 \n 'quoted' \"\"",
            4: "x" * 10**6,
        }
        for position, text in texts.items():
            backend.write("ana", position, text)
        assert backend.read("ana", {1, 2, 3, 4}) == texts

    def test_a_position_that_was_never_written_is_not_read(
        self, backend: Backend
    ) -> None:
        """It is left out, which means empty."""
        backend.write("ana", 1, "Has debts.")
        assert backend.read("ana", {1, 7}) == {1: "Has debts."}

    def test_only_the_positions_that_are_asked_for_are_read(
        self, backend: Backend
    ) -> None:
        """A read set is the whole of what a selection sees (C4)."""
        for position in (1, 2, 11):
            backend.write("ana", position, f"memory {position}")
        assert backend.read("ana", {1}) == {1: "memory 1"}
        assert backend.read("ana", frozenset()) == {}

    def test_an_unknown_subject_is_an_empty_memory(self, backend: Backend) -> None:
        """There is no error that would tell who has a memory."""
        assert backend.read("nobody", {1, 2}) == {}
        assert backend.written("nobody", {1, 2}) == frozenset()
        backend.forget("nobody")

    def test_a_second_writing_replaces_the_first(self, backend: Backend) -> None:
        """A position has one content."""
        backend.write("ana", 1, "Has debts.")
        backend.write("ana", 1, "Has savings.")
        assert backend.read("ana", {1}) == {1: "Has savings."}

    def test_written_names_the_positions_that_hold_something(
        self, backend: Backend
    ) -> None:
        """An empty text was written too; positions that were not asked for stay out."""
        backend.write("ana", 1, "")
        backend.write("ana", 2, "Has debts.")
        assert backend.written("ana", {1, 3}) == {1}

    def test_forgetting_a_subject_leaves_every_other_one(
        self, backend: Backend
    ) -> None:
        """Also those whose names are similar."""
        for subject in ("1", "10", "%", "_"):
            for position in (1, 2):
                backend.write(subject, position, f"of {subject}")
        backend.forget("1")
        backend.forget("%")
        for subject in ("1", "%"):
            assert backend.read(subject, {1, 2}) == {}
            assert backend.written(subject, {1, 2}) == frozenset()
        for subject in ("10", "_"):
            assert backend.read(subject, {1, 2}) == dict.fromkeys(
                (1, 2), f"of {subject}"
            )

    def test_a_forgotten_subject_can_return(self, backend: Backend) -> None:
        """What is written afterwards is all that there is."""
        backend.write("ana", 1, "Has debts.")
        backend.forget("ana")
        backend.write("ana", 2, "Has savings.")
        assert backend.read("ana", {1, 2}) == {2: "Has savings."}

    @pytest.mark.parametrize(
        ("mine", "yours"), [pair for pair in ALIKE if "\ud83d" not in pair[0]]
    )
    def test_subjects_with_similar_names_share_nothing(
        self, backend: Backend, mine: str, yours: str
    ) -> None:
        """A memory belongs to exactly one of them."""
        backend.write(mine, 1, "mine")
        assert backend.read(yours, {1}) == {}
        backend.write(yours, 1, "yours")
        assert backend.read(mine, {1}) == {1: "mine"}

    def test_a_subject_and_its_position_are_kept_apart(self, backend: Backend) -> None:
        """Subject `ana1` at 1 is not subject `ana` at 11."""
        backend.write("ana1", 1, "mine")
        assert backend.read("ana", {11}) == {}

    def test_the_representation_shows_no_memory(self, backend: Backend) -> None:
        """Logs and error reports print it."""
        backend.write(CANARY, 1, CANARY)
        assert CANARY not in f"{backend!r} {backend!s}"
