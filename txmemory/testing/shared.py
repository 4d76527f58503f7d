"""Backends that several stores share, and a look at a database that no second connection can see."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from uuid import uuid4

import psycopg
from psycopg import sql

import txmemory
from txmemory.backends.inmemory.backend import AsyncInMemory, InMemory
from txmemory.backends.inmemory.state import State
from txmemory.backends.lifetime import Lifetime
from txmemory.backends.opening import Options
from txmemory.backends.sqlite.backend import AsyncSqlite, Sqlite
from txmemory.backends.sqlite.connecting import Place
from txmemory.backends.sqlite.opening import open_sqlite
from txmemory.port import AsyncBackend, Backend
from txmemory.testing.roles import acting_as, roles_of, with_options

Clock = Callable[[], datetime]
LOSE_NEWEST_EVENT = 'DELETE FROM txm_event WHERE "row" = (SELECT max("row") FROM txm_event)'
"""What takes the newest row of the log away, as nothing here ever does."""


def memory_backend_async(state: State, clock: Clock) -> AsyncBackend:
    """A backend over this state for callers that await."""
    return AsyncInMemory(_inmemory(state, clock))


def memory_backend(state: State, clock: Clock) -> Backend:
    """A backend over this state for callers that block."""
    return _inmemory(state, clock)


def _inmemory(state: State, clock: Clock) -> InMemory:
    return InMemory(state, Options("memory://", clock).microseconds_clock(), Lifetime())


@dataclass(frozen=True, slots=True)
class _Watched(Place):
    """A place that remembers its connections."""

    connections: list[sqlite3.Connection] = field(default_factory=list, repr=False)

    def connect(self, *, create: bool = False) -> sqlite3.Connection:
        connection = Place.connect(self, create=create)
        self.connections.append(connection)
        return connection


class SqliteInMemory:
    """An SQLite database in memory, which only its own connection can look at."""

    def __init__(self, clock: Clock, patience: float) -> None:
        place = _Watched(None, "FULL", patience)
        self.backend = open_sqlite(place, Options("sqlite:///:memory:", clock).microseconds_clock())
        self._connection = place.connections[0]

    def digest(self) -> bytes:
        """Over every row of every table, between two transactions."""
        with self.backend.writer.between:
            return digest_of_tables(self._connection)

    def lose_newest_event(self) -> None:
        """Takes the newest row of the log away, between two transactions."""
        with self.backend.writer.between:
            self._connection.execute(LOSE_NEWEST_EVENT)


def sqlite_backend_async(backend: Sqlite) -> AsyncBackend:
    """The backend for callers that await."""
    return AsyncSqlite(backend)


def sqlite_backend(backend: Sqlite) -> Backend:
    """The backend for callers that block."""
    return backend


def digest_of_tables(connection: sqlite3.Connection) -> bytes:
    """A digest over every row of every table of a database."""
    named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    rows: list[str] = []
    for (name,) in named.fetchall():
        quoted = name.replace('"', '""')
        rows += (f"{name} {row!r}" for row in connection.execute(f'SELECT * FROM "{quoted}"'))  # noqa: S608  # the schema's own name, quoted
    return digest_of(rows)


def new_schema(url: str) -> str:
    """The name of a schema that was made for one case, by its owner, for stores that run as another role."""
    name = f"case_{uuid4().hex}"
    owner, runtime = roles_of(url)
    txmemory.migrate(with_options(acting_as(url, owner), schema=name), runtime_role=runtime)
    return name


def runtime_url(url: str, schema: str) -> str:
    """The URL that stores on the schema are opened with: they may do what `migrate` has granted, no more."""
    return with_options(acting_as(url, roles_of(url).runtime), schema=schema)


def digest_of_schema(url: str, schema: str) -> bytes:
    """A digest over every row of every table of a schema."""
    rows: list[str] = []
    with psycopg.connect(url) as connection:
        named = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema])
        for (name,) in named.fetchall():
            table = sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, name))
            rows += (f"{name} {row!r}" for row in connection.execute(table))
    return digest_of(rows)


def lose_newest_event_of_schema(url: str, schema: str) -> None:
    """Takes the newest row of a schema's log away."""
    log = sql.Identifier(schema, "event")
    newest = sql.SQL('DELETE FROM {log} WHERE "row" = (SELECT max("row") FROM {log})').format(log=log)
    with psycopg.connect(url) as connection:
        connection.execute(newest)


def digest_of_state(state: State) -> bytes:
    """A digest over every row of every map of a state."""
    maps = (state.scopes, state.ledger, state.heads, state.revisions, state.events)
    return digest_of(f"{place} {spelled(rows)}" for place, rows in enumerate(maps))


def spelled(value: object) -> str:
    """A value with all that is in it, since a repr leaves out what may be private."""
    match value:
        case tuple():
            return f"({','.join(map(spelled, value))})"
        case Mapping():
            return f"{{{','.join(sorted(f'{spelled(key)}:{spelled(each)}' for key, each in value.items()))}}}"
        case _ if is_dataclass(value):
            return f"{type(value).__name__}({','.join(spelled(getattr(value, each.name)) for each in fields(value))})"
        case _:
            return repr(value)


def digest_of(rows: Iterable[str]) -> bytes:
    """A digest of rows in whatever order."""
    return hashlib.sha256("\n".join(sorted(rows)).encode()).digest()
