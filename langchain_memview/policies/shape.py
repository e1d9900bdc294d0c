"""The shape of a policy file: its keys, what each holds, and the JSON schema of it.

The models say which keys and containers exist. What the values must be to keep the
guarantee is judged once, by `core.checks`, for YAML and Python alike.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from langchain_memview.core.views import GENERIC

_NUMBER_SCHEMA = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\d+(\.\d+)?(/[1-9]\d*)?$"},
    ]
}
_WEIGHT_SCHEMA = {
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": r"^\d+(\.\d+)?(/[1-9]\d*)?$"},
    ]
}
_COUNT_SCHEMA = {"type": "integer", "minimum": 1}
_EPOCHS_SCHEMA = {
    "anyOf": [
        {"const": "never"},
        *(
            {
                "type": "object",
                "properties": {
                    name: {"type": "string", "format": "date"}
                    if name == "start"
                    else _COUNT_SCHEMA
                    for name in names
                },
                "required": names,
                "additionalProperties": False,
            }
            for names in (
                ["turns", "planned"],
                ["days", "start", "planned"],
                ["renewals"],
            )
        ),
    ]
}
_LAYOUT_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"pattern": "^[1-9][0-9]*$"},
    "additionalProperties": {"type": "string"},
}

# `Any` where the checks of the core judge the value and know what to say about it.
Number = Annotated[Any, WithJsonSchema(_NUMBER_SCHEMA)]
Weight = Annotated[Any, WithJsonSchema(_WEIGHT_SCHEMA)]
Count = Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})]
Position = Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})]
GroupItem = Annotated[
    Any,
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}),
]


Fallback = Annotated[Any, WithJsonSchema({"enum": ["generic", "latest", "posterior"]})]
_FALLBACK = (
    "What is shown when a cap forbids a selection: the generic view, the latest view "
    "that was released, or the most likely one given all that were."
)


def _without_null_defaults(schema: dict[str, Any]) -> None:
    # A key that may be left out may not be written as null: it would say nothing.
    for field in schema["properties"].values():
        if field.get("default", "") is None:
            del field["default"]


class Shape(BaseModel):
    """A mapping of a policy file; other keys than its own are refused."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra=_without_null_defaults
    )


class AttributeShape(Shape):
    """A property of the user whose inference is limited."""

    positions: list[GroupItem] = Field(
        default=[],
        description="Every position whose content may hint at the attribute; a slot's "
        "name stands for all of its positions. Only the attribute '*', the whole "
        "memory, has none.",
        json_schema_extra={"minItems": 1},
    )
    cap: Number = Field(
        description="What the whole transcript may reveal about it, in nats: the odds "
        "of an observer change at most e^cap-fold.",
        examples=[2.0],
    )


class OnlineShape(Shape):
    """Each charged release costs the smallest affected cap divided by k."""

    mode: Literal["online"]
    k: Count = Field(description="How many equal charges a cap can pay for.")
    fallback: Fallback = Field(default=None, description=_FALLBACK)


class PreallocatedShape(Shape):
    """Each charged release costs the smallest affected cap by its planned count."""

    mode: Literal["preallocated"]
    planned: dict[Any, Count] = Field(
        description="Attribute name to the planned number of charges."
    )
    fallback: Fallback = Field(default=None, description=_FALLBACK)


class StandingShape(Shape):
    """One release per facet and epoch, shown again at no cost."""

    mode: Literal["standing"]
    epochs: Annotated[Any, WithJsonSchema(_EPOCHS_SCHEMA)] = Field(
        default="never",
        description="When a facet may be drawn again: a public schedule, whose epochs "
        "share the facet's budget from the start.",
    )
    threshold: Number = Field(
        default=None,
        description="Share of the most support from which on a view counts as "
        "supported; 0.5 by default.",
    )
    top: Count = Field(
        default=None,
        description="How many of the best supported views are equally likely; 1 by "
        "default.",
    )


class ScorerShape(Shape):
    """Weights of the three-term scorer; they add up to at most 1."""

    relevance: Weight = Field(
        description="Weight of the public relevance to the query."
    )
    compatibility: Weight = Field(description="Weight of the fit to the memories.")
    specificity: Weight = Field(description="Weight of how specific the memories are.")


