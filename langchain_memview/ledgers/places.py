"""Where a stored ledger is, opened for reading only: a SQLite file or a PostgreSQL address.

All rows that one opening gives are of one moment. An error of a driver becomes a constant
`LedgerUnavailableError`: a driver's message may quote an address, and a password with it.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from langchain_memview.errors import LedgerUnavailableError

Query: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Given a statement with `?` for its values, returns its rows."""

_POSTGRES = ("postgresql://", "postgres://")
_CONNECT_SECONDS = 10


def place_name(place: str) -> str:
    """Return the place as it may be printed: without user, password and parameters."""
    if not place.startswith(_POSTGRES):
        return place
    with suppress(ValueError):
        parts = urlsplit(place)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    return "postgresql://"


@contextmanager
def opened(place: str) -> Iterator[tuple[Query, Callable[[str], str]]]:
    """Give a function that reads rows, and one that restores a stored text.

    Args:
        place: The file, or an address that begins with `postgresql://`.

    Raises:
        LedgerUnavailableError: It cannot be opened; the query raises it as well.
        ImportError: It is an address and the driver is not installed.
    """
    if not place.startswith(_POSTGRES):
        with closing(_sqlite(place)) as file:
            yield _guarded(lambda sql, v: file.execute(sql, v).fetchall()), str
        return

    from langchain_memview.ledgers.postgres_driver import psycopg
    from langchain_memview.ledgers.postgres_text import restored

    with closing(_postgres(place)) as connection:

        def rows(sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
            statement = sql.replace("?", "%s").encode()
            found: list[tuple[Any, ...]] = connection.execute(
                statement, values
            ).fetchall()
            return found

        yield _guarded(rows, psycopg.Error), restored


def _guarded(
    rows: Callable[[str, tuple[object, ...]], list[tuple[Any, ...]]],
    error: type[Exception] = sqlite3.Error,
) -> Query:
    def query(sql: str, *values: object) -> list[tuple[Any, ...]]:
        with suppress(error, OSError):
            return rows(sql, values)
        raise LedgerUnavailableError

    return query


def _sqlite(place: str) -> sqlite3.Connection:
    with suppress(sqlite3.Error, OSError, ValueError):
        address = f"{Path(place).absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, isolation_level=None)
        connection.execute("BEGIN")
        return connection
    raise LedgerUnavailableError


def _postgres(place: str) -> Any:
    from langchain_memview.ledgers.postgres_driver import psycopg

    with suppress(psycopg.Error, OSError, ValueError):
        connection = psycopg.connect(place, connect_timeout=_CONNECT_SECONDS)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection
    raise LedgerUnavailableError
