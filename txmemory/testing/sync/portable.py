# Generated from ../aio/portable.py by scripts/generate. Do not edit.
"""The portable backend's places: a schema on a server, at one isolation level."""

from collections.abc import Mapping
from typing import Any, Self

from sqlalchemy import text

import txmemory
from txmemory import Store
from txmemory.backends.opening import Options, open_backend
from txmemory.port import Backend
from txmemory.testing.cases import Need
from txmemory.testing.engines import engine
from txmemory.testing.shared import digest_of_schema, lose_newest_event_of_schema, new_schema
from txmemory.testing.sync.callers import Caller
from txmemory.testing.sync.storage import SECONDS, Clock, Place

UNSETTLED = "plain statements do not tell what others have under way"
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


class EngineCaller:
    """On a connection of an engine."""

    def __init__(self, connection: Any, table: str) -> None:
        self.connection = connection
        self._table = table

    @classmethod
    def connected(cls, engine: Any, table: str) -> Self:
        """A connection, and a table where there is none yet."""
        caller = cls(engine.connect(), table)
        caller.connection.execute(text(f"CREATE TABLE IF NOT EXISTS {table} (step text)"))
        caller.commit()
        return caller

    def begin(self) -> None:
        """Begins a transaction."""
        self.connection.begin()

    def note(self, step: str) -> None:
        """Inserts a row."""
        self.connection.execute(text(f"INSERT INTO {self._table} VALUES (:step)"), {"step": step})  # noqa: S608  # our own name

    def notes(self) -> list[str]:
        """Reads all rows."""
        found = self.connection.execute(text(f"SELECT step FROM {self._table} ORDER BY step"))  # noqa: S608  # our own name
        return [step for (step,) in found.all()]

    def commit(self) -> None:
        """Commits."""
        self.connection.commit()

    def roll_back(self) -> None:
        """Rolls back."""
        self.connection.rollback()

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


class PortableSchema(Place):
    """A schema of its own that stores open over one borrowed engine, whose transactions are of this level."""

    lacks: Mapping[Need, str] = {"settling": UNSETTLED}

    def __init__(self, url: str, level: str) -> None:
        super().__init__()
        self.name = f"portable-{level.lower().replace(' ', '-')}"
        self.schema = new_schema(url)
        self._server = url
        self._engine = engine(url, level, self.schema)

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this schema, opened as any caller opens it."""
        store = txmemory.open(
            engine=self._engine,
            clock=clock or self.clock,
            require_fence=require_fence,
            deadline=deadline,
        )
        self._stores.append(store)
        return store

    def opened(self, clock: Clock) -> Backend:
        """A backend on this schema."""
        return open_backend(Options(None, clock, engine=self._engine))

    def connected(self) -> Caller:
        """A caller on this database, with a connection of the engine's."""
        return EngineCaller.connected(self._engine, f"{self.schema}.step")

    def digest(self) -> bytes:
        """Over every table, read by a connection of its own."""
        return digest_of_schema(self._server, self.schema)

    def lose_newest_event(self) -> None:
        """By a connection of its own."""
        lose_newest_event_of_schema(self._server, self.schema)

    def close(self) -> None:
        """Closes every store that was opened here, and the engine."""
        super().close()
        self._engine.dispose()
