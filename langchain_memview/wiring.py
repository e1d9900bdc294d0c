"""Whether the parts of a `MemView` fit together, said when it is built and not at a turn."""

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.core.backend import Backend
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.interface import TrustedInterface
from langchain_memview.core.mechanism import exponential_mechanism
from langchain_memview.core.response import randomized_response
from langchain_memview.core.routing import Router
from langchain_memview.core.scoring import AdditiveScorer, Scorer
from langchain_memview.core.store import MemoryStore
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


def check_router(router: Router) -> None:
    """Raise an error if the router is not declared public, or was handed memory (C4).

    Raises:
        WiringError: It is one of these.
    """
    if getattr(router, "inputs", None) != "public":
        raise WiringError(
            f"{type(router).__name__} does not declare that it routes by public inputs "
            'alone (C4). Inherit from Router, or write inputs = "public" into the class.'
        )
    for part in getattr(router, "__dict__", {}).values():
        if hasattr(part, "written") or isinstance(part, Scorer | MemoryStore):
            raise WiringError(
                f"{type(router).__name__} was handed a {type(part).__name__}; what is "
                "routed would depend on memory (C4). Give it public parts only."
            )


def check_pace(scorer: Scorer, deadline: float | None) -> None:
    """Raise an error if the scorer waits for a model at a turn without a deadline.

    Raises:
        WiringError: The deadline is missing, or not above the scorer's time limit.
    """
    seconds = getattr(scorer, "waits_for_model", None)
    if seconds is not None and (deadline is None or deadline <= seconds):
        raise WiringError(
            f"{type(scorer).__name__} waits up to {seconds} seconds for a model at every "
            "slot of a turn, and how long depends on the memory. Build "
            "MemView(..., deadline=...) above that, for all slots of a turn together."
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
