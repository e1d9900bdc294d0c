"""What all integration tests share: strict msgpack, and a private PostgreSQL server.

LangGraph reads back from checkpoints only the types that it knows or that a state names,
and a test in which it met another one fails. The server is that of the Debian package
`postgresql`, in a temporary folder, behind a socket. When it is missing its tests fail;
a ledger that was never run against its database has not been tested.
"""

import logging
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from typing_extensions import override

# LangGraph reads it when it is imported, so here first; workers of the tests inherit it.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from fault_kit import World, opened, world_on

_numbers = count()


@dataclass(frozen=True)
class Cluster:
    """A running server. It refuses to be root, so root runs it as somebody else."""

    programs: Path
    folder: Path
    user: str | None

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", *arguments)

    def start(self) -> None:
        # Not fsync = off: what is tested is what is promised.
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        self.control("-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self) -> None:
        self.control("-m", "immediate", "stop")

    def run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self.programs / program, *arguments],
            user=self.user,
            group=self.user and pwd.getpwnam(self.user).pw_gid,
            extra_groups=[] if self.user else None,
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )

    def database(self) -> str:
        """Return the address of an empty schema, a new one at each call."""
        schema = f"s{next(_numbers)}"
        address = f"host={self.folder} user=memview dbname=postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return (
            f"postgresql:///postgres?host={self.folder}&user=memview"
            f"&options=-csearch_path%3D{schema}"
        )

    @contextmanager
    def passwords(self) -> Iterator[None]:
        """Let only those in who know their password, for a while."""
        rules = self.folder / "data" / "pg_hba.conf"
        before = rules.read_text()
        rules.write_text("local all all scram-sha-256\n")
        self.control("reload")
        try:
            yield
        finally:
            rules.write_text(before)
            self.control("reload")

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not versions:
        pytest.fail(
            "PostgreSQL is missing, and the tests of its ledger need a real server. "
            "Install it with `.ci/postgres`, or `apt-get install postgresql`."
        )
    return versions[-1].parent


def _server_user() -> str | None:
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    user = _server_user()
    # A short path: that of a socket has room for a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="memview-pg-"))
    try:
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        server = Cluster(_programs(), folder, user)
        server.run(
            *("initdb", "-D", f"{folder}/data", "-U", "memview", "-A", "trust"),
            *("-E", "UTF8", "--no-sync"),
        )
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def address(cluster: Cluster) -> str:
    """The address of an empty database schema."""
    return cluster.database()


class _Warnings(logging.Handler):
    """Keeps what LangGraph says about msgpack, which are log lines and not warnings."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.seen = seen

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if "msgpack" in (message := record.getMessage()):
            self.seen.append(message)


@pytest.fixture(autouse=True)
def foreign_types() -> Iterator[list[str]]:
    """Types that strict msgpack blocked during the test, and warnings about it: none.

    A test that wants one empties the list.
    """
    from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener

    seen: list[str] = []
    # The log names a type once per process, so the events are heard as well.
    unregister = register_serde_event_listener(
        lambda event: seen.append(f"{event['kind']}: {event['module']}.{event['name']}")
    )
    handler = _Warnings(seen)
    logging.getLogger("langgraph").addHandler(handler)
    try:
        yield seen
    finally:
        logging.getLogger("langgraph").removeHandler(handler)
        unregister()
    assert seen == [], "strict msgpack met a type that no state names"


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a function that gives a new SQLite file or an empty PostgreSQL schema."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(_numbers)}.sqlite")
    server: Cluster = request.getfixturevalue("cluster")
    return server.database


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """Return a new SQLite file, then the address of an empty PostgreSQL schema."""
    return new_place()


@pytest.fixture
def world(place: str) -> Iterator[World]:
    """Give a real saver of each engine, with a ledger beside it."""
    with opened(place) as saver:
        yield world_on(place, saver)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat every test at a place as often as `MEMVIEW_FAULT_ROUNDS` says."""
    rounds = int(os.environ.get("MEMVIEW_FAULT_ROUNDS", "1"))
    if rounds > 1 and "place" in metafunc.fixturenames:
        metafunc.fixturenames.append("round_of_faults")
        metafunc.parametrize("round_of_faults", range(rounds))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a database server, before marks are selected."""
    for item in items:
        engine = getattr(item, "callspec", None)
        chosen = "postgres" in engine.params.values() if engine else False
        if chosen or "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.postgres)
