"""Whether the parts of a `MemView` fit together, said when it is built and not at a turn."""

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.mechanism import exponential_mechanism
from langchain_memview.core.response import randomized_response
from langchain_memview.core.scoring import AdditiveScorer
from langchain_memview.errors import WiringError


def check_parts(backend: Backend, ledger: LedgerStore) -> None:
    """Raise an error if a part is none of its kind.

    Raises:
        WiringError: Backend or ledger is none.
    """
    if not hasattr(backend, "written"):
        raise WiringError(
            f"{type(backend).__name__} is no backend. InMemoryBackend() and "
            "ChromaBackend(directory) are two."
        )
    if not hasattr(ledger, "transact"):
        raise WiringError(
            f"{type(ledger).__name__} is no ledger. A checkpointer becomes one "
            "by ledger_from_checkpointer(saver); SqliteLedger(path) is one."
        )


def build_mechanisms(interface: TrustedInterface) -> None:
    """Build every mechanism that the policy needs, so that no turn waits for one.

    Raises:
        WiringError: The weights of the scorer are out of range, or an ε is too small
            for its bound to be proved.
    """
    try:
        _build(interface)
    except (ValueError, TypeError) as error:
        raise WiringError(
            f"the scorer cannot be used with this policy: {error}. Its private "
            "weights must be >= 0 with a sum in (0, 1], its public weight >= 0, "
            "and all of them together at most 1 (Eqs. 5 and 6)."
        ) from None


def _build(interface: TrustedInterface) -> None:
    policy, scorer = interface.policy, interface.scorer
    weights = (scorer.relevance_weight, *scorer.support_weights)
    if min(weights) < 0 or sum(weights) > 1 or not sum(scorer.support_weights):
        raise ValueError(f"its weights are {', '.join(map(str, weights))}")
    if isinstance(scorer, AdditiveScorer) and list(scorer.support_weights) != [1]:
        raise ValueError("an additive scorer has the one private weight 1")
    if isinstance(policy.budget, StandingBudget):
        for facet in policy.facets:
            if facet.charge_set and len(facet.views) > 1:
                randomized_response(facet.epsilon, len(facet.views), policy.budget.top)
        return
    for slot in policy.slots:
        if policy.charge_set(slot):
            epsilon = interface.cost(slot).epsilon
            mechanism = exponential_mechanism(epsilon, interface.sensitivity)
            mechanism.probabilities([0] * len(slot.vocabulary))
