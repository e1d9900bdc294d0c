"""Memory backends on real files and with real processes, without a network."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chromadb
import pytest
from pytest_socket import disable_socket

from langchain_memview.backends import ChromaBackend, InMemoryBackend, chroma_collection
from langchain_memview.core.backend import Backend
from langchain_memview.errors import MemoryUnavailableError, WiringError
from langchain_memview.testing.backends import PreparedBackendConformance
from langchain_memview.testing.canary import private_text_in

CANARY = "canary-9b2e takes metformin"


@pytest.fixture(autouse=True)
def _no_network() -> None:
    disable_socket()


class TestInMemoryBackend(PreparedBackendConformance):
    @pytest.fixture
    def backend(self) -> Backend:
        return InMemoryBackend()


class TestChromaBackend(PreparedBackendConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        return ChromaBackend(tmp_path / "memories")


def test_memories_on_disk_outlive_the_process(tmp_path: Path) -> None:
    ChromaBackend(tmp_path).write("ana", 1, "Has debts.")
    assert in_process(tmp_path, "print(b.read('ana', {1}))") == "{1: 'Has debts.'}"


def test_two_backends_of_a_process_share_one_client(tmp_path: Path) -> None:
    one, two = ChromaBackend(tmp_path), ChromaBackend(tmp_path / "." / "")
    one.write("ana", 1, "Has debts.")
    assert two.read("ana", {1}) == {1: "Has debts."}
    assert collection(tmp_path)._client is collection(tmp_path)._client
    assert (
        len([key for key in chroma_collection._collections if key[0] == tmp_path]) == 1
    )


def test_chroma_has_no_embedding_model_and_one_constant_vector(tmp_path: Path) -> None:
    backend = ChromaBackend(tmp_path)
    for position, text in enumerate(["Has debts.", "", "Has savings."]):
        backend.write("ana", position, text)
    assert collection(tmp_path)._embedding_function is None
    held = collection(tmp_path).get(include=["embeddings"])["embeddings"]
    assert held.tolist() == [[0.0]] * 3


def test_a_read_never_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, "Has debts.")
    for name in ("query", "search"):
        monkeypatch.delattr(chromadb.Collection, name, raising=False)
    assert backend.read("ana", {1, 2}) == {1: "Has debts."}
    assert list(backend.written("ana", {1, 2})) == [1]


@pytest.mark.parametrize("name", ["", "ab", "_ab", "a b", "a" * 513, "naïve"])
def test_a_collection_name_that_chroma_refuses_is_a_clear_error(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(WiringError, match="Use 3 to 512 letters"):
        ChromaBackend(tmp_path, name)


# -- another process -----------------------------------------------------------------


def test_a_second_process_reads_and_writes_while_the_first_one_writes(
    tmp_path: Path,
) -> None:
    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, "Has debts.")
    work = "[b.write('ben', i, 'theirs') for i in range(20)]; print(b.read('ana', {1}))"
    with subprocess.Popen(*command(tmp_path, work), **PIPES) as process:
        while process.poll() is None:
            backend.write("ana", 2, "mine")
        assert process.stdout is not None
        assert process.stdout.read().strip() == "{1: 'Has debts.'}"
    assert len(backend.read("ben", set(range(20)))) == 20


@pytest.mark.skipif(sys.platform != "linux", reason="locks can be asked for on Linux")
def test_memories_held_by_another_process_are_given_up_within_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chroma_collection._WAIT_SECONDS < chroma_collection._SECONDS < 10
    monkeypatch.setattr(chroma_collection, "_WAIT_SECONDS", 0.5)
    monkeypatch.setattr(chroma_collection, "_SECONDS", 1)
    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, CANARY)
    calls = [
        lambda: backend.read("ana", {1}),
        lambda: backend.write("ana", 2, CANARY),
        lambda: backend.forget("ana"),
        lambda: ChromaBackend(tmp_path, "another"),
    ]
    errors: list[MemoryUnavailableError] = []

    def attempt(index: int) -> None:
        with no_answer() as caught:
            calls[index]()
        errors.append(caught.value)

    with held(tmp_path / "chroma.sqlite3"):
        start = time.monotonic()
        threads = [threading.Thread(target=attempt, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - start < 3
    assert len(errors) == 4
    assert not [error for error in errors if error.__context__ or error.__cause__]
    assert backend.read("ana", {1, 2}) == {1: CANARY}


def test_a_process_that_gave_up_ends_at_once(tmp_path: Path) -> None:
    work = (
        "print('open', flush=True); sys.stdin.readline(); chroma_collection._SECONDS = 0.2\n"
        "try: b.read('ana', {1})\n"
        "except Exception as e: print(type(e).__name__)"
    )
    with subprocess.Popen(*command(tmp_path, work), **PIPES) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with held(tmp_path / "chroma.sqlite3"):
            words, _ = process.communicate("go\n", timeout=5)
    assert words == "MemoryUnavailableError\n"
    assert process.returncode == 0


# -- files that cannot be used -------------------------------------------------------


@pytest.mark.parametrize("what", ["a file", "below a file", "a corrupt database"])
def test_a_directory_that_cannot_be_used_says_so_and_can_be_repaired(
    tmp_path: Path, what: str
) -> None:
    directory = tmp_path / "memories"
    if what == "a corrupt database":
        directory.mkdir()
        broken = directory / "chroma.sqlite3"
    else:
        broken = directory
    broken.write_text(f"{CANARY} " * 500)
    where = directory / "deeper" if what == "below a file" else directory
    with no_answer() as caught:
        ChromaBackend(where)
    assert shown(caught.value) == []
    broken.unlink()
    backend = ChromaBackend(where)
    backend.write("ana", 1, "Has debts.")
    assert backend.read("ana", {1}) == {1: "Has debts."}


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs file modes")
@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_directory_without_permission_says_so(tmp_path: Path, mode: int) -> None:
    for parent in [tmp_path, *tmp_path.parents][:2]:
        parent.chmod(0o755)  # so that an unprivileged process finds the way
    directory = tmp_path / "memories"
    directory.mkdir(mode=mode)
    error = in_process(
        directory,
        "print('opened')",
        before="import os; os.getuid() or os.setuid(65534);",
    )
    directory.chmod(0o700)
    assert error == "MemoryUnavailableError"


def test_a_database_that_breaks_while_it_is_open_says_so(tmp_path: Path) -> None:
    backend = ChromaBackend(tmp_path)
    backend.write("ana", 1, CANARY)
    (tmp_path / "chroma.sqlite3").write_bytes(b"broken" * 10_000)
    for call in (
        lambda: backend.read("ana", {1}),
        lambda: backend.write("ana", 2, "more"),
    ):
        with no_answer() as caught:
            call()
        assert shown(caught.value) == []


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

SCRIPT = """
import sys
from langchain_memview.backends import ChromaBackend, chroma_collection
{before}
try:
    b = ChromaBackend(sys.argv[1])
except Exception as e:
    print(type(e).__name__)
    raise SystemExit
{work}
"""

HOLD = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def collection(directory: Path) -> chromadb.Collection:
    return chroma_collection._opened(directory, "memview", until=0)


def no_answer() -> pytest.RaisesExc[MemoryUnavailableError]:
    return pytest.raises(MemoryUnavailableError, match="not held by another process")


def shown(error: BaseException) -> list[str]:
    # A helper, or pytest's own variables in the frame of the test hold the canary.
    return private_text_in(error, [CANARY])


def command(directory: Path, work: str, before: str = "") -> list[list[str]]:
    script = SCRIPT.format(work=work, before=before)
    return [[sys.executable, "-c", script, str(directory)]]


def in_process(directory: Path, work: str, before: str = "") -> str:
    """Return what a process prints that opens the directory and does the work."""
    done = subprocess.run(
        *command(directory, work, before),
        check=True,
        timeout=30,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Let another process hold a transaction on a database."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(database)], **PIPES) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "held\n"
        yield
        one.kill()
        one.wait()
