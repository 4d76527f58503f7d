# Generated from ../aio/storage.py by scripts/generate. Do not edit.
"""Places that several open stores share, with a view behind the store: its log, its rows, its clock."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Protocol

import txmemory
from txmemory import Store
from txmemory.backends.inmemory.state import State
from txmemory.backends.opening import Options, open_backend
from txmemory.drive import Patience
from txmemory.model.commit import Commit, Overtaken, Reply
from txmemory.model.event import Event
from txmemory.model.query import Events, Page, Query, Row
from txmemory.port import Backend
from txmemory.store.core import Handle
from txmemory.testing.cases import Need
from txmemory.testing.clock import FakeClock
from txmemory.testing.roles import with_options
from txmemory.testing.shared import (
    LOSE_NEWEST_EVENT,
    SqliteInMemory,
    digest_of_schema,
    digest_of_state,
    digest_of_tables,
    lose_newest_event_of_schema,
    memory_backend,
    new_schema,
    runtime_url,
    sqlite_backend,
)
from txmemory.testing.sync.callers import Caller, PostgresCaller, SqliteCaller

Clock = Callable[[], datetime]
SECONDS = 30.0
"""How long one request of a case may take: only a hang is ever this long."""


class Storage(Protocol):
    """What the contract cases ask of a technology.

    `clock` is the clock of every store that is opened without one of its own. `lacks` names what the place cannot do,
    each with the reason.
    """

    name: str
    clock: FakeClock
    lacks: Mapping[Need, str]

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this place. Stores that are open at the same time see the same data."""
        ...

    def backend(self) -> Backend:
        """The bare port on this place, by the storage's clock."""
        ...

    def commit(self, commit: Commit) -> Reply:
        """What one transaction, built by hand, meets."""
        ...

    def read(self, query: Query[Row]) -> Page[Row]:
        """A page of what is there."""
        ...

    def events(self, tenant: str = "default") -> list[tuple[int, Event]]:
        """The whole log of a tenant by row id."""
        ...

    def digest(self) -> bytes:
        """A digest over every row of every table: equal when nothing at all has changed."""
        ...

    def lose_newest_event(self) -> None:
        """Takes the newest row of the log away, behind the back of every store that is open."""
        ...

    def caller(self) -> Caller:
        """Somebody with a connection of its own to this place."""
        ...

    def close(self) -> None:
        """Closes every store that was opened here, and every caller's connection."""
        ...


class Place:
    """What all storages have in common: each only says how a backend is opened and what its rows are."""

    name = ""
    lacks: Mapping[Need, str] = {}

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._stores: list[Store] = []
        self._callers: list[Caller] = []
        self._bare: Backend | None = None

    def opened(self, clock: Clock) -> Backend:
        """A new backend on this place."""
        raise NotImplementedError

    def connected(self) -> Caller:
        """A new caller on this place."""
        raise NotImplementedError

    def caller(self) -> Caller:
        """A caller, whose connection is closed with this place."""
        caller = self.connected()
        self._callers.append(caller)
        return caller

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this place."""
        backend = self.opened(clock or self.clock)
        store = Store(Handle(backend, Patience(deadline), require_fence))
        self._stores.append(store)
        return store

    def backend(self) -> Backend:
        """The bare port, opened once."""
        if self._bare is None:
            self._bare = self.opened(self.clock)
        return self._bare

    def commit(self, commit: Commit) -> Reply:
        """What one transaction meets."""
        reply = self.backend().commit(commit, SECONDS)
        assert isinstance(reply, tuple | Overtaken), "what a commit meets"
        return reply

    def read(self, query: Query[Row]) -> Page[Row]:
        """A page of what is there."""
        return self.backend().read(query, SECONDS)

    def events(self, tenant: str = "default") -> list[tuple[int, Event]]:
        """The whole log of a tenant."""
        log: list[tuple[int, Event]] = []
        while True:
            page = self.read(Events(tenant, log[-1][0] if log else 0))
            log += page.rows
            if not page.more:
                return log

    def close(self) -> None:
        """Closes every store that was opened here, and every caller's connection."""
        for caller in self._callers:
            caller.close()
        for store in self._stores:
            store.close()
        if self._bare is not None:
            self._bare.close()


