"""kill -9 at three points under each durability: one draw, one charge, the same view.

Real processes: the first dies by its own SIGKILL, a second one resumes the run from the
checkpointer or, where the run was lost with the process, asks the same question again.
`MEMVIEW_FAULT_ROUNDS` repeats the matrix (10 in CI, 200 in a nightly run), and then the
tests of the other faults as well, which are `test_*_faults.py`.
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest
from fault_counting import note
from fault_kit import CHARGE, SENTENCES
from fault_worker import main

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("MEMVIEW_FAULT_ROUNDS", "10"))
COMMITTED = {"before_commit": 0, "after_commit": 1, "in_model": 1}

# The server imports LangChain once; every worker is a fork of it, so a real process.
PROCESSES = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def _server() -> Iterator[None]:
    PROCESSES.set_forkserver_preload(["fault_worker"])
    with pytest.MonkeyPatch.context() as patch:
        # What is preloaded is not looked for in `sys.path`.
        patch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
        forkserver.ensure_running()
        yield


def exit_code(*arguments: str) -> int | None:
    worker = PROCESSES.Process(target=main, args=arguments)
    worker.start()
    worker.join(120)
    return worker.exitcode


def report(place: str, durability: str, directory: Path) -> dict[str, Any]:
    path = directory / "report.json"
    path.unlink(missing_ok=True)
    assert exit_code(place, durability, "none", str(path)) == 0
    result: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return result


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
@pytest.mark.parametrize("point", list(COMMITTED))
def test_a_killed_run_is_drawn_and_charged_exactly_once(
    new_place: Callable[[], str], tmp_path: Path, point: str, durability: str
) -> None:
    committed = COMMITTED[point]
    for _ in range(ROUNDS):
        place = new_place()
        assert exit_code(place, durability, point, "") == -signal.SIGKILL
        second = report(place, durability, tmp_path)
        assert second["fresh"] == 1 - committed
        # A node that was checkpointed is not run again, so it does not ask again.
        asks = second["waiting"] != ["model"]
        assert second["replayed"] == committed * asks
        assert second["spent"] == str(CHARGE)
        assert second["prompt"] == SENTENCES[second["recorded"]]
        third = report(place, durability, tmp_path)
        assert (third["fresh"], third["replayed"]) == (0, 1)
        assert third["spent"] == second["spent"]
        assert third["recorded"] == second["recorded"]
        note(
            f"kill -9 {point}, durability {durability}",
            place,
            committed + second["fresh"],
            second["replayed"] + third["replayed"],
            third["spent"],
        )
