"""`memview policy`: what is printed, where, and with which exit code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from langchain_memview._cli.app import app, main
from langchain_memview.policies import load_policy

EXAMPLE = Path(__file__).parents[2] / "examples/meal_policy.yaml"
MAIN = "from langchain_memview._cli.app import main; main()"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a folder with a good policy, a broken one and one with a warning."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    good = EXAMPLE.read_text("utf-8")
    Path("meal_policy.yaml").write_text(good, "utf-8")
    bad = good.replace("6: work}", "6: wrok}").replace(
        "[3, 4, 5], cap: 2.0", "[3, 4, 7], cap: 8"
    )
    Path("bad_policy.yaml").write_text(bad, "utf-8")
    warned = good.replace("[3, 4, 5], cap: 2.0", "[3, 4, 5], cap: 8")
    Path("warned.yaml").write_text(warned, "utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["policy", *arguments])


def program(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real program with its output in pipes."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        check=False,
    )


GOOD_OUTPUT = """\
meal_policy.yaml:10:3 note[MV501] slot 'food': the best of its 4 views is picked 32 in 100 times at ε=0.67 (chance is 25)
  fix: fewer views, a smaller k or a larger cap make selections more useful
meal_policy.yaml:17:3 note[MV501] slot 'finance': the best of its 3 views is picked 41 in 100 times at ε=0.67 (chance is 33)
  fix: fewer views, a smaller k or a larger cap make selections more useful
meal_policy.yaml:23:3 note[MV501] slot 'health': the best of its 3 views is picked 41 in 100 times at ε=0.67 (chance is 33)
  fix: fewer views, a smaller k or a larger cap make selections more useful
meal_policy.yaml:29:3 note[MV503] slot 'work' reads positions [6], which no attribute protects: its best view is released as is, uncharged
  fix: add the positions to an attribute if they can hint at it
✓ meal_policy.yaml is usable: 0 errors, 0 warnings, 4 notes
"""

BAD_OUTPUT = """\
bad_policy.yaml:4:66 error[MV106] position 6 belongs to slot 'wrok', which is not defined under slots
  fix: did you mean 'work'?
bad_policy.yaml:7:38 error[MV301] attribute 'debt' protects position 7, but the layout has positions 1 to 6
bad_policy.yaml:7:47 warning[MV305] cap 8 lets an observer's odds for 'debt' change 2,981-fold: a 10 in 100 suspicion can become more than 99 in 100
  fix: caps of 1 to 4 keep it between 23 and 86 in 100
bad_policy.yaml:10:3 note[MV501] slot 'food': the best of its 4 views is picked 32 in 100 times at ε=0.67 (chance is 25)
  fix: fewer views, a smaller k or a larger cap make selections more useful
bad_policy.yaml:23:3 note[MV501] slot 'health': the best of its 3 views is picked 41 in 100 times at ε=0.67 (chance is 33)
  fix: fewer views, a smaller k or a larger cap make selections more useful
bad_policy.yaml:29:3 warning[MV502] slot 'work' reads no position; it always returns its generic view
✗ bad_policy.yaml has problems: 2 errors, 2 warnings, 2 notes
"""

SHOW_OUTPUT = """\
meal-planner  6 positions, 4 slots, 2 protected attributes, online budget, k=3

Protected attributes
                                                                      A 10 in 100 suspicion stays
  Attribute        Positions   Cap   Releases   Odds change at most   within
 ─────────────────────────────────────────────────────────────────────────────────────────────────
  type2 diabetes   1, 2, 3     2.0          3                  7.4×   1 to 45 in 100
  debt             3, 4, 5     2.0          3                  7.4×   1 to 45 in 100

Slots
  Slot      Reads   Charges                ε each   Views   Best view picked        Optimum at ε
 ────────────────────────────────────────────────────────────────────────────────────────────────
  food      2, 3    debt, type2 diabetes     0.67       4   32 in 100 (chance 25)      39 in 100
  finance   4, 5    debt                     0.67       3   41 in 100 (chance 33)      49 in 100
  health    1       type2 diabetes           0.67       3   41 in 100 (chance 33)      49 in 100
  work      6       nothing                     0       2   always

