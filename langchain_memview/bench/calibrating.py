"""Fits how a cosine becomes support to example sentences, and says what it separates.

Every pair of an example and a view is one point: the cosine, and whether the example is
evidence for the view. A logistic regression with both classes weighing the same gives
midpoint and slope. Examples about other people, the past, negations and what might be
are not fitted; they are only counted afterwards, because a cosine cannot tell them apart
and a calibration that tried would lose the evidence as well.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from sklearn.linear_model import LogisticRegression

from langchain_memview.bench.intervals import area
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy
from langchain_memview.errors import MemViewError
from langchain_memview.scorers.embedding import LONGEST, supports_by_vectors
from langchain_memview.scorers.whose import bearing
from langchain_memview.vectors import Matrix, public_vectors, unit_vectors

FITTED = ("evidence", "neutral")
"""Kinds of examples that the numbers are fitted to."""

_STEEPEST = 1000.0
_PENALTY = 10.0
"""Inverse strength of the regression's penalty; it keeps the slope finite."""


class ExamplesError(MemViewError):
    """The example sentences cannot be used; the text says which and why."""


@dataclass(frozen=True)
class Example:
    """A public sentence as somebody might be remembered by.

    Attributes:
        text: The sentence.
        views: Names of the views that it is about, as `slot.view`; empty for none.
        kind: `evidence` and `neutral` are fitted; any other kind is only reported.
    """

    text: str
    views: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class KindReport:
    """What the calibration makes of the examples of one kind.

    Attributes:
        kind: The kind.
        count: How many there are.
        supported: Share of them that support the view they are about by 1/2 or more;
            for neutral ones any view.
        auc: Probability that an evidence example supports its view more than one of
            these does; None for evidence itself.
    """

    kind: str
    count: int
    supported: float
    auc: float | None


@dataclass(frozen=True)
class Calibration:
    """Fitted numbers and what they separate.

    Attributes:
        score: What belongs into the policy's `scorer` section.
        kinds: One report per kind of example, fitted ones first.
    """

    score: EmbeddingScore
    kinds: tuple[KindReport, ...]


def examples_in(file: Path, policy: Policy) -> tuple[Example, ...]:
    """Return the examples of a JSONL file, one object with text, view and kind a line.

    Args:
        file: The file. `view` is a view's name, `slot.view`, or a list of these; empty
            for a neutral example.
        policy: Its views are the ones that can be named.

    Raises:
        ExamplesError: A line is none, or names a view that the policy does not have.
        OSError: The file cannot be read.
    """
    found = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if line.strip():
            found.append(_example(line, f"{file.name}:{number}", policy))
    return tuple(found)


def _example(line: str, where: str, policy: Policy) -> Example:
    try:
        fields = json.loads(line)
        text, kind, named = fields["text"], fields["kind"], fields["view"]
    except (ValueError, KeyError, TypeError):
        raise ExamplesError(
            f"{where} is no example; write one JSON object a line with text, view and "
            "kind."
        ) from None
    names = [named] if isinstance(named, str) else list(named)
    views = tuple(view for name in names if name for view in _views(name, policy))
    if not isinstance(text, str) or not text.strip() or not isinstance(kind, str):
        raise ExamplesError(f"{where} has no text or no kind.")
    if any(names) and not views:
        raise ExamplesError(f"{where} names {named!r}, which is no view of the policy.")
    return Example(text, views, kind)


def _views(name: str, policy: Policy) -> Iterable[str]:
    for full in view_names(policy):
        if name in (full, full.partition(".")[2]):
            yield full


def view_names(policy: Policy) -> tuple[str, ...]:
    """Return `slot.view` of every view that memories can speak for."""
    return tuple(
        f"{slot.name}.{view}"
        for slot in policy.slots
        for view in tuple(slot.vocabulary)[1:]
    )


def calibrate(
    policy: Policy, embeddings: Embeddings, model: str, examples: Sequence[Example]
) -> Calibration:
    """Return midpoint and slope for the model, and what they separate.

    Args:
        policy: The policy with its views.
        embeddings: The model.
        model: Its name, as the policy will have it.
        examples: Public or invented sentences; evidence and neutral ones among them.

    Raises:
        ExamplesError: There is no evidence, or nothing that is none.
        WiringError: The model does not answer.
    """
    names = view_names(policy)
    views = public_vectors(embeddings, hypotheses(policy))
    vectors = unit_vectors(embeddings, [e.text[:LONGEST] for e in examples])
    about = np.array([[name in e.views for name in names] for e in examples], bool)
    fitted = np.array([e.kind in FITTED for e in examples], bool)
    if not about[fitted].any() or about[fitted].all():
        raise ExamplesError(
            "a calibration needs examples of kind evidence that name their view, and "
            "neutral ones."
        )
    score = _fit(model, vectors[fitted] @ views.T, about[fitted])
    bearings = np.array([[bearing(e.text)] for e in examples], np.float32)
    supports = supports_by_vectors(vectors * bearings, views, score)
    return Calibration(score, tuple(_reports(examples, about, supports)))


def hypotheses(policy: Policy) -> list[str]:
    """Return what memories are compared with, in the order of `view_names`."""
    return [
        view.hypothesis
        for slot in policy.slots
        for view in tuple(slot.vocabulary.values())[1:]
    ]


def _fit(model: str, cosines: Matrix, about: Any) -> EmbeddingScore:
    regression = LogisticRegression(C=_PENALTY, class_weight="balanced")
    # In tenths, so that the penalty weighs a steep slope and a flat one alike.
    regression.fit(cosines.reshape(-1, 1) * 10, about.reshape(-1))
    rise = float(regression.coef_[0, 0])
    slope = min(max(rise * 10, 0.1), _STEEPEST)
    midpoint = -float(regression.intercept_[0]) / (rise * 10) if rise else 0.0
    midpoint = min(max(midpoint, -0.999), 0.999)
    return EmbeddingScore(model, f"{midpoint:.3f}", f"{slope:.1f}")


def _reports(
    examples: Sequence[Example], about: Any, supports: Matrix
) -> Iterable[KindReport]:
    own = np.where(about, supports, 0).max(axis=1)
    most = supports.max(axis=1)
    best = np.where(about.any(axis=1), own, most)
    kinds = np.array([e.kind for e in examples])
    evidence = best[kinds == "evidence"]
    order = [*FITTED, *sorted(set(kinds.tolist()) - set(FITTED))]
    for kind in order:
        found = best[kinds == kind]
        if len(found):
            yield KindReport(
                kind,
                len(found),
                float((found >= 0.5).mean()),
                None
                if kind == "evidence"
                else area([evidence], [found], common=[0]).value,
            )
