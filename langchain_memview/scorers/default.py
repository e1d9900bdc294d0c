"""The scorer that a policy asks for, where it needs no model."""

from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy
from langchain_memview.core.scoring import Scorer
from langchain_memview.errors import WiringError
from langchain_memview.scorers.cue import CueScorer
from langchain_memview.scorers.weighted import WeightedScorer


def default_scorer(policy: Policy) -> Scorer:
    """Return the weighted scorer if the policy gives its weights, else the cue scorer.

    Raises:
        WiringError: The policy is calibrated for an embedding model, which only the
            caller can give.
    """
    if isinstance(policy.scorer, EmbeddingScore):
        raise WiringError(
            f"the policy's scorer compares embeddings of {policy.scorer.model!r}, so the "
            "model must be given: MemView(policy, backend, ledger=ledger, "
            "scorer=EmbeddingScorer.of(policy, embeddings))."
        )
    return WeightedScorer(policy.scorer) if policy.scorer else CueScorer()