Which memories count for what
  Position   type2 diabetes   debt   Slot
 ────────────────────────────────────────────
  1                ●           ·     health
  2                ●           ·     food
  3                ●           ●     food
  4                ·           ●     finance
  5                ·           ●     finance
  6                ·           ·     work
"""


def without_trailing_blanks(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


# ----------------------------------------------------------------------------- check


def test_a_usable_policy_prints_its_notes_and_exits_with_0() -> None:
    result = run("check", "meal_policy.yaml")
    assert (result.stdout, result.exit_code) == (GOOD_OUTPUT, 0)


def test_a_broken_policy_prints_everything_and_exits_with_1() -> None:
    result = run("check", "bad_policy.yaml")
    assert (result.stdout, result.exit_code) == (BAD_OUTPUT, 1)


def test_strict_lets_warnings_fail() -> None:
    assert run("check", "warned.yaml").exit_code == 0
    result = run("check", "warned.yaml", "--strict")
    assert result.exit_code == 1
    assert result.stdout.endswith(
        "✗ warned.yaml has problems: 0 errors, 1 warning, 3 notes\n"
    )
    assert run("check", "meal_policy.yaml", "--strict").exit_code == 0


def test_a_file_that_cannot_be_read_exits_with_3_and_says_so_on_stderr() -> None:
    result = run("check", "nowhere.yaml")
    assert (result.stdout, result.exit_code) == ("", 3)
    assert result.stderr == (
        "nowhere.yaml error[MV108] the file cannot be read: no such file or directory\n"
    )


def test_wrong_usage_exits_with_2_and_suggests_the_command() -> None:
    result = run("chek")
    assert result.exit_code == 2
    assert "Did you mean 'check'" in result.stderr
    assert run("check", "meal_policy.yaml", "--format", "xml").exit_code == 2
    assert run("check").exit_code == 2


CHECK_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema", "ok", "counts", "problems"],
    "properties": {
        "schema": {"const": "memview.policy-check/1"},
        "ok": {"type": "boolean"},
        "counts": {
            "type": "object",
            "required": ["error", "warning", "note"],
            "additionalProperties": {"type": "integer"},
        },
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["code", "level", "path", "line", "col", "msg", "hint"],
                "properties": {
                    "code": {"pattern": "^MV[1-5][0-9]{2}$"},
                    "level": {"enum": ["error", "warning", "note"]},
                    "path": {"type": "string"},
                    "line": {"type": ["integer", "null"]},
                    "col": {"type": ["integer", "null"]},
                    "msg": {"type": "string"},
                    "hint": {"type": "string"},
                },
            },
        },
    },
}


@pytest.mark.parametrize(
    ("file", "code"), [("meal_policy.yaml", 0), ("bad_policy.yaml", 1), ("no.yaml", 3)]
)
def test_json_is_one_document_and_nothing_else(file: str, code: int) -> None:
    result = run("check", file, "--json")
    document = json.loads(result.stdout)
    jsonschema.validate(document, CHECK_SCHEMA)
    assert result.exit_code == code
    assert result.stderr == ""
    assert document["ok"] is (code == 0)


def test_json_holds_what_the_text_says() -> None:
    document = json.loads(run("check", "bad_policy.yaml", "--json").stdout)
    assert document["counts"] == {"error": 2, "warning": 2, "note": 2}
    assert document["problems"][0] == {
        "code": "MV106",
        "level": "error",
        "path": "bad_policy.yaml",
        "line": 4,
        "col": 66,
        "msg": "position 6 belongs to slot 'wrok', which is not defined under slots",
        "hint": "did you mean 'work'?",
    }


def test_github_annotations_are_escaped() -> None:
    Path("a,b.yaml").write_text(Path("bad_policy.yaml").read_text("utf-8"), "utf-8")
    result = run("check", "a,b.yaml", "--format", "github")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert lines[0] == (
        "::error file=a%2Cb.yaml,line=4,col=66,title=MV106::position 6 belongs to slot "
        "'wrok', which is not defined under slots%0Afix: did you mean 'work'?"
    )
    assert lines[1].startswith("::error file=a%2Cb.yaml,line=7,col=38,title=MV301::")
    assert lines[2].startswith("::warning file=a%2Cb.yaml,line=7,col=47,title=MV305::")
    assert lines[3].startswith("::notice file=a%2Cb.yaml,line=10,col=3,title=MV501::")
    missing = run("check", "no.yaml", "--format", "github")
    assert missing.stderr.startswith(
        "::error file=no.yaml,title=MV108::the file cannot"
    )


# ------------------------------------------------------------------------------ show


def test_show_prints_the_tables_of_the_guide() -> None:
    result = run("show", "meal_policy.yaml")
    assert result.exit_code == 0
    assert re.sub("─+", "─", without_trailing_blanks(result.stdout)) == re.sub(
        "─+", "─", SHOW_OUTPUT
    )


OTHER = """\
version: 1
name: other
attributes:
  debt: {positions: [money], cap: 1.25}
  faith: {positions: [diary], cap: 1}
  luck: {positions: [spare], cap: 0.5}
