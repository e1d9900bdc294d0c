"""One process of the fault tests: runs an agent and dies where it is told to.

It asks one question under a fixed message id; a process that finds the interrupted run
of an earlier one resumes it instead. What happened is written to a file as JSON.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, LiteralString

from fault_kit import CONTEXT, POLICY, Model, asked, opened, thread, world_on

import langchain_memview as mv
from langchain_memview.core.accounts import Account, Operation
from langchain_memview.core.choice import Choice, fresh_draw
from langchain_memview.core.ledger import Ledger
from langchain_memview.core.release import SlotRelease
from langchain_memview.ledgers.postgres_connection import SyncSession
from langchain_memview.ledgers.postgres_rows import lock_number
from langchain_memview.ledgers.sqlite import SqliteLedger


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at_commit(ledger: object) -> None:
    """Let this process die with all rows written, where it would commit them."""
    if isinstance(ledger, SqliteLedger):
        connection = ledger._connection._connection
        assert connection is not None
        statements: list[str] = []

        def traced(sql: str) -> None:
            statements.append(sql)
            written = any("INTO memview_release" in done for done in statements)
            if written and sql == "COMMIT":
                die()

        connection.set_trace_callback(traced)
    else:
        run = SyncSession.run

        def killed(self: SyncSession, sql: LiteralString, *values: object) -> list[Any]:
            if "memview_append" not in sql:
                return run(self, sql, *values)
            # Its one statement writes and commits, so it is kept from committing here.
            self.batch("BEGIN")
            run(self, sql, *values)
            die()
            return []

        SyncSession.run = killed  # type: ignore[method-assign]


def main(place: str, durability: Any, point: str, report: str) -> None:
    """Run or resume the one question, and report what happened.

    Args:
        place: The checkpointer's SQLite file or PostgreSQL address.
        durability: LangGraph's durability of the run.
        point: Where to die: before_commit, after_commit, in_model or none.
        report: The file for the report.
    """

    def dies(here: str) -> Callable[[], None]:
        return die if point == here else lambda: None

    def draw(choice: Choice) -> int:
        if point == "before_commit":
            die_at_commit(world.ledger.behind)
        return fresh_draw(choice)

    with opened(place) as saver:
        world = world_on(place, saver, draw=draw, committed=dies("after_commit"))
        agent = world.agent(Model(before=dies("in_model")))
        waiting = agent.get_state(thread()).next
        out = agent.invoke(
            None if waiting else asked(),
            thread(),
            context=CONTEXT,
            durability=durability,
        )
        (recorded,) = world.views()
        result = {
            "waiting": waiting,
            "fresh": world.said.count("fresh"),
            "replayed": world.said.count("replayed"),
            "spent": str(world.memview.balances("ana")["debt"].spent),
            "recorded": recorded,
            "prompt": out["messages"][-1].text,
        }
    Path(report).write_text(json.dumps(result), "utf-8")


def hold(place: str, seconds: str) -> None:
    """Keep everybody else from ana's ledger for a while, by a transaction that is slow."""

    def slow() -> None:
        sys.stdout.write("held\n")
        sys.stdout.flush()
        time.sleep(float(seconds))

    def decide(_: Ledger) -> list[SlotRelease]:
        slow()
        return []

    with opened(place) as saver:
        ledger = mv.ledger_from_checkpointer(saver)
        terms = Account.of(POLICY, "ana", "app")
        if isinstance(ledger, SqliteLedger):
            ledger.transact(terms, Operation.of("held", "app"), decide)
            return
        # PostgreSQL decides without a lock, so this is a commit that takes its time.
        ledger.setup()
        number = lock_number(ledger._keyed(terms.key))
        with saver.conn.transaction():
            saver.conn.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
            slow()


if __name__ == "__main__":
    hold(*sys.argv[1:])
