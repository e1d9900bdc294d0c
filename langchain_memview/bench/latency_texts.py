"""The memories that `latency` stores, and vectors for them that cost next to nothing."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_memview.bench.overhead import POSITIONS, SENTENCES

DIMENSION = 384
"""As many numbers as MiniLM gives."""

_NUMBERS = tuple((byte - 127.5) / 1446 for byte in range(256))


@dataclass(frozen=True)
class Shape:
    """How many memories are stored, and of how many people.

    Attributes:
        users: People.
        each: Memories of each of them.
    """

    users: int
    each: int

    @override
    def __str__(self) -> str:
        """Return it in words."""
        if self.users == 1:
            return f"{self.each:,} memories"
        return f"{self.users:,} people x {self.each}"

    @property
    def positions(self) -> int:
        """Return how many positions of a person are filled."""
        return min(self.each, POSITIONS)

    @property
    def people(self) -> int:
        """Return how many people have the memories if none has more than 28."""
        return -(-self.users * self.each // self.positions)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the number of the user and the text of every memory."""
        for number in range(self.users * self.each):
            sentence = SENTENCES[number % len(SENTENCES)]
            yield number // self.each, f"{sentence} Note {number}."

    def places(self) -> Iterator[tuple[str, int, str]]:
        """Yield person, position and text of every memory, 28 at most for a person."""
        for number, (_, text) in enumerate(self.texts()):
            person, position = divmod(number, self.positions)
            yield f"u{person}", position + 1, text


class HashedTexts(Embeddings):
    """Gives every text a vector of its own, length about 1, without any meaning.

    It costs some microseconds, so that what is timed is the search and not a model. The
    numbers of all vectors are 256 shared objects, which spares memory and, if anything,
    favours a store that keeps vectors as lists.
    """

    model_name = "hashed-texts"

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    @override
    def embed_query(self, text: str) -> list[float]:
        digest = hashlib.shake_128(text.encode()).digest(DIMENSION)
        return [_NUMBERS[byte] for byte in digest]
