"""Problems of scorer and sensitivity: scores in [0, 1] and a Δu that holds."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from langchain_memview.core.checks.draft import mapping
from langchain_memview.core.checks.plain import mistake, number, short, shown
from langchain_memview.core.mechanism import GRID
from langchain_memview.errors import Problem

_PRIVATE = ("compatibility", "specificity")
_WEIGHTS = ("relevance", *_PRIVATE)
_STEEPEST = 1000


def check_scorer(fields: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield the errors of the scorer section and of the sensitivity.

    Args:
        fields: The policy document.
    """
    scorer = fields.get("scorer")
    if isinstance(scorer, Mapping):
        yield from _calibration(scorer) if "model" in scorer else _weights(scorer)
    sensitivity = fields.get("sensitivity")
    if sensitivity is None:
        return
    exact, path = number(sensitivity), ("sensitivity",)
    bound = sensitivity_bound(fields)
    if exact is None or not 0 < exact <= 1:
        text = f"sensitivity must be a number in (0, 1], got {shown(sensitivity)}"
        yield mistake("MV403", path, text, "remove it (derived)")
    elif bound is not None and exact < bound[0]:
        yield mistake(
            "MV401",
            path,
            f"sensitivity {short(exact)} is below the bound {short(bound[0])} of this "
            f"scorer ({bound[1]}), so each release would cost more than its ε",
            f"remove it (derived), or set it to {short(bound[0])} or more",
        )


def sensitivity_bound(fields: Mapping[Any, Any]) -> tuple[Fraction, str] | None:
    """Return Δu of the policy's scorer and where it comes from; None if not judgeable.

    Only private terms move between adjacent stores, each within [0, 1], so the bound of
    Eq. (6) is the sum of their weights. The default cue scorer has one such term.

    Args:
        fields: The policy document.
    """
    if fields.get("scorer") is None:
        return Fraction(1), "support 1"
    weights = _private_weights(mapping(fields["scorer"]))
    sound = {name: weight for name, weight in weights.items() if weight is not None}
    if len(sound) < len(weights) or sum(sound.values()) * GRID < 1:
        return None
    parts = " + ".join(f"{name} {short(weight)}" for name, weight in sound.items())
    return sum(sound.values(), Fraction(0)), parts


def _private_weights(scorer: Mapping[Any, Any]) -> dict[str, Fraction | None]:
    if "model" in scorer:
        relevance = _weight(scorer.get("relevance", 0))
        return {"support": None if relevance is None else 1 - relevance}
    return {name: _weight(scorer.get(name)) for name in _PRIVATE}


def _weight(value: object) -> Fraction | None:
    exact = number(value)
    return exact if exact is not None and 0 <= exact <= 1 else None


def _weights(scorer: Mapping[Any, Any]) -> Iterator[Problem]:
    weights: dict[str, Fraction] = {}
    for name in _WEIGHTS:
        weight = _weight(scorer.get(name))
        if weight is not None:
            weights[name] = weight
        else:
            text = (
                f"weight of {name} must be a number from 0 to 1, "
                f"got {shown(scorer.get(name))}"
            )
            yield mistake("MV402", ("scorer", name), text)
    if len(weights) < len(_WEIGHTS):
        return
    total = sum(weights.values())
    private = total - weights["relevance"]
    if total > 1:
        text = (
            f"the weights add up to {short(Fraction(total))}, so a score could pass 1"
        )
        yield mistake("MV402", ("scorer",), text, "let them add up to 1 (Eq. 5)")
    if private * GRID < 1:
        text = (
            f"compatibility and specificity add up to {short(Fraction(private))}, so no "
            "memory would ever count"
        )
        fix = f"give them 1/{GRID} or more together; 0.4 and 0.2 are the paper's"
        yield mistake("MV402", ("scorer",), text, fix)


def _calibration(scorer: Mapping[Any, Any]) -> Iterator[Problem]:
    model, relevance = scorer["model"], scorer.get("relevance", 0)
    midpoint, slope = number(scorer.get("midpoint")), number(scorer.get("slope"))
    if not isinstance(model, str) or not model.strip():
        text = f"model must name an embedding model, got {shown(model)}"
        yield mistake("MV415", ("scorer", "model"), text)
    if midpoint is None or not -1 < midpoint < 1:
        text = (
            "midpoint must be a cosine between -1 and 1, "
            f"got {shown(scorer.get('midpoint'))}"
        )
        fix = "memview calibrate fits it to examples"
        yield mistake("MV415", ("scorer", "midpoint"), text, fix)
    if slope is None or not 0 < slope <= _STEEPEST:
        text = (
            f"slope must be a number above 0 and up to {_STEEPEST}, "
            f"got {shown(scorer.get('slope'))}"
        )
        fix = "memview calibrate fits it to examples"
        yield mistake("MV415", ("scorer", "slope"), text, fix)
    weight = _weight(relevance)
    if weight is None or (1 - weight) * GRID < 1:
        text = (
            f"relevance must be a weight from 0 to below 1, got {shown(relevance)}; "
            "the rest is the weight of what the memory supports"
        )
        yield mistake("MV402", ("scorer", "relevance"), text)
