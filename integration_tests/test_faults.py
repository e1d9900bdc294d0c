"""kill -9 at three points under each durability: one draw, one charge, the same view.

Real processes: the first dies by its own SIGKILL, a second one resumes the run from the
checkpointer or, where the run was lost with the process, asks the same question again.
`MEMVIEW_FAULT_ROUNDS` repeats the matrix (10 in CI, 200 in a nightly run).
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("MEMVIEW_FAULT_ROUNDS", "10"))
SENTENCES = {"generic": "- Any.", "a": "- A.", "b": "- B.", "c": "- C."}
COMMITTED = {"before_commit": 0, "after_commit": 1, "in_model": 1}

# The server imports LangChain once; every worker is a fork of it, so a real process.
PROCESSES = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def _server() -> Iterator[None]:
    PROCESSES.set_forkserver_preload(["fault_worker"])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        # What is preloaded is looked for there alone.
        patch.setenv("PYTHONPATH", str(HERE))
        forkserver.ensure_running()
        yield


def exit_code(*arguments: str) -> int | None:
    main = import_module("fault_worker").main
    worker = PROCESSES.Process(target=main, args=arguments)
    worker.start()
    worker.join(120)
    return worker.exitcode


def report(file: str, durability: str, directory: Path) -> dict[str, Any]:
    path = directory / "report.json"
    path.unlink(missing_ok=True)
    assert exit_code(file, durability, "none", str(path)) == 0
    result: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return result


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
@pytest.mark.parametrize("point", list(COMMITTED))
def test_a_killed_run_is_drawn_and_charged_exactly_once(
    tmp_path: Path, point: str, durability: str
):
    committed = COMMITTED[point]
    for number in range(ROUNDS):
        home = tmp_path / str(number)
        home.mkdir()
        file = str(home / "graph.sqlite")
        assert exit_code(file, durability, point, "") == -signal.SIGKILL
        second = report(file, durability, home)
        assert second["fresh"] == 1 - committed
        # Where the selecting node was checkpointed, it may not even be asked again.
        skipped = second["resumed"] and point == "in_model"
        assert second["replayed"] in ({0, 1} if skipped else {committed})
        assert second["spent"] == "1/7"
        assert second["prompt"] == SENTENCES[second["recorded"]]
        third = report(file, durability, home)
        assert (third["fresh"], third["replayed"], third["spent"]) == (0, 1, "1/7")
        assert third["recorded"] == second["recorded"]
