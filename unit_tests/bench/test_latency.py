"""`memview bench latency`: the same memories everywhere, and what is printed of them."""

import csv
import json
from contextlib import ExitStack

import pytest
from typer.testing import CliRunner

from langchain_memview._cli.bench import app
from langchain_memview.bench.latency import FIRST, latency
from langchain_memview.bench.latency_systems import GROUPS, Setting
from langchain_memview.bench.latency_texts import DIMENSION, HashedTexts, Shape

SHAPES = (Shape(1, 60), Shape(3, 10))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_memory_has_one_place(shape):
    places = list(shape.places())
    assert len({(person, position) for person, position, _ in places}) == len(places)
    assert [text for _, _, text in places] == [text for _, text in shape.texts()]
    assert len({person for person, _, _ in places}) == shape.people
    assert len(places) == shape.users * shape.each


def test_a_text_has_a_vector_of_its_own():
    one, again, other = HashedTexts().embed_documents(["a", "a", "b"])
    assert one == again != other
    assert len(one) == DIMENSION
    assert sum(x * x for x in one) == pytest.approx(1, abs=0.2)


def _searches(shape, directory, stack):
    return dict(
        named for group in GROUPS for named in group(Setting(shape, directory, stack))
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_everything_finds_what_it_is_asked_for(shape, tmp_path):
    with ExitStack() as stack:
        searches = _searches(shape, tmp_path, stack)
        found = {name: search(0) for name, search in searches.items()}
    for name, answer in found.items():
        if name.startswith("MemView"):
            (slot,) = answer.slots
            assert slot.slot == "food"
    assert len(found["Chroma, by id"]["ids"]) == shape.positions
    assert len(found["Chroma, query"]["ids"][0]) == 10
    assert len(found["InMemoryStore, vector search"]) == 10
    assert len(json.loads(found["LangMem, search tool"])) == 10
    assert found["classic vector-store memory"]["history"].count("Note") == 10
    (sqlite,) = [name for name in found if name.startswith("SqliteStore")]
    assert len(found[sqlite]) == 10


def test_a_user_is_never_shown_the_memories_of_another(tmp_path):
    shape = Shape(3, 10)
    own = {text for user, text in shape.texts() if user == 7919 % 3}
    with ExitStack() as stack:
        searches = _searches(shape, tmp_path, stack)
        assert set(searches["Chroma, query"](1)["documents"][0]) == own
        stored = searches["InMemoryStore, vector search"](1)
        assert {item.value["text"] for item in stored} == own
        classic = searches["classic vector-store memory"](1)["history"]
        assert set(classic.splitlines()) == own


def test_the_first_system_is_what_the_others_are_divided_by():
    rows = list(latency([Shape(1, 30)], 2, GROUPS[:1]))
    assert [row.ratio for row in rows if row.system == FIRST] == [1]
    assert all(0 < row.p50_ms <= row.p95_ms for row in rows)


def test_the_command_writes_a_table_csv_json_and_a_plot(tmp_path):
    options = ["latency", "--size", "30", "--people", "2", "--rounds", "1"]
    files = ["--csv", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.svg")]
    model = ["--model", "ngrams:64"]
    shown = CliRunner().invoke(app, [*options, *files, *model])
    assert shown.exit_code == 0, shown.output
    assert "LangMem" in shown.output
    assert "ngrams:64" in shown.output
    with (tmp_path / "a.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    assert {row["shape"] for row in rows} == {"30 memories", "2 people x 10", "any"}
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    printed = json.loads(CliRunner().invoke(app, [*options, "--json"]).output)
    assert printed["schema"] == "memview.latency/1"
    assert printed["rounds"] == 1
    assert len(printed["rows"]) == len(rows) - 1


def test_an_unknown_plot_format_is_said(tmp_path):
    options = ["latency", "--size", "5", "--rounds", "1"]
    shown = CliRunner().invoke(app, [*options, "--plot", str(tmp_path / "a.nonsense")])
    assert shown.exit_code == 3
    assert "nonsense" in shown.output
