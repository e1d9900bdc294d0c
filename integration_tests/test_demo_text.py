"""The tour for real: Chroma and SQLite on disk, `create_agent`, and no network."""

import csv
import json
import re
import socket
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
import typer
from pydantic import Field
from pytest_socket import disable_socket, enable_socket
from typer.testing import CliRunner

from langchain_memview._cli.demo import demo_command
from langchain_memview.demo.chef import MealChef
from langchain_memview.demo.policy import meal_policy
from langchain_memview.demo.recipes import dishes, rows
from langchain_memview.demo.run import open_planner
from langchain_memview.demo.tour import SEED, TOUR
from langchain_memview.demo.user import MEMORIES
from langchain_memview.models.unavailable import ModelUnavailableError

SHARED = Path(__file__).parents[1].parent / "shared"

app = typer.Typer()
app.command("demo")(demo_command)


@app.callback()
def main() -> None:
    """Stand in for `memview`, so that `demo` is a command of it."""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    # Whoever has tracing switched on sends nothing from the demo either.
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


class WatchedChef(MealChef):
    """Keeps every prompt that it was given."""

    prompts: list[str] = Field(default_factory=list)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.prompts.append("\n".join(message.text for message in messages))
        return super()._generate(messages, stop, run_manager, **kwargs)


def words(*texts):
    return set(re.findall(r"[^\W\d_]{5,}", " ".join(texts).casefold()))


def private_words():
    """Return the words that nothing public contains: neither policy, tour nor table."""
    policy = json.dumps(meal_policy().document(), default=str)
    asked = (text for q in TOUR for text in (q.text, q.about))
    public = words(policy, *asked, *(dish.name for dish in dishes()))
    return words(*MEMORIES.values()) - public


def demo(*options, code=0):
    result = CliRunner().invoke(app, ["demo", *options])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def tour():
    """Play the tour once; give its turns and the prompts of the model."""
    chef = WatchedChef(prompts=[])
    with open_planner(None, chef, SEED) as planner:
        turns = [planner.ask(question.text) for question in TOUR]
    return turns, chef.prompts


def test_no_ledger_passes_its_cap_and_none_goes_down(tour):
    turns, _ = tour
    before = dict.fromkeys(meal_policy().caps, Fraction(0))
    for turn in turns:
        for name, balance in turn.balances.items():
            assert before[name] <= balance.spent <= balance.cap == 2
            before[name] = balance.spent
    assert before == {
        "type2_diabetes": 2,
        "pregnancy": Fraction(4, 3),
        "severe_debt": 2,
        "job_loss": 2,
    }


def test_the_fourth_turn_is_figure_2(tour):
    turn = tour[0][3]
    assert turn.question == "Plan an affordable dinner for tonight."
    food, finance = turn.slots
    assert (food.slot, food.view, food.outcome) == ("food", "generic", "generic")
    assert food.blocked_by == ("type2_diabetes",)
    assert (food.charged, food.epsilon) == ((), 0)
    assert (finance.slot, finance.view) == ("finance", "strict_budget")
    assert (finance.outcome, finance.blocked_by) == ("selected", ())
    assert (finance.charged, finance.epsilon) == (("severe_debt",), Fraction(2, 3))
    spent = {name: balance.spent for name, balance in turn.balances.items()}
    assert spent == {
        "type2_diabetes": 2,
        "pregnancy": 0,
        "severe_debt": Fraction(2, 3),
        "job_loss": 0,
    }
    assert [t.is_figure_2 for t in tour[0]].count(True) == 1


def test_the_model_is_given_the_released_sentences_and_nothing_of_a_memory(tour):
    turns, prompts = tour
    assert len(prompts) == len(turns) == 12
    for turn, prompt in zip(turns, prompts, strict=True):
        sentences = {line.say for line in turn.slots}
        for slot in meal_policy().slots:
            for view in slot.vocabulary.values():
                assert (view.say in prompt) == (view.say in sentences)
        assert turn.question in prompt
        assert not words(prompt) & private_words()


def test_there_are_private_words_to_look_for():
    assert {"metformin", "midwife"} & private_words() == set()  # public: they are cues
    assert {"carmela", "ultrasound", "bailiff", "cannery"} <= private_words()
    assert len(private_words()) > 80


def test_no_private_word_is_printed_or_kept_beside_the_memories(tmp_path):
    printed = demo("--text", "--dir", str(tmp_path)).output
    assert "Figure 2 of the paper" in printed
    assert not words(printed) & private_words()
    files = [path for path in tmp_path.glob("planner.sqlite*") if path.is_file()]
    kept = b"".join(path.read_bytes() for path in files).lower()
    assert b"very cheap" in kept or b"strict_budget" in kept
    assert not [w for w in private_words() if w.encode() in kept and len(w) > 6]


