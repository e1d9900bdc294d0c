"""Sentences to try scorers on: written for this package, shipped with it.

`sentences.jsonl` holds invented memories, one JSON object on each line. Each was written
by hand and none is taken from a data set, so they carry the package's own licence. For
four attributes there are sentences that support the attribute and the four ways in
which a sentence has its words without supporting it now:

evidence
    The user's own present state, in the first person or as a note without a subject.
other_person
    Somebody else's state.
past
    The user's own, and over.
negated
    Said not to be so.
hypothetical
    Feared, hoped for, possible or asked about.

`neutral` sentences are of the same registers and domains and support none of the four.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal

ATTRIBUTES = ("type2_diabetes", "pregnancy", "severe_debt", "job_loss")
"""The attributes; each is also the name of the view that its evidence supports."""

KINDS = ("evidence", "other_person", "past", "negated", "hypothetical", "neutral")
"""What a sentence can be; the four in the middle are the hard negatives."""

HARD_KINDS = KINDS[1:5]
"""Kinds with an attribute's words and without its being so now."""

# Chosen before anything was measured, so that every cell of attribute and kind is split
# about evenly.
_SALT = 1410


@dataclass(frozen=True)
class Sentence:
    """One invented memory.

    Attributes:
        text: What is remembered.
        view: The attribute that it is about, which names the view; "" when neutral.
        kind: One of `KINDS`.
        language: ISO 639-1 code; "en" for all kinds but evidence.
    """

    text: str
    view: str
    kind: str
    language: str


@lru_cache(maxsize=1)
def sentences() -> tuple[Sentence, ...]:
    """Return all sentences, in the order of the file."""
    folder = resources.files("langchain_memview.bench")
    lines = folder.joinpath("sentences.jsonl").read_text("utf-8").splitlines()
    return tuple(Sentence(**json.loads(line)) for line in lines)


def part(sentence: Sentence) -> Literal["dev", "test"]:
    """Return the half that a sentence belongs to, by a hash of its text.

    Whatever is fitted, chosen or looked at uses "dev"; what is reported uses "test".
    """
    digest = hashlib.sha256(f"{_SALT} {sentence.text}".encode()).digest()
    return "test" if digest[0] % 2 else "dev"
