"""Where raw memories live, as the interface sees it: contents by subject and position.

A backend reads by position only. It has no search, so that what is read cannot depend
on what is stored (C4), and an empty position, an unknown subject and an empty store are
all the same to it: the content `""`.
"""

from collections.abc import Mapping, Set
from typing import Protocol


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

    def written(self, subject: str, positions: Set[int]) -> Set[int]:
        """Return those of the positions to which something was written.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...

    def forget(self, subject: str) -> None:
        """Delete every content of the subject.

        Raises:
            MemoryUnavailableError: The backend cannot be reached.
        """
        ...
