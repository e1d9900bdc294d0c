"""The frontier: exact numbers, against enumeration of transcripts and known results."""

import itertools
import json
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from langchain_memview._cli.app import app
from langchain_memview.bench import frontier as module
from langchain_memview.bench.frontier import (
    CAPS,
    MODES,
    cells,
    equal_leakage,
    finished,
    frontier,
    row,
)
from langchain_memview.bench.frontier_attack import Attack
from langchain_memview.bench.frontier_runs import Cell, run
from langchain_memview.core.guarantees import attack_ceilings


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


SMALL = ["--cap", "2", "--turns", "16", "--views", "5", "--slots", "1"]


def shown(mode, turns=16, views=5, cap=2, **more):
    return run(Cell(mode, Fraction(cap), turns, views, **more)).shown


@pytest.mark.parametrize("turns", [16, 1000])
def test_standing_attains_the_optimum_at_every_turn(turns):
    for cap in CAPS:
        odds = math.exp(cap)
        for views in (3, 5, 8):
            found = row(Cell("standing", cap, turns, views))
            assert found.shown == pytest.approx(odds / (odds + views - 1), abs=1e-12)
            assert found.log_ratio == pytest.approx(float(cap), abs=1e-9)
    assert shown("standing", turns) == pytest.approx(0.6488, abs=1e-4)
    assert shown("one facet", turns, slots=3) == pytest.approx(0.6488, abs=1e-4)
    assert shown("narrowed", turns) == pytest.approx(0.8808, abs=1e-4)
    assert shown("standing", turns, slots=3) == pytest.approx(0.3275, abs=1e-4)


def test_the_paper_s_modes_have_the_numbers_that_were_known():
    assert shown("online") == pytest.approx(0.0485, abs=1e-4)
    assert shown("online", 1000) == pytest.approx(0.0008, abs=1e-4)
    assert shown("preallocated") == pytest.approx(0.2102, abs=1e-4)
    assert shown("preallocated", 1000) == pytest.approx(0.2002, abs=1e-4)
    # Eq. (7) at a third of the cap, with two of the views left by the query.
    assert shown("prior", 3) == pytest.approx(0.5826, abs=1e-4)


def enumerated(cell):
    """Return the AUC, TPR and worst ratio over all transcripts, one by one."""
    laws = [pair for pair, count in run(cell).draws.items() for _ in range(count)]
    points = []
    for drawn in itertools.product(*(range(len(law)) for law, _ in laws)):
        mine = math.prod(
            (law[i] for i, (law, _) in zip(drawn, laws, strict=True)), start=Fraction(1)
        )
        yours = math.prod(
            (law[i] for i, (_, law) in zip(drawn, laws, strict=True)), start=Fraction(1)
        )
        if mine or yours:
            points.append((mine / yours, mine, yours))
    auc = sum(
        m * y * (1 if r > s else Fraction(1, 2) if r == s else 0)
        for r, m, _ in points
        for s, _, y in points
    )
    points.sort(reverse=True)
    hits, alarms, rate = Fraction(0), Fraction(0), Fraction(1, 20)
    for _, group in itertools.groupby(points, key=lambda point: point[0]):
        chances = list(group)
        mine, yours = (sum(p[k] for p in chances) for k in (1, 2))
        share = min(Fraction(1), (rate - alarms) / yours)
        hits, alarms = hits + share * mine, alarms + share * yours
        if share < 1:
            break
    return auc, hits, max(ratio for ratio, _, _ in points)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(MODES),
    st.sampled_from(CAPS),
    st.integers(1, 3),
    st.integers(3, 4),
    st.integers(1, 2),
    st.booleans(),
)
def test_the_best_observer_is_that_of_the_enumerated_transcripts(
    mode, cap, turns, views, slots, overlap
):
    turns = min(turns, 3 // slots)
    cell = Cell(mode, cap, turns, views, slots, overlap)
    attack = Attack(run(cell).draws)
    auc, hits, worst = enumerated(cell)
    assert attack.auc == pytest.approx(float(auc), abs=1e-9)
    assert attack.true_positives() == pytest.approx(float(hits), abs=1e-9)
    assert attack.worst == worst


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(MODES),
    st.sampled_from(CAPS),
    st.sampled_from([1, 7, 130]),
    st.integers(3, 8),
    st.integers(1, 3),
    st.booleans(),
)
def test_no_mode_passes_the_cap_or_the_ceilings_of_any_attack(
    mode, cap, turns, views, slots, overlap
):
    found = row(Cell(mode, cap, turns, views, slots, overlap))
    auc, tpr = attack_ceilings(cap)
    assert found.within == "yes"
    assert found.auc <= auc + 1e-9
    assert found.tpr <= tpr + 1e-9
    assert found.advantage >= -1e-12


