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

from langchain_memview.core.backend import Backend, PreparedBackend
from langchain_memview.core.preparation import Preparation
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
        assert not backend.written("nobody", {1, 2})
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
        assert list(backend.written("ana", {1, 3})) == [1]

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
            assert not backend.written(subject, {1, 2})
        for subject in ("10", "_"):
            assert backend.read(subject, {1, 2}) == dict.fromkeys(
                (1, 2), f"of {subject}"
            )

    def test_what_was_written_longest_ago_comes_first(self, backend: Backend) -> None:
        """A second writing makes a position the youngest again."""
        for position in (3, 1, 2):
            backend.write("ana", position, f"memory {position}")
        backend.write("ana", 3, "memory 3 again")
        assert list(backend.written("ana", {1, 2, 3, 4})) == [1, 2, 3]

    def test_single_positions_can_be_forgotten(self, backend: Backend) -> None:
        """They are free again; those that held nothing are no error."""
        for position in (1, 2, 3):
            backend.write("ana", position, f"memory {position}")
        backend.write("bo", 1, "of bo")
        assert set(backend.forget("ana", {1, 3, 9})) == {1, 3}
        assert backend.read("ana", {1, 2, 3}) == {2: "memory 2"}
        assert list(backend.written("ana", {1, 2, 3})) == [2]
        assert backend.read("bo", {1}) == {1: "of bo"}
        assert not backend.forget("ana", {1})
        assert set(backend.forget("ana")) == {2}
        assert not backend.forget("ana")

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


class PreparedBackendConformance(BackendConformance):
    """Tests that every `PreparedBackend` passes; they prepare three numbers each."""

    PREPARATION = Preparation("three", 3, "", (0.0, 1.0, 0.0))

    @pytest.fixture
    def prepared(self, backend: Backend) -> PreparedBackend:
        """Return the backend, prepared for three numbers."""
        assert isinstance(backend, PreparedBackend)
        backend.prepare_for(self.PREPARATION)
        return backend

    def test_it_remembers_whose_numbers_it_keeps(
        self, prepared: PreparedBackend
    ) -> None:
        """What is recorded comes back without a difference."""
        known = prepared.prepared_by()
        assert known is not None
        assert not known.differs(self.PREPARATION)

    def test_numbers_come_back_and_only_those(self, prepared: PreparedBackend) -> None:
        """A memory without numbers, and an empty position, are left out."""
        prepared.write_prepared("ana", 1, "Has debts.", [0.5, -1.0, 0.25])
        prepared.write_prepared("ana", 2, "Has savings.", None)
        found = prepared.read_prepared("ana", {1, 2, 7})
        assert {p: list(numbers) for p, numbers in found.items()} == {
            1: [0.5, -1.0, 0.25]
        }
        assert prepared.read("ana", {1, 2}) == {1: "Has debts.", 2: "Has savings."}
        assert prepared.read_prepared("ana", frozenset()) == {}
        assert prepared.read_prepared("nobody", {1}) == {}

    def test_what_waits_is_listed_until_numbers_are_attached(
        self, prepared: PreparedBackend
    ) -> None:
        """Nothing that was written is lost when its model did not answer."""
        prepared.write_prepared("ana", 1, "Has debts.", [1.0, 0.0, 0.0])
        prepared.write_prepared("ana", 2, "Has savings.", None)
        prepared.write("bo", 1, "Has a loan.")
        prepared.write_prepared("bo", 2, "", None)
        assert sorted(prepared.unprepared()) == [
            ("ana", 2, "Has savings."),
            ("bo", 1, "Has a loan."),
        ]
        prepared.attach("ana", 2, "Has savings.", [0.0, 1.0, 0.0])
        assert list(prepared.read_prepared("ana", {2})[2]) == [0.0, 1.0, 0.0]
        assert list(prepared.unprepared()) == [("bo", 1, "Has a loan.")]

    def test_numbers_of_a_text_that_was_replaced_are_not_attached(
        self, prepared: PreparedBackend
    ) -> None:
        """They belong to a memory that is not there any more."""
        prepared.write_prepared("ana", 1, "Has savings.", None)
        prepared.attach("ana", 1, "Has debts.", [1.0, 0.0, 0.0])
        prepared.attach("ana", 2, "Has debts.", [1.0, 0.0, 0.0])
        prepared.attach("nobody", 1, "Has debts.", [1.0, 0.0, 0.0])
        assert prepared.read_prepared("ana", {1, 2}) == {}
        assert not prepared.written("nobody", {1})

    def test_a_new_text_does_not_keep_the_old_numbers(
        self, prepared: PreparedBackend
    ) -> None:
        """Text and numbers are replaced at once."""
        prepared.write_prepared("ana", 1, "Has debts.", [1.0, 0.0, 0.0])
        prepared.write("ana", 1, "Has savings.")
        assert prepared.read_prepared("ana", {1}) == {}

    def test_a_sample_is_a_text_with_its_numbers(
        self, prepared: PreparedBackend
    ) -> None:
        """Those that wait are none."""
        assert prepared.sample() is None
        prepared.write_prepared("ana", 1, "Has savings.", None)
        assert prepared.sample() is None
        prepared.write_prepared("ana", 2, "Has debts.", [1.0, 0.0, 0.0])
        text, numbers = prepared.sample() or ("", [])
        assert (text, list(numbers)) == ("Has debts.", [1.0, 0.0, 0.0])

    def test_forgetting_takes_the_numbers_too(self, prepared: PreparedBackend) -> None:
        """They were made from the memory."""
        prepared.write_prepared("ana", 1, "Has debts.", [1.0, 0.0, 0.0])
        prepared.forget("ana")
        assert prepared.read_prepared("ana", {1}) == {}
        assert prepared.sample() is None