class MemoryPlace(Place):
    """`memory://`: stores over one state, which stays as long as this object."""

    name = "memory"
    lacks: Mapping[Need, str] = {"joining": "a store in memory has no connection that a caller could share"}

    def __init__(self) -> None:
        super().__init__()
        self.state = State()

    def opened(self, clock: Clock) -> Backend:
        """A backend over the one state."""
        return memory_backend(self.state, clock)

    def digest(self) -> bytes:
        """Over the maps of the state."""
        return digest_of_state(self.state)

    def lose_newest_event(self) -> None:
        """From the state itself."""
        with self.state.lock:
            del self.state.events[max(self.state.events)]


class SqliteFile(Place):
    """An SQLite file that several stores open."""

    name = "sqlite-file"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "contract.db"

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this file, opened as any caller opens it."""
        store = txmemory.open(
            f"sqlite:///{self.path}",
            clock=clock or self.clock,
            require_fence=require_fence,
            deadline=deadline,
        )
        self._stores.append(store)
        return store

    def opened(self, clock: Clock) -> Backend:
        """A backend on this file."""
        return open_backend(Options(f"sqlite:///{self.path}", clock))

    def connected(self) -> Caller:
        """A caller on this file."""
        return SqliteCaller(self.path)

    def digest(self) -> bytes:
        """Over every table, read by a connection of its own."""
        with closing(sqlite3.connect(self.path)) as connection:
            return digest_of_tables(connection)

    def lose_newest_event(self) -> None:
        """By a connection of its own."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(LOSE_NEWEST_EVENT)


class PostgresSchema(Place):
    """A schema of its own in a database that several stores open, as a role that may use it but owns nothing.

    `url` is a superuser's, of a database that `PostgresServer.create_database` has made; `options` are the store's.
    """

    name = "postgres"

    def __init__(self, url: str, **options: str) -> None:
        super().__init__()
        self.schema = new_schema(url)
        self.url = with_options(runtime_url(url, self.schema), **options)
        self._server = url

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this schema, opened as any caller opens it."""
        store = txmemory.open(
            self.url, clock=clock or self.clock, require_fence=require_fence, deadline=deadline
        )
        self._stores.append(store)
        return store

    def opened(self, clock: Clock) -> Backend:
        """A backend on this schema."""
        return open_backend(Options(self.url, clock))

    def connected(self) -> Caller:
        """A caller on this database, whose table is in the same schema."""
        return PostgresCaller.connected(self._server, self.schema)

    def digest(self) -> bytes:
        """Over every table, read by a connection of its own."""
        return digest_of_schema(self._server, self.schema)

    def lose_newest_event(self) -> None:
        """By a connection of its own."""
        lose_newest_event_of_schema(self._server, self.schema)


class SqliteMemory(Place):
    """`sqlite:///:memory:`: one backend, whose handles are the stores."""

    name = "sqlite-memory"
    lacks: Mapping[Need, str] = {
        "persistence": "a database in memory ends with the store that opened it",
        "joining": "a database in memory is seen by one connection",
        "sharing": "a database in memory is seen by one store with one clock",
    }

    def __init__(self) -> None:
        super().__init__()
        self._database = SqliteInMemory(self.clock, SECONDS)
        self._bare = sqlite_backend(self._database.backend)

    def opened(self, clock: Clock) -> Backend:
        """The one backend."""
        assert clock is self.clock, "a database in memory has one clock"
        return self.backend()

    def digest(self) -> bytes:
        """Over every table, through the backend's own connection."""
        return self._database.digest()

    def lose_newest_event(self) -> None:
        """Through the backend's own connection."""
        self._database.lose_newest_event()
