"""The JSON schema tells an editor the shape of a policy file."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from langchain_memview.policies import policy_schema

EXAMPLE = Path(__file__).parents[2] / "examples/meal_policy.yaml"


def example() -> Any:
    """Return the example as an editor sees it: JSON, so with text keys."""
    return json.loads(json.dumps(yaml.safe_load(EXAMPLE.read_text("utf-8"))))


def is_valid(document: Any) -> bool:
    return jsonschema.Draft202012Validator(policy_schema()).is_valid(document)


def test_it_is_a_schema_of_draft_2020_12() -> None:
    schema = policy_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema


def test_the_example_fits() -> None:
    assert is_valid(example())


def test_every_optional_key_fits() -> None:
    document = example()
    document["scope"] = "audience"
    document["when_full"] = "oldest"
    document["sensitivity"] = 1
    document["scorer"] = {"relevance": 0.4, "compatibility": "2/5", "specificity": 0.2}
    document["budget"] = {"mode": "preallocated", "planned": {"debt": 3}}
    document["slots"]["food"] |= {"capacity": 2, "read": [2], "charge": ["debt"]}
    document["attributes"]["debt"] = {"positions": ["food", 4], "cap": "2/3"}
    assert is_valid(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("atributes", {}),
        ("version", 2),
        ("name", ""),
        ("scope", "app"),
        ("when_full", "newest"),
        ("layout", {}),
        ("layout.0", "food"),
        ("layout.1", 5),
        ("attributes", {}),
        ("attributes.debt.cap", 0),
        ("attributes.debt.cap", "two"),
        ("attributes.debt.cap", True),
        ("attributes.debt.positions", []),
        ("attributes.debt.positions", [0]),
        ("attributes.debt.note", "text"),
        ("budget", {"mode": "daily"}),
        ("budget", {"mode": "standing", "epochs": "content"}),
        ("budget", {"mode": "standing", "epochs": {"turns": 0, "planned": 2}}),
        ("budget", {"mode": "standing", "top": 0}),
        ("budget", {"mode": "online"}),
        ("budget.k", 0),
        ("budget.k", 2.5),
        ("budget.planned", {}),
        ("slots", {}),
        ("slots.food.views", {"other": "No generic view."}),
        ("slots.food.views.comfort", {"cues": ["x"]}),
        ("slots.food.views.comfort", {"say": "Hi.", "cue": ["x"]}),
        ("slots.food.when", "dinner"),
        ("slots.food.read", "semantic"),
        ("slots.food.capacity", None),
        ("scorer", {"relevance": 1}),
        ("sensitivity", 2),
    ],
)
def test_a_broken_policy_does_not_fit(path: str, value: object) -> None:
    document = example()
    *parents, last = path.split(".")
    place = document
    for key in parents:
        place = place[key]
    place[last] = value
    assert not is_valid(document)


def test_every_key_has_a_description_or_a_constant() -> None:
    schema = policy_schema()
    for model in [schema, *schema["$defs"].values()]:
        assert model["description"]
        for field in model["properties"].values():
            assert "description" in field or "const" in field
