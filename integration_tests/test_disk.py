"""A full disk and a read-only file: nothing is lost, released or charged.

Both are real, in a process of their own: a limit on the size of files stands for the
full disk, and root's right to write everywhere is given up before the read-only one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import os, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import langchain_memview as mv
from fault_counting import Counting
from fault_kit import CHARGE, MEMORY, POLICY, World
from langchain_memview.errors import LedgerUnavailableError

file = Path(sys.argv[1])
ledger = mv.SqliteLedger(file)
said = []
counting = Counting(ledger, said)
view = mv.MemView(POLICY, MEMORY, ledger=counting)
world = World(str(file), None, view, counting, said)
def turn(operation):
    return view.turn("dinner", subject="ana", audience="app", operation=operation)
def refused(operation):
    try:
        turn(operation)
    except LedgerUnavailableError as error:
        assert "nothing is released" in str(error), error
        assert "Owes" not in repr(error)
    else:
        raise AssertionError("it was released")
"""

FULL = """
others = mv.MemView(POLICY, MEMORY, ledger=ledger)
first = turn("t1").views
ledger.close()
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
sizes = [path.stat().st_size for path in file.parent.iterdir()]
resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + 100, limits[1]))
for number in range(2000):
    try:
        others.turn("dinner", subject=f"u{number}", audience="app", operation="t")
    except LedgerUnavailableError:
        break
else:
    raise AssertionError("the disk never filled")
# The write-ahead log has been emptied meanwhile; now there is no room at all.
resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
refused("t2")
refused("t2")
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
world.check("disk full", 1, 0, CHARGE)
assert turn("t1").views == first
assert turn("t2").outcomes == {"food": "selected"}
world.check("disk with room again, operation repeated", 2, 1, 2 * CHARGE)
failed = f"u{number}"
assert others.balances(failed)["debt"].spent == 0
again = others.turn("dinner", subject=failed, audience="app", operation="t")
assert again.outcomes == {"food": "selected"}
print("fine")
"""

READ_ONLY = """
turn("t1")
ledger.close()
for path in [*file.parent.iterdir(), file.parent]:
    path.chmod(0o555 if path.is_dir() else 0o444)
if os.geteuid() == 0:
    os.setuid(65534)
refused("t2")
print("fine")
"""

WRITABLE_AGAIN = """
assert view.balances("ana")["debt"].spent == CHARGE
assert turn("t1").replayed
assert not turn("t2").replayed
assert view.balances("ana")["debt"].spent == 2 * CHARGE
print("fine")
"""

MEMORIES = """
from langchain_memview.backends import ChromaBackend
from langchain_memview.errors import MemoryUnavailableError
view = mv.MemView(
    POLICY, ChromaBackend(file.parent / "memories"), ledger=mv.InMemoryLedger()
)
view.remember("ana", "Owes 9,000.", position=1)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
for _ in range(3):
    try:
        view.remember("ana", "Owes nothing.", position=1)
    except MemoryUnavailableError as error:
        assert "nothing is remembered" in str(error), error
    else:
        raise AssertionError("it was written")
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
assert view._backend.read("ana", {1}) == {1: "Owes 9,000."}
view.remember("ana", "Owes nothing.", position=1)
assert view._backend.read("ana", {1}) == {1: "Owes nothing."}
print("fine")
"""

MEMORIES_AGAIN = """
from langchain_memview.backends import ChromaBackend
backend = ChromaBackend(file.parent / "memories")
assert backend.read("ana", {1}) == {1: "Owes nothing."}
print("fine")
"""


def run(code: str, directory: Path) -> str:
    directory.mkdir(exist_ok=True)
    for parent in [directory, *directory.parents][:3]:
        parent.chmod(0o755)  # so that an unprivileged process finds the way
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            PRELUDE + code,
            str(directory / "ledger.sqlite"),
            str(Path(__file__).parent),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.strip()


def test_on_a_full_disk_nothing_is_charged_and_the_operation_can_be_repeated(
    tmp_path: Path,
):
    assert run(FULL, tmp_path / "full") == "fine"


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_read_only_ledger_releases_nothing_until_it_can_be_written(tmp_path: Path):
    directory = tmp_path / "fixed"
    assert run(READ_ONLY, directory) == "fine"
    directory.chmod(0o755)
    for path in directory.iterdir():
        path.chmod(0o644)
    assert run(WRITABLE_AGAIN, directory) == "fine"


def test_on_a_full_disk_a_memory_is_refused_and_the_one_before_it_stays(
    tmp_path: Path,
):
    assert run(MEMORIES, tmp_path / "full") == "fine"
    assert run(MEMORIES_AGAIN, tmp_path / "full") == "fine"
