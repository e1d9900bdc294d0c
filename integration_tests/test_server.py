"""`langgraph dev` with the example in `examples/server`, driven by the SDK.

The server needs a virtual environment of its own, because its pins conflict with
others; the fixture makes one. `MEMVIEW_SERVER_VENV` names one that exists already.
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from langchain_memview.errors import LedgerError
from langchain_memview.ledgers.reading import stored_accounts

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

QUESTION = {"messages": [{"role": "user", "content": "Plan an affordable dinner."}]}


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the server and this project."""
    if existing := os.environ.get("MEMVIEW_SERVER_VENV"):
        return Path(existing)
    home = tmp_path_factory.mktemp("server-venv")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    wanted = ["langgraph-cli[inmem]>=0.4.40", "-e", f"{ROOT}"]
    subprocess.run(
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *wanted],
        check=True,
        timeout=600,
    )
    return home


class Server:
    """A `langgraph dev` process on the loopback interface, in its own folder."""

    def __init__(self, venv: Path, home: Path) -> None:
        self._command = str(venv / "bin" / "langgraph")
        self._home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._command, "dev", "--no-browser", "--no-reload"),
                    *("--host", "127.0.0.1", "--port", str(self.port)),
                ],
                cwd=self._home,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={
                    **os.environ,
                    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
                    "MEMVIEW_DATA": str(self._home),
                    "MODEL_SECONDS": "0.05",
                },
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/ok").status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.2)
        raise AssertionError((self._home / "server.log").read_text()[-3000:])

    def kill(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    @asynccontextmanager
    async def client(self, token: str) -> AsyncIterator[LangGraphClient]:
        headers = {"Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{self.port}"
        async with get_client(url=url, headers=headers) as client:
            yield client

    def spent(self, subject: str) -> dict[str, Fraction]:
        accounts = stored_accounts(self._home / "ledger.sqlite", subject)
        return {
            name: balance.spent
            for account in accounts
            for name, balance in account.ledger.balances.items()
        }

    def releases(self, subject: str) -> int:
        accounts = stored_accounts(self._home / "ledger.sqlite", subject)
        return sum(len(account.slots) for account in accounts)


@pytest.fixture
def server(venv: Path, tmp_path: Path) -> Iterator[Server]:
    home = tmp_path / "server"
    shutil.copytree(ROOT / "examples" / "server", home)
    running = Server(venv, home)
    running.start()
    try:
        yield running
    finally:
        running.kill()
    # It inherits strict msgpack, and would say so here.
    assert "allowed_msgpack_modules" not in (home / "server.log").read_text()


async def test_the_subject_is_the_authenticated_user_whatever_a_client_writes(
    server: Server,
):
    async with server.client("token-of-ana") as ana:
        thread = await ana.threads.create()
        answer = await ana.runs.wait(
            thread["thread_id"], "agent", input=QUESTION, context={"user_id": "ben"}
        )
        assert answer["messages"][-1]["content"] == "Lentil soup."  # type: ignore[index]
        assert server.spent("ana") == {
            "type2_diabetes": Fraction(2, 3),
            "debt": Fraction(4, 3),
        }
        assert server.spent("ben") == {}
        state = await ana.threads.get_state(thread["thread_id"])
        held = state["values"]["memview"]  # type: ignore[call-overload]
        assert set(held["views"]) == {"food", "finance"}
        assert "credit cards" not in str(
            await ana.threads.get_history(thread["thread_id"])
        )
        with pytest.raises(httpx.HTTPStatusError, match="unknown token"):
            async with server.client("nobody") as nobody:
                await nobody.threads.create()


async def test_a_stream_shows_views_and_a_replayed_checkpoint_draws_nothing(
    server: Server,
):
    # With an id of the client's own, even a replay from before the input is the same
    # question; without one, the server makes a new id, and the replay is a new charge.
    message = QUESTION["messages"][0] | {"id": "question-1"}
    asked = {"messages": [message]}
    async with server.client("token-of-ana") as ana:
        thread = await ana.threads.create()
        parts = [
            part
            async for part in ana.runs.stream(
                thread["thread_id"],
                "agent",
                input=asked,
                stream_mode=["values", "updates", "messages-tuple", "debug"],
            )
        ]
        assert "'finance': " in str(parts)
        assert "credit cards" not in str(parts)
        spent = server.spent("ana")
        history = await ana.threads.get_history(thread["thread_id"])
        for checkpoint in history[1:]:
            if not checkpoint["next"]:
                continue
            await ana.runs.wait(
                thread["thread_id"], "agent", checkpoint=checkpoint["checkpoint"]
            )
        assert server.spent("ana") == spent
        assert server.releases("ana") == 2


async def test_a_rolled_back_run_stays_charged(server: Server):
    async with server.client("token-of-ana") as ana:
        thread = await ana.threads.create()
        thread_id = thread["thread_id"]
        await ana.runs.create(thread_id, "agent", input=QUESTION)
        await _until(lambda: server.releases("ana") >= 2)
        await ana.runs.wait(
            thread_id, "agent", input=QUESTION, multitask_strategy="rollback"
        )
        # Food is charged to both attributes, finance to debt alone; the second turn's
        # finance would pass debt's cap. Nothing of the first turn has come back.
        assert server.spent("ana") == {
            "type2_diabetes": Fraction(4, 3),
            "debt": Fraction(2),
        }
        assert server.releases("ana") == 4


async def test_a_killed_server_has_forgotten_nothing_of_the_ledger(server: Server):
    async with server.client("token-of-ana") as ana:
        await ana.runs.wait(None, "agent", input=QUESTION)
        spent = server.spent("ana")
        assert spent["debt"] == Fraction(4, 3)
        server.kill()
        server.start()
    async with server.client("token-of-ana") as ana:
        for _ in range(3):
            await ana.runs.wait(None, "agent", input=QUESTION)
        assert server.spent("ana") == {
            "type2_diabetes": Fraction(4, 3),
            "debt": Fraction(2),
        }


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(200):
        # The ledger's file may not be there yet.
        with suppress(LedgerError):
            if condition():
                return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not happen within 10 seconds")