class EmbeddingShape(Shape):
    """How the cosine of a memory and a view becomes support; `memview calibrate`."""

    model: str = Field(description="Name of the embedding model they were fitted for.")
    midpoint: Annotated[
        Any,
        WithJsonSchema(
            {"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 1}
        ),
    ] = Field(description="Cosine at which a memory supports a view by one half.")
    slope: Number = Field(description="How fast the support rises there.")
    relevance: Weight = Field(
        default=None,
        description="Weight of a view's fit to the query, below 1; 0 by default, and "
        "then no query is embedded.",
    )


class ViewShape(Shape):
    """One public way to answer."""

    say: str = Field(description="The sentence that the chat model is given.")
    cues: list[str] = Field(
        default=[],
        description="Words or word beginnings that, in a memory, speak for this view; their "
        "inflections count too.",
    )
    support: str = Field(
        default="",
        description="What a memory says that speaks for this view, for embeddings; the "
        "chat model is never given it.",
        json_schema_extra={"minLength": 1},
    )


_BUDGETS: dict[object, type[Shape]] = {
    "online": OnlineShape,
    "preallocated": PreallocatedShape,
    "standing": StandingShape,
}


def _budget_kind(value: Any) -> Any:
    mode = value.get("mode") if isinstance(value, Mapping) else "online"
    return mode if isinstance(mode, str) and mode in _BUDGETS else None


def _scorer_kind(value: Any) -> str:
    calibrated = isinstance(value, Mapping) and "model" in value
    return "embedding" if calibrated else "weights"


def _view_kind(value: Any) -> str:
    return "view" if isinstance(value, Mapping) else "sentence"


View = Annotated[
    Annotated[str, Tag("sentence")] | Annotated[ViewShape, Tag("view")],
    Discriminator(_view_kind),
]
Scorer = Annotated[
    Annotated[ScorerShape, Tag("weights")]
    | Annotated[EmbeddingShape, Tag("embedding")],
    Discriminator(_scorer_kind),
]
Budget = Annotated[
    Annotated[OnlineShape, Tag("online")]
    | Annotated[PreallocatedShape, Tag("preallocated")]
    | Annotated[StandingShape, Tag("standing")],
    Discriminator(_budget_kind),
]


class SlotShape(Shape):
    """A topic of memory: when it is active, what it reads and how it may answer."""

    when: list[str] = Field(
        default=[], description="Words and phrases of a query that activate the slot."
    )
    capacity: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 0})] = Field(
        default=None,
        description="Number of positions; the layout says it if there is one.",
    )
    read: Annotated[
        Any,
        WithJsonSchema({"type": "array", "items": {"type": "integer", "minimum": 1}}),
    ] = Field(default=None, description="Positions to read; all of its own by default.")
    charge: list[str] = Field(
        default=[],
        description="Attributes to charge; derived by default. It may name more than "
        "the affected ones, never fewer.",
    )
    about: str = Field(
        default="",
        description="What queries of this slot are about, in a sentence, for routers "
        "that compare meanings.",
    )
    facet: str = Field(
        default="",
        description="Slots of one facet share their view names and one standing release.",
    )
    views: dict[Any, View] = Field(
        description="View name to its sentence, or to sentence and cues.",
        json_schema_extra={"required": [GENERIC]},
    )


class PolicyShape(Shape):
    """Who is protected from what, and how much an application may learn in total."""

    version: Annotated[Any, WithJsonSchema({"const": 1})] = Field(
        description="Version of this format."
    )
    name: Annotated[Any, WithJsonSchema({"type": "string", "minLength": 1})] = Field(
        description="Name of the policy; part of the name of its ledgers."
    )
    layout: Annotated[dict[Any, Any], WithJsonSchema(_LAYOUT_SCHEMA)] = Field(
        default={}, description="Position (1, 2, … n) to slot name."
    )
    attributes: dict[Any, AttributeShape] = Field(
        description="Protected attributes.", json_schema_extra={"minProperties": 1}
    )
    budget: Budget = Field(description="How much one release costs.")
    scorer: Scorer | None = Field(
        default=None,
        description="Weights of the paper's scorer, or the calibration of an embedding "
        "model; cues by default.",
    )
    sensitivity: Annotated[
        Any, WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1})
    ] = Field(default=None, description="Derived; only a larger one may be given.")
    scope: Annotated[Any, WithJsonSchema({"enum": ["subject", "audience"]})] = Field(
        default="subject",
        description="subject: one ledger for all applications. audience: one for each, "
        "which holds only if they do not pool what they see.",
    )
    when_full: Annotated[Any, WithJsonSchema({"enum": ["refuse", "oldest"]})] = Field(
        default="refuse",
        description="What a memory does that finds every position of its slot taken: "
        "it is refused, or replaces the oldest one.",
    )
    slots: dict[Any, SlotShape] = Field(
        description="Slots, in the order in which they are processed.",
        json_schema_extra={"minProperties": 1},
    )


def policy_schema() -> dict[str, Any]:
    """Return the JSON schema of a policy file, draft 2020-12, for editors."""
    schema = PolicyShape.model_json_schema()
    schema["title"] = "langchain_memview policy, version 1"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def keys_at(path: tuple[Any, ...], document: Mapping[str, Any]) -> list[str]:
    """Return the keys that the mapping at the end of the path may have.

    Args:
        path: Keys that lead to a mapping of fixed keys.
        document: The policy document, which says the budget's mode.
    """
    section, depth = path[0] if path else "", len(path)
    shape: type[Shape] = PolicyShape
    if section == "budget":
        shape = _BUDGETS.get(_budget_kind(document["budget"]), PreallocatedShape)
    elif section == "attributes":
        shape = AttributeShape
    elif section == "scorer":
        embedding = _scorer_kind(document["scorer"]) == "embedding"
        shape = EmbeddingShape if embedding else ScorerShape
    elif section == "slots":
        shape = ViewShape if depth > 2 else SlotShape
    return list(shape.model_fields)
