"""`forget` on real files: nothing of the person is left, and what was spent is."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from test_erasure_on_disk import found
from typer.testing import CliRunner

import langchain_memview as mv
from langchain_memview._cli.app import app
from langchain_memview.backends import ChromaBackend, InMemoryBackend
from langchain_memview.errors import (
    LedgerUnavailableError,
    MemoryUnavailableError,
    PositionError,
    SubjectError,
)
from langchain_memview.scorers import EmbeddingScorer
from langchain_memview.testing.embeddings import WordEmbeddings

TEXT = "canary-7f3a owes nine thousand"
POLICY = """
version: 1
name: meals
layout: {1: food, 2: food, 3: pets}
attributes: {debt: {positions: [1, 2], cap: 2.0}, animals: {positions: [3], cap: 2.0}}
budget: {mode: online, k: 3}
slots:
  food: {when: [dinner], views: {generic: Any dish., cheap: {say: Cheap., cues: [owes]}}}
  pets: {when: [dog], views: {generic: Any pet., big: {say: A big one., cues: [dane]}}}
"""


@pytest.fixture
def policy(tmp_path: Path) -> mv.Policy:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    return mv.load_policy(file)


@pytest.fixture
def memview(policy: mv.Policy, tmp_path: Path) -> mv.MemView:
    ledger = mv.SqliteLedger(tmp_path / "agent.sqlite")
    memview = mv.MemView(policy, ChromaBackend(tmp_path / "memories"), ledger=ledger)
    for subject in ("ana", "Ana", "an"):
        memview.remember(subject, f"{TEXT}, {subject}.", slot="food")
        memview.remember(subject, f"Has a dane, {subject}.", slot="pets")
        for query in ("dinner", "dog"):
            turn(memview, query, subject)
    return memview


def turn(memview: mv.MemView, query: str, subject: str = "ana") -> mv.Release:
    return memview.turn(query, subject=subject, audience="app", operation=query)


def test_a_person_is_forgotten_and_nobody_else(
    memview: mv.MemView, tmp_path: Path
) -> None:
    spent = {who: memview.balances(who) for who in ("ana", "Ana", "an")}
    receipt = memview.forget("ana")
    assert (receipt.memories, receipt.releases, receipt.complete) == (2, 2, True)
    assert not found(tmp_path, [f"{TEXT}, ana.", "Has a dane, ana."])
    assert found(tmp_path, [f"{TEXT}, Ana.", f"{TEXT}, an."])
    for who, balances in spent.items():
        assert memview.balances(who) == balances
    assert [s.view for r in memview.history("ana") for s in r.slots] == ["", ""]
    assert all(
        s.view for who in ("Ana", "an") for r in memview.history(who) for s in r.slots
    )
    assert turn(memview, "dinner").views["food"].name == "generic"
    again = memview.forget("ana")
    assert (again.memories, again.releases, again.complete) == (0, 0, True)


def test_whoever_comes_back_has_the_ledger_of_before(memview: mv.MemView) -> None:
    for number in range(2):
        memview.turn("dinner", subject="ana", audience="app", operation=f"{number}")
    memview.forget("ana")
    assert memview.remember("ana", TEXT, slot="food") == 1
    release = memview.turn("dinner", subject="ana", audience="app", operation="new")
    assert release.outcomes == {"food": "generic"}
    assert release.balances["debt"].spent == Fraction(2)


def test_a_slot_or_a_position_is_forgotten_alone(
    memview: mv.MemView, tmp_path: Path
) -> None:
    memview.remember("ana", "canary-kept owes less", position=2)
    receipt = memview.forget("ana", position=1)
    assert (receipt.positions, receipt.memories, receipt.releases) == ((1,), 1, 1)
    assert not found(tmp_path, [f"{TEXT}, ana."])
    assert found(tmp_path, ["canary-kept", "Has a dane, ana."])
    receipt = memview.forget("ana", slot="food")
    assert (receipt.positions, receipt.memories, receipt.releases) == ((1, 2), 1, 0)
    views = [s.view for r in memview.history("ana") for s in r.slots]
    assert views[0] == ""
    assert views[1] != ""
    for slot, position in (("sofa", None), ("pets", 1), ("", 9)):
        with pytest.raises(PositionError):
            memview.forget("ana", slot=slot, position=position)
    with pytest.raises(SubjectError):
        memview.forget(" ")


def test_the_receipt_has_no_bodies_and_no_names(memview: mv.MemView) -> None:
    receipt = memview.forget("ana")
    document = receipt.document()
    text = json.dumps(document) + repr(receipt)
    assert document["schema"] == "memview.erasure/1"
    for private in ("canary", "ana.", '"ana"', "dane", "cheap", "big"):
        assert private not in text
    assert len(receipt.subject) == 64
    assert any("backups" in line for line in receipt.unreached)
    assert any("what the user typed" in line for line in receipt.unreached)


class Down(InMemoryBackend):
    """Loses its connection in the middle, once."""

    calls = 0

    def forget(self, subject, positions=None):
        self.calls += 1
        if self.calls == 1:
            super().forget(subject, {1})
            raise MemoryUnavailableError(TEXT)
        return super().forget(subject, positions)


def test_a_backend_that_goes_down_leaves_a_partial_receipt(policy: mv.Policy) -> None:
    backend = Down({"ana": {1: TEXT, 2: TEXT, 3: "Has a dane."}})
    memview = mv.MemView(policy, backend, ledger=mv.InMemoryLedger())
    turn(memview, "dinner")
    receipt = memview.forget("ana")
    assert (receipt.complete, receipt.failed) == (False, ("memories",))
    assert receipt.releases == 1
    assert TEXT not in repr(receipt)
    receipt = memview.forget("ana")
    assert (receipt.complete, receipt.memories, receipt.releases) == (True, 2, 0)


class NoLedger(mv.InMemoryLedger):
    def erase(self, subject, lineage, positions):
        raise LedgerUnavailableError

    def pseudonym(self, subject):
        raise LedgerUnavailableError


def test_a_ledger_that_is_down_leaves_a_partial_receipt_too(policy: mv.Policy) -> None:
    backend = InMemoryBackend({"ana": {1: TEXT}})
    receipt = mv.MemView(policy, backend, ledger=NoLedger()).forget("ana")
    assert (receipt.failed, receipt.memories, receipt.subject) == (("releases",), 1, "")
    assert not backend.read("ana", {1})


class Sometimes(WordEmbeddings):
    up = False

    def embed_documents(self, texts):
        if not self.up:
            raise ConnectionError(TEXT)
        return super().embed_documents(texts)


def test_what_was_prepared_or_waits_for_it_goes_with_the_memory(
    policy: mv.Policy,
) -> None:
    backend, model = InMemoryBackend(), Sometimes()
    model.up = True
    scorer = EmbeddingScorer.of(
        replace(policy, scorer=mv.EmbeddingScore("words", "0.3", 9)), model
    )
    memview = mv.MemView(policy, backend, ledger=mv.InMemoryLedger(), scorer=scorer)
    memview.remember("ana", TEXT, position=1)
    model.up = False
    memview.remember("ana", TEXT, position=2)
    memview.remember("bo", TEXT, position=2)
    assert backend.read_prepared("ana", {1})
    memview.forget("ana")
    assert not backend.read_prepared("ana", {1, 2})
    assert memview._memories._late == {("bo", 2)}
    model.up = True
    memview.remember("bo", TEXT, position=1)
    assert backend.read_prepared("bo", {1, 2}).keys() == {1, 2}
    assert not backend.read_prepared("ana", {1, 2})


def test_a_standing_view_is_generic_until_its_epoch_ends(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        POLICY.replace("{mode: online, k: 3}", "{mode: standing}").replace("2.0", "40")
    )
    policy = mv.load_policy(tmp_path / "policy.yaml")
    backend = InMemoryBackend({"ana": {1: TEXT}})
    memview = mv.MemView(policy, backend, ledger=mv.InMemoryLedger())
    assert turn(memview, "dinner").views["food"].name == "cheap"
    assert memview.forget("ana").releases == 1
    memview.remember("ana", TEXT, slot="food")
    assert turn(memview, "dinner").views["food"].name == "generic"


def test_the_command_erases_and_prints_the_receipt(
    memview: mv.MemView, tmp_path: Path
) -> None:
    places = [
        str(tmp_path / name) for name in ("policy.yaml", "memories", "agent.sqlite")
    ]
    run = CliRunner().invoke(app, ["forget", *places, "--subject", "ana"], input="n\n")
    assert run.exit_code == 1
    assert found(tmp_path, [f"{TEXT}, ana."])
    run = CliRunner().invoke(
        app, ["forget", *places, "--subject", "ana", "--yes", "--json"]
    )
    assert run.exit_code == 0
    assert json.loads(run.stdout)["memories"] == 2
    assert not found(tmp_path, [f"{TEXT}, ana.", "Has a dane, ana."])
    run = CliRunner().invoke(
        app, ["forget", *places, "--subject", "an", "--slot", "food", "--yes"]
    )
    assert "Erased 1 memories and the views of 1 releases." in run.stdout
    assert "backups" in run.stdout


@pytest.mark.parametrize("missing", range(3))
def test_the_command_says_what_is_missing(
    memview: mv.MemView, tmp_path: Path, missing: int
) -> None:
    places = [
        str(tmp_path / name) for name in ("policy.yaml", "memories", "agent.sqlite")
    ]
    places[missing] = str(tmp_path / "nothing")
    run = CliRunner().invoke(app, ["forget", *places, "--subject", "ana", "--yes"])
    assert run.exit_code == 3
    assert "nothing" in run.stderr
    assert not (tmp_path / "nothing").exists()
