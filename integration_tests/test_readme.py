"""What the README shows is run as it stands there."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel

from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.core.policy import Policy
from langchain_memview.policies.load import policy_from_text
from langchain_memview.testing.embeddings import WordEmbeddings

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def with_words(example: str, names: dict[str, object]) -> str:
    """Return the example with an embedding model that needs no weights."""
    policy = names["policy"]
    assert isinstance(policy, Policy)
    names["policy"] = replace(policy, scorer=EmbeddingScore("words", "0.5", 20))
    names["WordEmbeddings"] = WordEmbeddings
    return re.sub(r"embedding_model\(.*?\)", "WordEmbeddings()", example)


def test_the_agent_example_and_the_graph_example_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(blocks("yaml")[0], "utf-8")
    names = {"model": ParrotFakeChatModel()}
    agent_example, graph_example, scorer_example = blocks("python")
    exec(agent_example, names)  # noqa: S102 - it is the README's own text
    printed = capsys.readouterr().out
    assert "Plan an affordable dinner." in printed
    assert "credit cards" not in printed
    spent = {a: b.spent for a, b in names["memview"].balances("ana").items()}  # type: ignore[attr-defined]
    assert spent == {"type2_diabetes": Fraction(2, 3), "debt": Fraction(4, 3)}
    exec(graph_example, names)  # noqa: S102 - it is the README's own text
    out = names["graph"].invoke(  # type: ignore[attr-defined]
        {"messages": [("user", "What shall we cook?")]},
        {"configurable": {"thread_id": "t2"}},
        context={"user_id": "ben"},
    )
    assert out["memview"]["views"].keys() == {"food"}
    exec(with_words(scorer_example, names), names)  # noqa: S102 - the same
    scored = names["memview"].remember("ana", "Owes two loans.", slot="finance")  # type: ignore[attr-defined]
    assert scored == 4
    names["saver"].conn.close()  # type: ignore[attr-defined]


def test_the_agent_example_has_at_most_fifteen_lines_of_code():
    code = [line for line in blocks("python")[0].splitlines() if line.strip()]
    assert len(code) <= 15


def test_the_policy_of_the_readme_has_no_errors_or_warnings():
    text = blocks("yaml")[0]
    assert len(text.splitlines()) <= 22
    policy = policy_from_text(text, "policy.yaml")
    assert policy.name == "meal-planner"


def test_the_standing_budget_of_the_readme_is_usable() -> None:
    above = (
        "version: 1\nname: readme\nlayout: {1: food, 2: grocery}\n"
        "attributes: {ulcer: {positions: [1, 2], cap: 2}, '*': {cap: 3}}\n"
    )
    policy = policy_from_text(above + blocks("yaml")[1])
    (facet,) = policy.facets
    assert facet.slots == ("food", "grocery")
    assert facet.epsilon * 12 == 2