def test_the_attack_notices_an_interface_that_passes_the_cap():
    draws = run(Cell("preallocated", Fraction(2), 16, 5)).draws
    ((laws, count),) = draws.items()
    assert Attack({laws: count}).within(Fraction(2))
    assert not Attack({laws: 3 * count}).within(Fraction(2))
    other = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)))
    with pytest.raises(ValueError, match="three ratios"):
        Attack({other: 1})


def test_at_equal_leakage_memory_contributes_at_least_five_times_as_much():
    standing, online = equal_leakage()
    assert standing.auc == pytest.approx(0.57, abs=0.01)
    assert online.auc >= standing.auc
    assert standing.advantage >= 5 * online.advantage


def test_without_overlap_the_first_slot_is_as_if_it_were_alone():
    alone = row(Cell("online", Fraction(2), 16, 5, 1))
    apart = row(Cell("online", Fraction(2), 16, 5, 3, overlap=False))
    assert (apart.shown, apart.auc) == (alone.shown, alone.auc)
    together = row(Cell("online", Fraction(2), 16, 5, 3))
    assert together.shown == pytest.approx(alone.shown / 3)


def test_every_configuration_of_the_grid_is_there_once():
    grid = cells()
    assert len({module.key_of(cell) for cell in grid}) == len(grid)
    assert len(grid) == len(MODES) * len(CAPS) * 3 * 3 * (1 + 2 * 2)


# -- files and the command --------------------------------------------------------------


def test_rows_in_the_file_are_not_computed_again(tmp_path, monkeypatch):
    file = tmp_path / "frontier.csv"
    wanted = cells(caps=[Fraction(2)], turns=[16], views=[3], slots=[1])
    first = list(frontier(wanted[:3], file))
    computed = []
    real = module.row
    monkeypatch.setattr(module, "row", lambda cell: computed.append(cell) or real(cell))
    both = list(frontier(wanted, file))
    assert both[:3] == first
    assert computed == wanted[3:]
    assert list(finished(file).values()) == both


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "a,b\n1,2\n", "no table of this benchmark"),
        (lambda text: text.replace("0.", "zero.", 1), "line 2 of .* is damaged"),
        (lambda text: text.rstrip()[:-30] + "\n", "line 2 of .* is damaged"),
        (lambda text: text.rstrip() + ",1\n", "line 2 of .* is damaged"),
    ],
    ids=["foreign", "number", "short", "long"],
)
def test_a_foreign_or_damaged_file_is_refused(tmp_path, damage, message):
    file = tmp_path / "frontier.csv"
    list(frontier([Cell("online", Fraction(2), 16, 3)], file))
    file.write_text(damage(file.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=message):
        finished(file)
    result = CliRunner().invoke(app, ["bench", "frontier", *SMALL, "--csv", str(file)])
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "frontier.csv" in result.stderr


def test_the_command_prints_a_table_and_the_equal_leakage(tmp_path):
    file = tmp_path / "f.csv"
    arguments = ["bench", "frontier", *SMALL, "--csv", str(file)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    expected = "2 16 5 1 standing 0.6488 0.0878 0.5610 0.854 0.369 2.0000"
    assert expected.split() in lines
    assert "times that of the paper's online mode at B = 2" in result.stdout
    assert len(file.read_text("utf-8").splitlines()) == 1 + len(MODES)


def test_the_command_prints_json_for_one_mode():
    arguments = ["bench", "frontier", *SMALL, "--mode", "online", "--json"]
    document = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert document["schema"] == "memview.frontier/1"
    assert [row["mode"] for row in document["rows"]] == ["online"]
    assert len(document["equal_leakage"]) == 2


@pytest.mark.parametrize(
    "arguments", [["--mode", "best"], ["--cap", "0"], ["--cap", "x"], ["--views", "2"]]
)
def test_wrong_usage_is_refused(arguments):
    assert CliRunner().invoke(app, ["bench", "frontier", *arguments]).exit_code == 2


def test_the_plot_is_written_and_an_unknown_format_is_said(tmp_path):
    file = tmp_path / "f.svg"
    arguments = ["bench", "frontier", *SMALL, "--plot"]
    assert CliRunner().invoke(app, [*arguments, str(file)]).exit_code == 0
    drawn = file.read_text("utf-8")
    assert "<svg" in drawn
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "f.doc")])
    assert result.exit_code == 3
    assert "doc" in result.stderr


def test_a_missing_plot_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    arguments = ["bench", "frontier", *SMALL, "--plot", str(tmp_path / "f.svg")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 3
    assert 'pip install "langchain-memview[plots]"' in result.stderr
