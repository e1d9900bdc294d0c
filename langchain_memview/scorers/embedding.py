"""Support of a view by the meaning of memories, from any LangChain `Embeddings`.

When a memory is written it becomes one unit vector x, made shorter by how far it bears
on the subject now (`whose.bearing`, b between 0 and 1): what is stored is b·x. When the
policy is loaded, every view's `support` sentence becomes a unit vector y; without such a
sentence its `say` and its cues do. At a turn only these are compared:

    support of a view by a memory     b · 1/(1 + e^(-slope·(x·y - midpoint)))
    support of a view by a read set   the largest of its memories'
    support of the generic view       1 minus the largest of the other views'

All of it is between 0 and 1, whatever a model returns, and `core.scoring` clamps it once
more, so Δu is the weight of this one term. Midpoint and slope are the policy's
(`EmbeddingScore`, fitted by `memview calibrate`).

A turn embeds nothing, or the query where the policy gives relevance a weight; should
that fail, the words of the query decide, which is the same for every memory. Cosines see
what a memory is about, and hardly whose or when it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.preparation import (
    PROBE,
    Numbers,
    Preparation,
    PreparingScorer,
)
from langchain_memview.core.scoring import Terms
from langchain_memview.errors import WiringError
from langchain_memview.scorers.weighted import relevance_by_words
from langchain_memview.scorers.whose import bearing
from langchain_memview.vectors import (
    Matrix,
    model_digest,
    model_name,
    public_vectors,
    unit_vector,
    unit_vectors,
)

LONGEST = 8_000
"""Characters of a memory that are embedded; models cut a text anyway, most much sooner."""

_QUERIES = 256


@dataclass(frozen=True, repr=False, eq=False)
class EmbeddingScorer(PreparingScorer):
    """Scores a view by the memory that is closest to it in meaning.

    Make one with `EmbeddingScorer.of(policy, embeddings)`.

    Attributes:
        embeddings: The model.
        calibration: How a cosine becomes support.
        identity: The model's name, dimension, hash and probe.
        views: Slot name to the unit vectors of its views but the generic one, shape
            `(k-1, d)`.
        sentences: Slot name to the unit vectors of what its views say, shape `(k, d)`;
            empty where relevance has no weight.
    """

    embeddings: Embeddings
    calibration: EmbeddingScore
    identity: Preparation
    views: Mapping[str, Matrix]
    sentences: Mapping[str, Matrix] = field(default_factory=dict)
    _queries: Callable[[str], Matrix] = field(init=False)

    def __post_init__(self) -> None:
        """Remember the vectors of recent queries, which are public."""
        object.__setattr__(self, "_queries", lru_cache(_QUERIES)(self._embedded))

    @classmethod
    def of(
        cls,
        policy: Policy,
        embeddings: Embeddings,
        *,
        model: str = "",
        calibration: EmbeddingScore | None = None,
    ) -> "EmbeddingScorer":
        """Return the scorer for a policy's views; they are embedded now.

        Args:
            policy: The policy; its `scorer` section has the calibration.
            embeddings: Any LangChain embedding model.
            model: Its name, where it does not say it itself.
            calibration: Instead of the policy's.

        Raises:
            WiringError: There is no calibration, or it is for another model; or the
                model does not answer, or not with vectors of one dimension.
        """
        found = calibration or policy.scorer
        if not isinstance(found, EmbeddingScore):
            raise WiringError(
                "the policy has no calibration for an embedding model; memview "
                "calibrate POLICY --model NAME fits one and writes it into the policy."
            )
        name = model or model_name(embeddings) or found.model
        if name != found.model:
            raise WiringError(
                f"the policy is calibrated for {found.model!r}, not for {name!r}; "
                "memview calibrate POLICY --model NAME fits it anew."
            )
        vocabularies = {s.name: tuple(s.vocabulary.values()) for s in policy.slots}
        return cls(
            embeddings,
            found,
            identity(embeddings, name),
            {
                slot: public_vectors(
                    embeddings, [view.hypothesis for view in views[1:]]
                )
                for slot, views in vocabularies.items()
                if len(views) > 1
            },
            {
                slot: public_vectors(embeddings, [view.say for view in views])
                for slot, views in vocabularies.items()
                if found.relevance
            },
        )

    @override
    def __repr__(self) -> str:
        """Return the name of the model."""
        return f"EmbeddingScorer({self.calibration.model!r})"

    @property
    @override
    def preparation(self) -> Preparation:
        return self.identity

    @override
    def prepare(self, text: str) -> Numbers:
        numbers: list[float] = prepared_vectors(self.embeddings, [text])[0].tolist()
        return numbers

    @property
    @override
    def relevance_weight(self) -> Fraction:
        return Fraction(str(self.calibration.relevance))

    @property
    @override
    def support_weights(self) -> tuple[Fraction, ...]:
        return (1 - self.relevance_weight,)

    @override
    def relevance(self, query: str, slot: Slot) -> Terms:
        try:
            vector = self._queries(query)
        except Exception:  # noqa: BLE001 - the same for every memory
            return relevance_by_words(query, slot)
        fits = np.maximum(self.sentences[slot.name] @ vector, 0.0)
        best = float(fits.max())
        return [float(fit) / best if best else 0.0 for fit in fits]

    @override
    def support(self, slot: Slot, contents: Sequence[Any]) -> Sequence[Terms]:
        views = self.views[slot.name]
        rows = [row for row in contents if row is not None]
        if not rows:
            return [[1.0] + [0.0] * len(views)]
        found = supports_by_vectors(
            np.stack([np.asarray(row, np.float32) for row in rows]),
            views,
            self.calibration,
        ).max(axis=0)
        return [[1.0 - float(found.max()), *map(float, found)]]

    @override
    def prior(self, query: str, slot: Slot) -> None:
        return None

    def _embedded(self, query: str) -> Matrix:
        return unit_vector(self.embeddings.embed_query(query[:LONGEST]))


def identity(embeddings: Embeddings, model: str) -> Preparation:
    """Return the name, dimension, hash and probe of an embedding model.

    Args:
        embeddings: The model.
        model: Its name.

    Raises:
        WiringError: It does not answer.
    """
    probe = public_vectors(embeddings, [PROBE])[0]
    digest = model_digest(embeddings)
    return Preparation(model, len(probe), digest, tuple(map(float, probe)))


def prepared_vectors(embeddings: Embeddings, texts: Sequence[str]) -> Matrix:
    """Return b·x of each memory, shape `(n, d)`. Private.

    Raises:
        ValueError: As in `vectors.unit_vectors`.
    """
    bearings = np.array([[bearing(text)] for text in texts], np.float32)
    vectors = unit_vectors(embeddings, [text[:LONGEST] for text in texts])
    return vectors * bearings


def supports_by_vectors(
    memories: Matrix, views: Matrix, calibration: EmbeddingScore
) -> Matrix:
    """Return the support of every view by every memory, in [0, 1], shape `(n, k)`.

    Args:
        memories: b·x of each memory, shape `(n, d)`, of lengths up to 1. Private.
        views: Unit vectors of the views, shape `(k, d)`.
        calibration: Midpoint and slope.
    """
    lengths = np.linalg.norm(memories, axis=1, keepdims=True)
    cosines = np.divide(
        memories @ views.T,
        lengths,
        out=np.full((len(memories), len(views)), -1.0, np.float32),
        where=lengths > 0,
    )
    rise = float(calibration.slope) * (cosines - float(calibration.midpoint))
    shares: Matrix = np.minimum(lengths, 1.0) / (
        1.0 + np.exp(-np.clip(rise, -50.0, 50.0))
    )
    return shares