budget: {mode: preallocated, planned: {debt: 4, faith: 1, luck: 1}}
slots:
  money: {capacity: 1, views: {generic: As usual., low: Be thrifty.}}
  both: {capacity: 1, read: [1, 3], views: {generic: Any., other: Another.}}
  diary: {capacity: 1, views: {generic: One.}}
  empty: {capacity: 0, views: {generic: Nothing., more: Something.}}
  spare: {capacity: 1, read: [], views: {generic: Neutral., bold: Be bold.}}
"""


def test_show_says_what_is_spent_when_slots_cost_different_amounts() -> None:
    Path("other.yaml").write_text(OTHER.replace("faith: 1", "faith: 5"), "utf-8")
    result = run("show", "other.yaml")
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert result.stdout.startswith(
        "other  4 positions, 5 slots, 3 protected attributes, preallocated budget\n"
    )
    assert [
        "debt",
        "1",
        "1.25",
        "4",
        "to",
        "6",
        "3.5×",
        "3",
        "to",
        "28",
        "in",
        "100",
    ] in lines
    assert ["luck", "4", "0.5", "none", "1.6×", "6", "to", "15", "in", "100"] in lines
    assert ["diary", "3", "faith", "0.2", "1", "always"] in lines
    assert [
        "empty",
        "nothing",
        "nothing",
        "0",
        "2",
        "never:",
        "it",
        "reads",
        "nothing",
    ] in lines


def test_show_does_not_lose_text_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    lines = run("show", "meal_policy.yaml").stdout.splitlines()
    assert max(map(len, lines[1:])) <= 50
    assert "…" not in "".join(lines)


def test_show_of_a_broken_policy_prints_the_problems_on_stderr() -> None:
    result = run("show", "bad_policy.yaml")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr.startswith("bad_policy.yaml:4:66 error[MV106]")
    assert run("show", "no.yaml").exit_code == 3


def test_show_json_has_exact_and_rounded_numbers() -> None:
    document = json.loads(run("show", "meal_policy.yaml", "--json").stdout)
    assert document["schema"] == "memview.policy-show/1"
    policy = load_policy("meal_policy.yaml")
    assert document["fingerprint"] == policy.fingerprint
    assert document["lineage"] == policy.lineage
    assert document["budget"] == {"mode": "online", "k": 3}
    assert document["attributes"][1] == {
        "name": "debt",
        "positions": [3, 4, 5],
        "cap": 2.0,
        "cap_exact": "2",
        "releases": [3, 3],
        "odds_factor": pytest.approx(7.389, abs=1e-3),
        "suspicion": {
            "before": 0.1,
            "within": [
                pytest.approx(0.0148, abs=1e-4),
                pytest.approx(0.4509, abs=1e-4),
            ],
        },
    }
    assert document["slots"][0] == {
        "name": "food",
        "reads": [2, 3],
        "charges": ["debt", "type2_diabetes"],
        "epsilon": pytest.approx(2 / 3),
        "epsilon_exact": "2/3",
        "views": 4,
        "best_picked": pytest.approx(0.3175, abs=1e-4),
        "chance": 0.25,
        "optimum": pytest.approx(0.3937, abs=1e-4),
        "facet": None,
    }
    assert document["positions"][2] == {
        "position": 3,
        "slot": "food",
        "attributes": ["type2_diabetes", "debt"],
    }


# ------------------------------------------------------------------ schema, program


def test_schema_prints_a_schema_that_the_example_fits() -> None:
    import yaml

    schema = json.loads(run("schema").stdout)
    document: Any = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    jsonschema.validate(json.loads(json.dumps(document)), schema)


def test_the_program_prints_no_control_characters_into_a_pipe() -> None:
    escaped = EXAMPLE.read_text("utf-8").replace("6: work}", '6: "\\e[31mwork"}')
    Path("escaped.yaml").write_text(escaped, "utf-8")
    for arguments, code in [
        (["check", "meal_policy.yaml"], 0),
        (["check", "bad_policy.yaml"], 1),
        (["check", "escaped.yaml"], 1),
        (["show", "meal_policy.yaml"], 0),
        (["chek"], 2),
        (["check", "nowhere.yaml"], 3),
    ]:
        done = program("policy", *arguments)
        assert done.returncode == code, done.stderr
        output = (done.stdout + done.stderr).replace("\n", "")
        assert output.isprintable(), arguments
    assert program("policy", "check", "bad_policy.yaml").stdout == BAD_OUTPUT


def test_an_old_terminal_shows_escapes_instead_of_a_traceback() -> None:
    done = program("policy", "check", "meal_policy.yaml", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"at \u03b5=0.67" in done.stdout


def test_help_and_check_start_without_langchain_and_chroma() -> None:
    heavy = ("langchain", "langchain_core", "langgraph", "chromadb", "torch", "numpy")
    for arguments in (["--help"], ["policy", "check", "meal_policy.yaml"]):
        code = (
            "import sys\nfrom langchain_memview._cli.app import main\n"
            f"sys.argv[1:] = {arguments!r}\n"
            "try:\n    main()\nexcept SystemExit:\n    pass\n"
            f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stderr.strip() == "[]"


def test_the_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["memview", "--version"])
    with pytest.raises(SystemExit) as exited:
        main()
    assert not exited.value.code
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_show_prints_a_standing_policy_with_its_facets_and_epochs(
    tmp_path: Path,
) -> None:
    text = Path("meal_policy.yaml").read_text("utf-8")
    views = "{generic: Any., a: {say: A., cues: [amber]}, b: {say: B., cues: [birch]}}"
    standing = tmp_path / "standing.yaml"
    standing.write_text(
        text[: text.index("layout")]
        + "attributes: {debt: {positions: [food, money], cap: 2}, '*': {cap: 3}}\n"
        + "budget: {mode: standing, epochs: {renewals: 1}}\n"
        + "slots:\n"
        + f"  food: {{when: [x], capacity: 1, facet: taste, views: {views}}}\n"
        + f"  money: {{when: [y], capacity: 1, facet: taste, views: {views}}}\n",
        "utf-8",
    )
    lines = [
        " ".join(line.split())
        for line in run("show", str(standing)).stdout.splitlines()
    ]
    assert (
        "2 positions, 2 slots, 2 protected attributes, standing budget, 2 epochs"
        in lines[0]
    )
    assert "debt 1, 2 2.0 2 7.4× 1 to 45 in 100" in lines
    assert "* 1, 2 3.0 2 20.1× 1 to 69 in 100" in lines
    row = "(taste) 1, 2 *, debt 1 3 58 in 100 (chance 33) 58 in 100"
    assert f"food {row}" in lines
    assert f"money {row}" in lines
    document = json.loads(run("show", str(standing), "--json").stdout)
    assert document["slots"][1]["facet"] == "taste"
    assert document["budget"] == {
        "mode": "standing",
        "epochs": {"renewals": 1},
        "threshold": "1/2",
        "top": 1,
    }
