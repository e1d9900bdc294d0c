"""A router by meaning: a slot is active when the query is close to what it is about.

The query's vector is compared with one vector per slot, made when the policy is loaded
from its public description: `about`, or else its `when` words. When the model does not
answer, the words of the query decide, as with the keyword router.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_memview.core.policy import Policy, Slot
from langchain_memview.core.routing import Router
from langchain_memview.core.transcript import AugmentedTranscript
from langchain_memview.errors import WiringError
from langchain_memview.routers.keyword import KeywordRouter
from langchain_memview.vectors import Matrix, public_vectors, unit_vector

_LONGEST = 8_000
_QUERIES = 256


@dataclass(frozen=True, repr=False, eq=False)
class EmbeddingRouter(Router):
    """Activates the slots whose description is close to the query.

    Make one with `EmbeddingRouter.of(policy, embeddings)`.

    Attributes:
        embeddings: The model.
        slots: Names of the slots.
        vectors: Unit vectors of their descriptions, shape `(n, d)`.
        threshold: Cosine from which on a slot is active; between -1 and 1.
        fallback: Decides when the model does not answer.
    """

    embeddings: Embeddings
    slots: tuple[str, ...]
    vectors: Matrix
    threshold: float
    fallback: KeywordRouter
    _queries: Callable[[str], Matrix] = field(init=False)

    def __post_init__(self) -> None:
        """Remember the vectors of recent queries, which are public."""
        object.__setattr__(self, "_queries", lru_cache(_QUERIES)(self._embedded))

    @classmethod
    def of(
        cls, policy: Policy, embeddings: Embeddings, *, threshold: float = 0.3
    ) -> "EmbeddingRouter":
        """Return the router for a policy's slots; their descriptions are embedded now.

        Args:
            policy: The policy.
            embeddings: Any LangChain embedding model.
            threshold: Cosine from which on a slot is active.

        Raises:
            WiringError: The model does not answer, or the threshold is no cosine.
        """
        if not -1 < threshold < 1:
            raise WiringError(
                f"the threshold is a cosine between -1 and 1, got {threshold}."
            )
        vectors = public_vectors(embeddings, list(map(description, policy.slots)))
        names = tuple(slot.name for slot in policy.slots)
        return cls(embeddings, names, vectors, threshold, KeywordRouter.of(policy))

    @override
    def active_slots(self, query: str, history: AugmentedTranscript) -> frozenset[str]:
        try:
            cosines = self.vectors @ self._queries(query)
        except Exception:  # noqa: BLE001 - of public inputs, so the same for everyone
            return self.fallback.active_slots(query, history)
        pairs = zip(self.slots, cosines, strict=True)
        return frozenset(slot for slot, cosine in pairs if cosine >= self.threshold)

    def _embedded(self, query: str) -> Matrix:
        return unit_vector(self.embeddings.embed_query(query[:_LONGEST]))


def description(slot: Slot) -> str:
    """Return what queries of the slot are about: public, the same for everyone."""
    return slot.about or ", ".join(slot.when) or slot.name
