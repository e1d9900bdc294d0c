"""The account ledger that belongs to a LangGraph checkpointer: in the same database.

A ledger inside graph state is no cap: a fork, a new thread, `update_state` or a second
process resets it. So the ledger gets its own tables in the checkpointer's database and
its own transactions there; see `ledgers.sqlite` and `ledgers.postgres`.
"""

import asyncio
import sqlite3
from contextlib import suppress
from typing import Any

from langchain_memview.core.accounts import LedgerStore
from langchain_memview.errors import WiringError
from langchain_memview.ledgers.in_memory import InMemoryLedger
from langchain_memview.ledgers.sqlite import SqliteLedger

_LOCATE_SECONDS = 30.0


def ledger_from_checkpointer(
    saver: object, *, allow_ephemeral: bool = False
) -> LedgerStore:
    """Return a ledger in the database of a checkpointer.

    Args:
        saver: A `SqliteSaver` or `AsyncSqliteSaver` on a file, or a `PostgresSaver` or
            `AsyncPostgresSaver` on a connection or pool without pipeline mode; with
            `allow_ephemeral` also an `InMemorySaver` or a saver on `:memory:`.
        allow_ephemeral: Accept a ledger that ends with the process, together with the
            saver's own conversation. What was spent is forgotten then.

    Raises:
        WiringError: The saver keeps nothing on disk and `allow_ephemeral` is not set,
            or it is of a kind whose database the package does not know.
    """
    kinds = {kind.__name__ for kind in type(saver).__mro__}
    if "InMemorySaver" in kinds:
        return _ephemeral(allowed=allow_ephemeral)
    if "AsyncSqliteSaver" in kinds:
        return SqliteLedger(lambda: _path_of_async(saver))
    if "SqliteSaver" in kinds:
        path = _path_of(saver)
        return SqliteLedger(path) if path else _ephemeral(allowed=allow_ephemeral)
    if not kinds.isdisjoint(("PostgresSaver", "AsyncPostgresSaver")):
        return _on_postgres(saver)
    raise WiringError(
        f"{type(saver).__name__} keeps its checkpoints where no ledger can be charged "
        "atomically (C5). Two choices: use a SqliteSaver, a PostgresSaver or the "
        "asynchronous one of either, or give the ledger a database of its own: "
        "SqliteLedger('ledger.sqlite')."
    )


def _on_postgres(saver: Any) -> LedgerStore:
    from langchain_memview.ledgers.postgres import PostgresLedger

    if saver.pipe is not None:
        raise WiringError(
            "this saver is in pipeline mode, where a view could leave before its charge "
            "is committed (C5). Open it without `pipeline=True`."
        )
    # Only an asynchronous saver has a loop, and then a lock that is of no use here.
    loop = getattr(saver, "loop", None)
    return PostgresLedger(saver.conn, lock=None if loop else saver.lock, loop=loop)


def _ephemeral(*, allowed: bool) -> InMemoryLedger:
    if not allowed:
        raise WiringError(
            "this checkpointer keeps nothing on disk, so what was spent would be "
            "forgotten with the process and the cap would not hold (C5). Use a "
            "SqliteSaver on a file, or say ledger_from_checkpointer(saver, "
            "allow_ephemeral=True) if losing the ledger is acceptable."
        )
    return InMemoryLedger()


def _path_of(saver: Any) -> str:
    """Return the file of a SqliteSaver, or an empty text for `:memory:`."""
    try:
        with saver.lock:
            rows = saver.conn.execute("PRAGMA database_list").fetchall()
    except (sqlite3.Error, AttributeError):
        rows = []
    return _main_file(rows)


def _path_of_async(saver: Any) -> str:
    """Return the file of an AsyncSqliteSaver; called from a thread without its loop."""
    if _running_loop() is saver.loop:
        raise WiringError(
            "an AsyncSqliteSaver answers only from its event loop, so a ledger on it "
            "cannot be used there by a synchronous call. Await the asynchronous "
            "method instead, such as `memview.aturn(...)`."
        )

    async def rows() -> list[tuple[int, str, str]]:
        async with saver.conn.execute("PRAGMA database_list") as cursor:
            return list(await cursor.fetchall())

    found: list[tuple[int, str, str]] = []
    # In a loop that has ended, nobody would ever answer.
    if saver.loop.is_running():
        future = asyncio.run_coroutine_threadsafe(rows(), saver.loop)
        with suppress(sqlite3.Error, ValueError):
            found = future.result(_LOCATE_SECONDS)
    path = _main_file(found)
    if not path:
        raise WiringError(
            "this AsyncSqliteSaver is on ':memory:', so what was spent would be "
            "forgotten with the process (C5). Put it on a file, or use "
            "InMemoryLedger() if losing the ledger is acceptable."
        )
    return path


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _main_file(rows: list[tuple[int, str, str]]) -> str:
    if not rows:
        raise WiringError(
            "the checkpointer's database cannot be located: its connection is closed, "
            "belongs to another thread or to an event loop that has ended. Use the "
            "ledger while the checkpointer is open, and open a SqliteSaver's connection "
            "with check_same_thread=False."
        )
    return next((file for _, name, file in rows if name == "main"), "")
