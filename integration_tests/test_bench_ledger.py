"""The ledger benchmark runs on both engines and leaves nothing in the database."""

import json
import subprocess
import sys

import psycopg


def test_the_ledger_benchmark_prints_rates_and_times_of_both_engines(
    address: str,
) -> None:
    options = ["--seconds", "0.3", "--rounds", "5", "--postgres", address]
    result = subprocess.run(
        [sys.executable, "-m", "langchain_memview.bench.ledger", "--json", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    document = json.loads(result.stdout)
    assert document["schema"] == "memview.ledger-bench/1"
    for rows in (document["throughput"], document["latency"]):
        measured = [(row["engine"], row["what"]) for row in rows]
        assert measured == [
            (engine, what)
            for engine in ("sqlite", "postgres")
            for what in ("fsync", "bare commit", "admitted", "replayed")
        ]
    assert all(row["per_second"] > 0 for row in document["throughput"])
    assert result.stderr.splitlines()[-1].startswith("postgres: 8 processes")
    with psycopg.connect(address) as connection:
        left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'memview_bench%'"
        assert connection.execute(left).fetchone() == (0,)
