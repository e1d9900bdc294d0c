"""Which view does a memory speak for? Scorers on the shipped sentences, test half only.

A scorer gives one memory a support in [0, 1] for each of the four views of
`scoring_policy.yaml`: `cue` by the policy's cues, an embedding model by
`EmbeddingScorer`'s own formula, with the view's support sentence (`support`) or without
(`view`), calibrated on the dev half as `memview calibrate` does. The support may be
multiplied by `bearing` (rule `bearing`), as the scorer does, or not (`plain`).

top-1
    Share of English evidence whose own view has the most support; a tie of n views
    counts 1/n, no support at all 0. `top-1 other languages`: the same for the others.
neutral
    Area under the curve of own-view support: English evidence against neutrals.
hard
    The same against the hard negatives of the same view, all kinds together, and each.

`all` is the mean over the four attributes. Intervals are those of `intervals`. With a
folder of data the evidence sentences of `transfer/evidence.jsonl` are compared with
sentences of `locomo/msc_personas_all.json`, a few of which may support an attribute.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_memview.bench.calibrating import Example, calibrate, hypotheses
from langchain_memview.bench.intervals import Estimate, Scores, area, share
from langchain_memview.bench.scoring_data import Texts, english, shipped
from langchain_memview.bench.sentences import ATTRIBUTES, HARD_KINDS
from langchain_memview.core.policy import Policy
from langchain_memview.policies import load_policy
from langchain_memview.scorers import PositionScorer
from langchain_memview.scorers.embedding import supports_by_vectors
from langchain_memview.scorers.whose import bearing
from langchain_memview.vectors import model_name, public_vectors, unit_vectors

Supports = Callable[[Sequence[str]], Scores]
"""Texts to supports in [0, 1], shape `(n, 4)`, one column for each attribute."""


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        data: "shipped" or "transfer".
        scorer: Name of the scorer.
        compared: What memories are compared with: "cues", "view" or "support".
        rule: "plain" or "bearing".
        measure: "top-1", "neutral", "hard" or a kind of hard negatives.
        attribute: The attribute, or "all".
        value: The figure, in [0, 1].
        low: Lower end of its 95 % interval.
        high: Upper end.
        count: How many sentences it is about.
    """

    data: str
    scorer: str
    compared: str
    rule: str
    measure: str
    attribute: str
    value: float
    low: float
    high: float
    count: int


def scoring_policy(compared: str = "support") -> Policy:
    """Return the policy that scorers are measured with.

    Args:
        compared: `support` as it is; `view` without its support sentences.
    """
    file = resources.files("langchain_memview.bench") / "scoring_policy.yaml"
    with resources.as_file(file) as path:
        policy = load_policy(path)
    if compared == "support":
        return policy
    (slot,) = policy.slots
    bare = {name: replace(view, support="") for name, view in slot.vocabulary.items()}
    return replace(policy, slots=[replace(slot, views=bare)])


def by_cues() -> Supports:
    """Return the cue scorer: 1 for each view of which a cue is found."""
    (slot,), scorer = scoring_policy().slots, PositionScorer()

    def supports(texts: Sequence[str]) -> Scores:
        rows = [scorer.position_support(slot, text) for text in texts]
        return np.array(rows, np.float64)[:, 1:]

    return supports


def by_embeddings(embeddings: Embeddings, compared: str) -> Supports:
    """Return the embedding scorer without `bearing`, calibrated on the dev half.

    Args:
        embeddings: Any model.
        compared: `view` or `support`: with which text of a view memories are compared.
    """
    policy = scoring_policy(compared)
    dev = english(shipped("dev"))
    examples = [
        Example(text, (f"memory.{view}",) if view else (), kind)
        for text, view, kind in zip(dev.texts, dev.views, dev.kinds, strict=True)
    ]
    score = calibrate(policy, embeddings, model_name(embeddings), examples).score
    views = public_vectors(embeddings, hypotheses(policy))

    def supports(texts: Sequence[str]) -> Scores:
        vectors = unit_vectors(embeddings, texts)
        return supports_by_vectors(vectors, views, score).astype(np.float64)

    return supports


def measure(
    scorer: str, compared: str, supports: Supports, data: str, texts: Texts
) -> list[Row]:
    """Return all rows of one scorer on one set of texts, plain and with `bearing`.

    Args:
        scorer: Its name.
        compared: What it compares memories with.
        supports: The scorer.
        data: Name of the texts.
        texts: The texts; their kinds say what can be measured.
    """
    plain = supports(texts.texts)
    factor = np.array([bearing(text) for text in texts.texts])[:, None]
    return [
        Row(data, scorer, compared, rule, named, attribute, *_fields(estimate))
        for rule, found in (("plain", plain), ("bearing", plain * factor))
        for named, attribute, estimate in _figures(found, texts)
    ]


def _fields(estimate: Estimate) -> tuple[float, float, float, int]:
    return estimate.value, estimate.low, estimate.high, estimate.count


def _figures(found: Scores, texts: Texts) -> list[tuple[str, str, Estimate]]:
    """Return measure, attribute and figure, as far as the texts have the kinds."""
    figures = [("top-1", *one) for one in _firsts(found, texts, ("en",))]
    others = tuple({*texts.languages} - {"en"})
    if others:
        figures.append(("top-1 other languages", *_firsts(found, texts, others)[0]))
    inside = english(texts)
    known = found[[language == "en" for language in texts.languages]]
    for named, kinds in (
        ("neutral", ("neutral",)),
        ("hard", HARD_KINDS),
        *((kind, (kind,)) for kind in HARD_KINDS),
    ):
        if inside.of(*kinds).any():
            figures += [(named, *one) for one in _areas(known, inside, kinds)]
    return figures


def _firsts(
    found: Scores, texts: Texts, languages: Sequence[str]
) -> list[tuple[str, Estimate]]:
    """Return the share of evidence whose own view comes first, in all and by attribute."""
    rows = [
        number
        for number, (kind, language) in enumerate(
            zip(texts.kinds, texts.languages, strict=True)
        )
        if kind == "evidence" and language in languages
    ]
    columns = [ATTRIBUTES.index(texts.views[number]) for number in rows]
    best = found[rows].max(axis=1)
    tied = (found[rows] == best[:, None]).sum(axis=1)
    own = found[rows, columns]
    won = np.where((own == best) & (best > 0), 1 / tied, 0.0)
    figures = [("all", share(won))]
    for column, name in enumerate(ATTRIBUTES):
        mine = np.array(columns) == column
        if mine.any():
            figures.append((name, share(won[mine])))
    return figures


def _areas(
    found: Scores, texts: Texts, kinds: Sequence[str]
) -> list[tuple[str, Estimate]]:
    """Return the areas for evidence against some kinds, in all and by attribute."""
    positives, negatives = [], []
    views = np.array(texts.views)
    for column, name in enumerate(ATTRIBUTES):
        own = (views == name) | (views == "")
        positives.append(found[texts.of("evidence") & own, column])
        negatives.append(found[texts.of(*kinds) & own, column])
    shared = kinds == ("neutral",)
    common = [0] * len(ATTRIBUTES) if shared else list(range(len(ATTRIBUTES)))
    figures = [("all", area(positives, negatives, common=common))]
    for name, p, n in zip(ATTRIBUTES, positives, negatives, strict=True):
        figures.append((name, area([p], [n], common=[0])))
    return figures


def write_csv(rows: Sequence[Row], file: Path) -> None:
    """Write the rows to a file, one a line, under their field names.

    Raises:
        OSError: The file cannot be written.
    """
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
