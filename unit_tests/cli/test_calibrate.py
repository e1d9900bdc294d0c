"""`memview calibrate`: fitted to examples, written into the policy, honest about kinds."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_memview._cli.app import app
from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.policies import load_policy

POLICY = """version: 1
name: notes
attributes: {debt: {positions: [money], cap: 2}}
budget: {mode: standing}
slots:
  money:
    capacity: 3
    views:
      generic: Assume an ordinary budget.
      cheap: {say: Keep it cheap., support: The user owes money to a bank.}
      rich: {say: Spend freely., support: The user got a large bonus.}
"""
EXAMPLES = [
    ("I owe money to the bank.", "cheap", "evidence"),
    ("She still owes the bank some money.", "money.cheap", "evidence"),
    ("Owes money on two cards.", ["cheap"], "evidence"),
    ("A large bonus came in spring.", "rich", "evidence"),
    ("The user got bonus pay.", "rich", "evidence"),
    ("Sings in a choir on Tuesdays.", "", "neutral"),
    ("My left knee hurts.", "", "neutral"),
    ("Likes mushrooms in autumn.", [], "neutral"),
    ("My brother owes money to the bank.", "cheap", "other_person"),
    ("I do not owe money to any bank.", "cheap", "negated"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    policy, examples = tmp_path / "policy.yaml", tmp_path / "examples.jsonl"
    policy.write_text(POLICY)
    lines = [dict(zip(("text", "view", "kind"), e, strict=True)) for e in EXAMPLES]
    examples.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return policy, examples


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(a) for a in ("calibrate", *arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_it_fits_prints_and_writes(files: tuple[Path, Path]) -> None:
    policy, examples = files
    arguments = (policy, "--model", "ngrams:1024", "--examples", examples)
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "memview.calibration/1"
    kinds = {kind.pop("kind"): kind for kind in document["kinds"]}
    assert list(kinds) == ["evidence", "neutral", "negated", "other_person"]
    assert kinds["evidence"] == {"count": 5, "supported": 1.0, "auc": None}
    assert kinds["neutral"] == {"count": 3, "supported": 0.0, "auc": 1.0}
    assert load_policy(policy).scorer is None

    code, out, err = run(*arguments, "--write")
    assert code == 0
    assert "tells them apart" in out
    scorer = load_policy(policy).scorer
    assert isinstance(scorer, EmbeddingScore)
    assert scorer.model == "ngrams-1024"
    assert str(scorer.midpoint) == str(load_policy(policy).scorer.midpoint)
    assert float(scorer.midpoint) == pytest.approx(
        float(document["scorer"]["midpoint"])
    )


def test_a_new_fit_keeps_the_weight_of_the_query(files: tuple[Path, Path]) -> None:
    policy, examples = files
    line = "scorer: {model: old, midpoint: 0, slope: 1, relevance: 0.25}\nslots:"
    policy.write_text(POLICY.replace("slots:", line))
    assert (
        run(policy, "--model", "ngrams:64", "--examples", examples, "--write")[0] == 0
    )
    scorer = load_policy(policy).scorer
    assert isinstance(scorer, EmbeddingScore)
    assert (scorer.model, float(scorer.relevance)) == ("ngrams-64", 0.25)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "examples.jsonl:1 is no example"),
        ('{"text": "x", "kind": "neutral"}', "examples.jsonl:1 is no example"),
        ('{"text": " ", "view": "", "kind": "neutral"}', "has no text"),
        ('{"text": "x", "view": "chaep", "kind": "past"}', "'chaep', which is no view"),
        ('{"text": "x", "view": "", "kind": "neutral"}', "examples of kind evidence"),
        (
            '{"text": "x", "view": ["cheap", "rich"], "kind": "evidence"}',
            "neutral ones",
        ),
    ],
)
def test_examples_that_cannot_be_used_are_named(
    files: tuple[Path, Path], line: str, said: str
) -> None:
    policy, examples = files
    examples.write_text(line)
    code, out, err = run(policy, "--model", "ngrams:64", "--examples", examples)
    assert (code, out) == (3, "")
    assert said in err


def test_models_and_files_that_are_not_there(files: tuple[Path, Path]) -> None:
    policy, examples = files
    for model, said in (
        ("minilm", "names no embedding model"),
        ("ngrams:few", "cannot be loaded (ValueError"),
        ("nobody:x", "cannot be loaded"),
    ):
        code, _, err = run(policy, "--model", model, "--examples", examples)
        assert (code, said in err) == (3, True), err
    missing = policy.with_name("missing.yaml")
    assert run(missing, "--model", "ngrams:64", "--examples", examples)[0] == 3
    assert run(policy, "--model", "ngrams:64", "--examples", missing)[0] == 3
    policy.write_text("version: 2")
    assert run(policy, "--model", "ngrams:64", "--examples", examples)[0] == 1
