"""The files in `examples/` run as a reader would run them."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, directory: Path) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert result.stderr == ""
    return result.stdout


def test_the_graph_example_prints_views_and_balances(tmp_path: Path):
    out = run("with_state_graph.py", tmp_path)
    assert "An affordable dinner?" in out
    assert "finance: " in out
    assert "type2_diabetes: 2 of 2 spent" in out
    assert "metformin" not in out


def test_the_agent_example_goes_on_where_its_first_run_ended(tmp_path: Path):
    assert "debt: 4/3 of 2 spent" in run("with_create_agent.py", tmp_path)
    assert "debt: 2 of 2 spent" in run("with_create_agent.py", tmp_path)
