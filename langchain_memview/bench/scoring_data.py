"""The texts that scorers are measured on: the shipped ones, and a folder of data sets."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from langchain_memview.bench.sentences import ATTRIBUTES, part, sentences

_NEUTRALS = 600
_NAMES = {"unsecured_debt": "severe_debt"}


@dataclass(frozen=True)
class Texts:
    """Texts with what is known of them, in parallel.

    Attributes:
        texts: The texts.
        views: The attribute that each is about, "" for neutral ones.
        kinds: What each is: see `sentences.KINDS`.
        languages: ISO 639-1 code of each.
    """

    texts: tuple[str, ...]
    views: tuple[str, ...]
    kinds: tuple[str, ...]
    languages: tuple[str, ...]

    def of(self, *kinds: str) -> NDArray[np.bool_]:
        """Return which texts are of one of the kinds, shape `(n,)`."""
        return np.array([kind in kinds for kind in self.kinds], np.bool_)

    def columns(self, kind: str) -> list[int]:
        """Return the number of the attribute of each text of a kind."""
        pairs = zip(self.views, self.kinds, strict=True)
        return [ATTRIBUTES.index(view) for view, one in pairs if one == kind]


def shipped(half: str) -> Texts:
    """Return one half, "dev" or "test", of the shipped sentences."""
    own = [one for one in sentences() if part(one) == half]
    return _texts([(one.text, one.view, one.kind, one.language) for one in own])


def english(texts: Texts) -> Texts:
    """Return the English ones."""
    rows = zip(texts.texts, texts.views, texts.kinds, texts.languages, strict=True)
    return _texts([row for row in rows if row[3] == "en"])


def from_folder(folder: Path) -> Texts:
    """Return the evidence of a data folder, and 600 persona sentences as neutrals.

    The neutrals are those with the smallest hashes: a fixed choice without regard to
    what they say, so a few may support an attribute.

    Args:
        folder: Holds `transfer/evidence.jsonl` and `locomo/msc_personas_all.json`.

    Raises:
        OSError: One of the files cannot be read.
        ValueError: One of the files is not what its name says.
    """
    lines = (folder / "transfer" / "evidence.jsonl").read_text("utf-8").splitlines()
    personas = json.loads(
        (folder / "locomo" / "msc_personas_all.json").read_text("utf-8")
    )
    try:
        evidence = [
            (one["text"], _NAMES.get(one["attribute"], one["attribute"]))
            for one in map(json.loads, lines)
        ]
        said = {
            text
            for pairs in personas.values()
            for pair in pairs
            for speaker in ("Speaker 1", "Speaker 2")
            for text in pair[speaker]
        }
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"{folder}: a file has another shape than expected") from None
    neutral = sorted(said, key=_digest)[:_NEUTRALS]
    return _texts(
        [
            *((text, view, "evidence", "en") for text, view in evidence),
            *((text, "", "neutral", "en") for text in neutral),
        ]
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _texts(rows: list[tuple[str, str, str, str]]) -> Texts:
    return Texts(*(tuple(column) for column in zip(*rows, strict=True)))
