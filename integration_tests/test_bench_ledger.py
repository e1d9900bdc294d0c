"""The ledger benchmark runs on both engines and leaves nothing in the database."""

import json
import sys

import psycopg
import pytest

from langchain_memview.bench import ledger, ledger_history


def test_the_ledger_benchmark_prints_rates_and_times_of_both_engines(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seconds", "0.3", "--rounds", "5", "--processes", "2"]
    arguments = ["bench", "--json", "--postgres", address, *options]
    monkeypatch.setattr(sys, "argv", arguments)
    ledger.main()
    result = capsys.readouterr()
    document = json.loads(result.out)
    assert document["schema"] == "memview.ledger-bench/1"
    for rows in (document["throughput"], document["latency"]):
        measured = [(row["engine"], row["what"]) for row in rows]
        assert measured == [
            (engine, what)
            for engine in ("sqlite", "postgres")
            for what in ("fsync", "bare commit", "admitted", "replayed")
        ]
    assert all(row["per_second"] > 0 for row in document["throughput"])
    assert "postgres: 2 processes" in result.err
    with psycopg.connect(address) as connection:
        left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'memview_bench%'"
        assert connection.execute(left).fetchone() == (0,)

    monkeypatch.setattr(sys, "argv", [*arguments[:1], *options])
    ledger.main()
    assert "over commits" in capsys.readouterr().out


def test_the_benchmark_of_long_histories_prints_the_ratio_on_both_engines(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--releases", "40", "--rounds", "3"]
    monkeypatch.setattr(sys, "argv", ["bench", "--postgres", address, *options])
    ledger_history.main()
    result = capsys.readouterr()
    for engine in ("sqlite", "postgres"):
        assert f"{engine}: filling an account with 40 releases" in result.err
        assert sum(engine in line for line in result.out.splitlines()) == 2
