"""`memview audit`: verdicts, exit codes, files, and no text of a store anywhere."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_memview._cli.app import app

CANARY = "canary-51d owes nine thousand"
POLICY = """\
version: 1
name: audited
layout: {1: food, 2: money}
attributes: {debt: {positions: [1, 2], cap: 1}, health: {positions: [1], cap: 1}}
budget: BUDGET
slots:
  food:
    when: [food]
    views: {generic: Any., a: {say: A., cues: [amber]}, b: {say: B., cues: [birch, owes]}}
  money:
    when: [money]
    views: {generic: Any., a: {say: A., cues: [amber]}}
"""


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return written(tmp_path, "{mode: online, k: 2}")


def written(directory: Path, budget: str) -> Path:
    file = directory / "policy.yaml"
    file.write_text(POLICY.replace("BUDGET", budget), "utf-8")
    return file


def run(*arguments: object):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


@pytest.mark.parametrize(
    ("budget", "ratio"),
    [
        # Food twice; then food twice and money once, in two turns.
        ("{mode: online, k: 2}", "0.6659"),
        ("{mode: preallocated, planned: {debt: 3, health: 2}}", "0.6109"),
        ("{mode: standing}", "1.0000"),
    ],
)
def test_every_mode_is_audited_and_holds(tmp_path: Path, budget: str, ratio: str):
    result = run(written(tmp_path, budget), "--depth", 2)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    (debt,) = (line for line in lines if line[:1] == ["debt"])
    assert debt[1] == ratio
    assert debt[-1] == "holds"
    assert [line[0] for line in lines if line and line[-1] == "holds"][-6:] == [
        f"C{number}" for number in range(1, 7)
    ]


def test_the_json_document_has_the_same_numbers(policy: Path):
    document = json.loads(run(policy, "--depth", 2, "--json").stdout)
    assert document["schema"] == "memview.audit/1"
    assert document["holds"] is True
    debt, health = document["attributes"]
    assert debt["log_ratio"] == pytest.approx(0.6658991)
    assert debt["spent_by_turn"][0] == 0
    assert debt["spent_by_turn"][-1] == debt["spent"] <= debt["cap"] == 1
    assert health["holds"]
    assert len(document["conditions"]) == 6
    assert {one["slot"] for one in document["frequencies"]} == {"food", "money"}


def test_the_page_needs_nothing_else_and_runs_nothing(policy: Path, tmp_path: Path):
    page = tmp_path / "audit.html"
    assert run(policy, "--depth", 2, "--html", page).exit_code == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") == 4  # odds, two ledgers, views against their law
    assert "default-src 'none'" in text
    for loaded in ("<script", "src=", "href=", "url(", "@import"):
        assert loaded not in text
    assert "Every cap and every condition held." in text
    assert (
        run(policy, "--depth", 1, "--html", tmp_path / "no" / "f.html").exit_code == 3
    )


def test_the_operator_s_own_stores_are_compared_and_never_shown(
    policy: Path, tmp_path: Path
):
    store, other, page = (tmp_path / name for name in ("a.json", "b.json", "p.html"))
    store.write_text(json.dumps({"1": CANARY, "2": "amber"}), "utf-8")
    other.write_text(json.dumps({"2": "amber"}), "utf-8")
    own = ["--store", store, "--other", other, "--depth", 2]
    for more in ([], ["--json"], ["--html", page]):
        result = run(policy, *own, *more)
        assert result.exit_code == 0
        assert "canary" not in result.stdout + result.stderr
        assert "1 pairs" in result.stdout or more == ["--json"]
    assert "canary" not in page.read_text("utf-8")
    assert "Views against their law" not in page.read_text("utf-8")


@pytest.mark.parametrize(
    "content",
    [
        CANARY,
        f'["{CANARY}"]',
        f'{{"9": "{CANARY}"}}',
        '{"1": 5}',
        f'{{"x": "{CANARY}"}}',
    ],
)
def test_a_damaged_store_is_refused_without_its_content(
    policy: Path, tmp_path: Path, content: str
):
    store, other = tmp_path / "a.json", tmp_path / "b.json"
    store.write_text(content, "utf-8")
    other.write_text("{}", "utf-8")
    result = run(policy, "--store", store, "--other", other)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "positions 1 to 2" in result.stderr
    assert "canary" not in result.stderr


def test_stores_that_cannot_be_compared_are_refused(policy: Path, tmp_path: Path):
    equal = tmp_path / "a.json"
    equal.write_text("{}", "utf-8")
    result = run(policy, "--store", equal, "--other", equal)
    assert (result.exit_code, "are equal" in result.stderr) == (3, True)
    assert run(policy, "--store", equal).exit_code == 2
    assert run(policy, "--store", equal, "--other", tmp_path / "no.json").exit_code == 3
    apart = tmp_path / "policy2.yaml"
    text = policy.read_text("utf-8").replace("positions: [1, 2]", "positions: [2]")
    apart.write_text(text, "utf-8")
    both = tmp_path / "both.json"
    both.write_text('{"1": "amber", "2": "amber"}', "utf-8")
    result = run(apart, "--store", equal, "--other", both)
    assert (result.exit_code, "any one attribute" in result.stderr) == (3, True)


FAULTS = """\
audited with faults, 3 turns
  Ablation                   Breaks   Found broken   Largest ln ratio      Cap   Verdict
 ────────────────────────────────────────────────────────────────────────────────────────
"""


@pytest.mark.parametrize(
    ("budget", "refresh"), [("{mode: online, k: 2}", 0), ("{mode: standing}", 1)]
)
def test_every_ablation_is_rejected(tmp_path: Path, budget: str, refresh: int):
    result = run(written(tmp_path, budget), "--ablations", "--depth", 3)
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[1:3] == FAULTS.splitlines()[:2]
    table = lines[4:]
    assert len(table) == 8 + refresh
    for line in table:
        name, breaks, *found = line.split()
        assert breaks in " ".join(found), name
        assert found[-1] == "rejected", name


def test_a_policy_that_cannot_be_used_ends_with_its_problems(tmp_path: Path):
    assert run(tmp_path / "no.yaml").exit_code == 3
    broken = written(tmp_path, "{mode: daily}")
    result = run(broken)
    assert (result.exit_code, "MV405" in result.stderr) == (1, True)
    assert run(broken, "--depth", 0).exit_code == 2