def test_a_second_tour_in_the_same_folder_goes_on_with_the_same_ledgers(tmp_path):
    first = json.loads(demo("--json", "--dir", str(tmp_path)).stdout)
    spent = first["turns"][-1]["ledgers"]
    again = json.loads(demo("--json", "--dir", str(tmp_path)).stdout)
    assert again["turns"][0]["ledgers"] == spent
    last = again["turns"][-1]["ledgers"]
    assert {name: ledger["spent"] for name, ledger in last.items()} == {
        "type2_diabetes": "2",
        "pregnancy": "2",
        "severe_debt": "2",
        "job_loss": "2",
    }
    views = {s["view"] for t in again["turns"][:4] for s in t["slots"]}
    assert views == {"generic"}
    told = " ".join(demo("--turns", "1", "--dir", str(tmp_path)).stdout.split())
    assert "the ledgers go on from what was spent" in told
    assert "a first private selection" not in told


@pytest.mark.parametrize("form", ["--text", "--json"])
def test_the_same_seed_prints_the_same_bytes(form):
    assert demo(form, "--seed", "5").stdout == demo(form, "--seed", "5").stdout
    assert demo(form, "--seed", "5").stdout != demo(form, "--seed", "6").stdout


def test_json_is_one_document_with_the_facts_of_the_tour(tour):
    plain = json.loads(demo("--json").stdout)
    assert plain["schema"] == "memview.demo/1"
    assert [t["answer"] for t in plain["turns"]] == [t.answer for t in tour[0]]
    assert [t["figure_2"] for t in plain["turns"]].index(True) == 3


def test_a_tour_looks_up_no_host_even_where_tracing_is_switched_on(monkeypatch):
    asked = []

    def lookup(host, *_, **__):
        asked.append(host)
        raise OSError("no network")

    # Libraries that report home swallow errors, so it is the attempt that counts.
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    demo("--text")
    assert asked == []


def test_piped_output_has_no_control_characters():
    text = demo("--text", "--turns", "4").stdout
    assert not [c for c in text if ord(c) < 32 and c != "\n"]
    assert "12." not in text


def test_real_coins_play_the_tour_too():
    result = demo("--seed", "random")
    assert "fresh coins" in result.stdout
    assert "--text" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--turns", "0"),
        ("--turns", "13"),
        ("--seed", "dice"),
        ("--model", "gpt"),
        ("--no-such-option",),
    ],
)
def test_wrong_usage_is_exit_code_2(options):
    demo(*options, code=2)


def test_what_cannot_run_is_exit_code_3_and_one_line(tmp_path, monkeypatch):
    def init(*_, **__):
        raise ImportError("`pip install langchain-openai`")

    monkeypatch.setattr("langchain.chat_models.init_chat_model", init)
    result = demo("--text", "--model", "openai:gpt-5", code=3)
    assert result.stderr.strip().endswith("pip install langchain-openai")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""

    file = tmp_path / "file"
    file.write_text("no folder")
    assert "folder cannot be used" in demo("--dir", str(file), code=3).stderr
    (tmp_path / "planner.sqlite").write_bytes(b"no database" * 100)
    demo("--text", "--dir", str(tmp_path), code=3)


def test_a_model_that_fails_is_one_error_and_the_charge_stays(tmp_path):
    class Broken(MealChef):
        def _generate(self, *_, **__):
            raise ConnectionError("refused\nlong story")

    with open_planner(tmp_path, Broken(), SEED) as planner:
        with pytest.raises(ModelUnavailableError, match="ConnectionError: refused"):
            planner.ask(TOUR[0].text)
        assert planner.balances["type2_diabetes"].spent == Fraction(2, 3)


def test_memories_are_in_chroma_and_what_was_spent_is_in_the_conversations_file(
    tmp_path,
):
    with open_planner(tmp_path, MealChef(), SEED) as planner:
        planner.ask(TOUR[0].text)
    assert (tmp_path / "memories" / "chroma.sqlite3").is_file()
    with closing(sqlite3.connect(tmp_path / "planner.sqlite")) as connection:
        tables = {
            row[0] for row in connection.execute("SELECT name FROM sqlite_master")
        }
    assert {"checkpoints", "memview_balance"} <= tables


@pytest.mark.shared_data
def test_the_ingredient_facts_are_the_ones_of_the_usda():
    file = SHARED / "data" / "usda_sr28" / "sr28_macros.csv"
    with file.open(newline="", encoding="utf-8") as table:
        usda = {row["ndb_no"]: row for row in csv.DictReader(table)}
    for row in rows("ingredients.csv"):
        source = usda[row["ndb_no"]]
        for figure in row.keys() - {"ingredient", "ndb_no", "price"}:
            assert float(row[figure]) == float(source[figure]), row["ingredient"]
