"""`memview bench scoring`: its figures, its intervals and what it prints."""

import csv
import json

import numpy as np
import pytest
from scoring_figures import measured, printed
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from langchain_memview._cli.bench import app
from langchain_memview.bench.intervals import area, share
from langchain_memview.bench.scoring import by_cues, by_embeddings, measure
from langchain_memview.bench.scoring_data import from_folder, shipped
from langchain_memview.bench.sentences import ATTRIBUTES, HARD_KINDS
from langchain_memview.models.embeddings import embedding_model

P = np.array([0.9, 0.8, 0.8, 0.3, 0.5])
N = np.array([0.1, 0.8, 0.2, 0.4])


def test_an_area_is_that_of_scikit_learn():
    truth = [1] * len(P) + [0] * len(N)
    found = area([P], [N], common=[0])
    assert found.value == pytest.approx(roc_auc_score(truth, [*P, *N]))
    assert 0 <= found.low < found.value < found.high <= 1
    assert found.count == 9


def test_negatives_in_common_count_once_and_widen_the_interval():
    apart = area([P, P], [N, N], common=[0, 1])
    shared = area([P, P], [N, N], common=[0, 0])
    assert apart.value == shared.value == area([P], [N], common=[0]).value
    assert shared.low < apart.low
    assert (shared.count, apart.count) == (14, 18)


def test_a_share_has_wilsons_interval():
    found = share(np.array([1.0] * 8 + [0.0] * 2))
    assert (found.value, found.count) == (0.8, 10)
    assert (found.low, found.high) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert share(np.ones(5)).high == 1


def test_the_cue_scorer_reaches_what_the_readme_says():
    rows = measure("cue", "cues", by_cues(), "shipped", shipped("test"))
    name = "cues (the default, no `bearing`)"
    assert measured(rows, "plain") == printed(name)
    assert {row.measure for row in rows} >= {"top-1", "neutral", "hard", *HARD_KINDS}
    assert all(0 <= row.low <= row.value <= row.high <= 1 for row in rows)


def test_hashed_letters_reach_what_the_readme_says():
    supports = by_embeddings(embedding_model("ngrams:4096"), "view")
    rows = measure("ngrams", "view", supports, "shipped", shipped("test"))
    assert measured(rows, "bearing") == printed("n-grams")


@pytest.mark.parametrize("compared", ["view", "support"])
def test_an_embedding_model_gives_supports_between_0_and_1(compared):
    supports = by_embeddings(embedding_model("ngrams:4096"), compared)
    found = supports(["I owe money.", "I am pregnant."])
    assert found.shape == (2, len(ATTRIBUTES))
    assert ((found >= 0) & (found <= 1)).all()


def _folder(path):
    (path / "transfer").mkdir()
    (path / "locomo").mkdir()
    lines = [
        {"attribute": "unsecured_debt", "text": "I owe money on two cards."},
        {"attribute": "pregnancy", "text": "I am pregnant."},
        {"attribute": "type2_diabetes", "text": "I take metformin."},
        {"attribute": "job_loss", "text": "I was laid off."},
    ]
    evidence = "\n".join(json.dumps(line) for line in lines)
    (path / "transfer" / "evidence.jsonl").write_text(evidence)
    pair = {"Speaker 1": ["I ski.", "I sing."], "Speaker 2": ["I ski."], "n": 1}
    (path / "locomo" / "msc_personas_all.json").write_text(json.dumps({"t": [pair]}))
    return path


def test_a_folder_of_data_is_read(tmp_path):
    texts = from_folder(_folder(tmp_path))
    assert texts.views == (
        "severe_debt",
        "pregnancy",
        "type2_diabetes",
        "job_loss",
        "",
        "",
    )
    assert sorted(texts.texts[4:]) == ["I sing.", "I ski."]


def test_a_folder_of_another_shape_is_refused(tmp_path):
    _folder(tmp_path)
    (tmp_path / "locomo" / "msc_personas_all.json").write_text("[1]")
    with pytest.raises(ValueError, match="another shape"):
        from_folder(tmp_path)


def test_the_program_prints_a_table_json_csv_and_a_plot(tmp_path):
    run = CliRunner()
    told = run.invoke(app, ["scoring"])
    assert told.exit_code == 0, told.output
    assert "top-1" in told.output
    folder, file, image = _folder(tmp_path), tmp_path / "r.csv", tmp_path / "r.svg"
    options = [
        "--data",
        str(folder),
        "--csv",
        str(file),
        "--plot",
        str(image),
        "--json",
    ]
    told = run.invoke(app, ["scoring", *options])
    assert told.exit_code == 0, told.output
    document = json.loads(told.stdout)
    assert document["schema"] == "memview.scoring/1"
    assert {row["data"] for row in document["rows"]} == {"shipped", "transfer"}
    with file.open() as lines:
        assert len(list(csv.DictReader(lines))) == len(document["rows"])
    assert image.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--data", "nowhere"], 3, "nowhere"),
        (["--model", "nowhere"], 3, "names no embedding model"),
        (["--model", "ngrams:x"], 3, "cannot be loaded"),
        (["--csv", "no/such/folder.csv"], 3, "folder.csv"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(options, code, said):
    told = CliRunner().invoke(app, ["scoring", *options])
    assert told.exit_code == code
    assert said in told.output
