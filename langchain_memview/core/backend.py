"""Where raw memories live, as the interface sees it: contents by subject and position.

A backend reads by position only. It has no search, so that what is read cannot depend
on what is stored (C4), and an empty position, an unknown subject and an empty store are
all the same to it: the content `""`.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol, runtime_checkable

from langchain_memview.core.preparation import Numbers, Preparation


class Backend(Protocol):
    """Keeps the raw memories of every subject. Everything in it is private."""

    def read(self, subject: str, positions: Set[int]) -> Mapping[int, str]:
        """Return the contents of these positions; those left out are empty.

        Args:
            subject: Whose memory is read.
            positions: Positions of the policy's layout.

        Raises:
            MemoryUnavailableError: The backend cannot be reached. It must not be
                raised for a reason that lies in the contents.
        """
        ...

    def write(self, subject: str, position: int, text: str) -> None:
        """Replace the content of one position.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def written(self, subject: str, positions: Set[int]) -> Sequence[int]:
        """Return those of the positions to which something was written, oldest first.

        The oldest is the one whose last writing is longest ago.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def forget(self, subject: str, positions: Set[int] | None = None) -> Set[int]:
        """Erase contents and return the positions that held one.

        Nothing of them is left in the backend's own files: neither the text, nor what
        was prepared from it. Done again, it goes on where it was interrupted.

        Args:
            subject: Whose memory it is.
            positions: What to erase; None erases whatever the subject has.

        Raises:
            MemoryUnavailableError: The backend cannot be reached; some may be left.
        """
        ...


@runtime_checkable
class PreparedBackend(Backend, Protocol):
    """A backend that keeps beside every text what a scorer prepared from it."""

    def prepared_by(self) -> Preparation | None:
        """Return whose numbers are kept; None if it is not recorded.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def prepare_for(self, preparation: Preparation) -> None:
        """Record whose numbers are kept from now on.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
            WiringError: It holds numbers of another size.
        """
        ...

    def write_prepared(
        self, subject: str, position: int, text: str, numbers: Numbers | None
    ) -> None:
        """Replace the content of one position, text and numbers at once.

        Args:
            subject: Whose memory it is.
            position: A position of the layout.
            text: The memory. Private.
            numbers: What was prepared from it, or None if that is still to be done.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def attach(self, subject: str, position: int, text: str, numbers: Numbers) -> None:
        """Keep the numbers for a position if its text is still this one.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def read_prepared(self, subject: str, positions: Set[int]) -> Mapping[int, Numbers]:
        """Return the numbers of these positions, without those that have none.

        Raises:
            MemoryUnavailableError: As in `read`.
        """
        ...

    def unprepared(self) -> Iterable[tuple[str, int, str]]:
        """Return subject, position and text of every memory without numbers. Private.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def sample(self) -> tuple[str, Numbers] | None:
        """Return one text with its numbers, or None if there is none. Private.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...
