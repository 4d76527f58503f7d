"""The portable backend's places: a schema on a server, at one isolation level."""

from collections.abc import Mapping
from typing import Any, Self

from sqlalchemy import text

import txmemory
from txmemory import AsyncStore
from txmemory.backends.opening import Options, open_backend_async
from txmemory.port import AsyncBackend
from txmemory.testing.aio.callers import AsyncCaller
from txmemory.testing.aio.storage import SECONDS, AsyncPlace, Clock
from txmemory.testing.cases import Need
from txmemory.testing.engines import engine_async
from txmemory.testing.shared import digest_of_schema, lose_newest_event_of_schema, new_schema

UNSETTLED = "plain statements do not tell what others have under way"
LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


class AsyncEngineCaller:
    """On a connection of an engine."""

    def __init__(self, connection: Any, table: str) -> None:
        self.connection = connection
        self._table = table

    @classmethod
    async def connected(cls, engine: Any, table: str) -> Self:
        """A connection, and a table where there is none yet."""
        caller = cls(await engine.connect(), table)
        await caller.connection.execute(text(f"CREATE TABLE IF NOT EXISTS {table} (step text)"))
        await caller.commit()
        return caller

    async def begin(self) -> None:
        """Begins a transaction."""
        await self.connection.begin()

    async def note(self, step: str) -> None:
        """Inserts a row."""
        await self.connection.execute(text(f"INSERT INTO {self._table} VALUES (:step)"), {"step": step})  # noqa: S608  # our own name

    async def notes(self) -> list[str]:
        """Reads all rows."""
        found = await self.connection.execute(text(f"SELECT step FROM {self._table} ORDER BY step"))  # noqa: S608  # our own name
        return [step for (step,) in found.all()]

    async def commit(self) -> None:
        """Commits."""
        await self.connection.commit()

    async def roll_back(self) -> None:
        """Rolls back."""
        await self.connection.rollback()

    async def close(self) -> None:
        """Closes the connection."""
        await self.connection.close()


class AsyncPortableSchema(AsyncPlace):
    """A schema of its own that stores open over one borrowed engine, whose transactions are of this level."""

    lacks: Mapping[Need, str] = {"settling": UNSETTLED}

    def __init__(self, url: str, level: str) -> None:
        super().__init__()
        self.name = f"portable-{level.lower().replace(' ', '-')}"
        self.schema = new_schema(url)
        self._server = url
        self._engine = engine_async(url, level, self.schema)

    async def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> AsyncStore:
        """A store on this schema, opened as any caller opens it."""
        store = await txmemory.open_async(
            engine=self._engine,
            clock=clock or self.clock,
            require_fence=require_fence,
            deadline=deadline,
        )
        self._stores.append(store)
        return store

    async def opened(self, clock: Clock) -> AsyncBackend:
        """A backend on this schema."""
        return await open_backend_async(Options(None, clock, engine=self._engine))

    async def connected(self) -> AsyncCaller:
        """A caller on this database, with a connection of the engine's."""
        return await AsyncEngineCaller.connected(self._engine, f"{self.schema}.step")

    async def digest(self) -> bytes:
        """Over every table, read by a connection of its own."""
        return digest_of_schema(self._server, self.schema)

    async def lose_newest_event(self) -> None:
        """By a connection of its own."""
        lose_newest_event_of_schema(self._server, self.schema)

    async def close(self) -> None:
        """Closes every store that was opened here, and the engine."""
        await super().close()
        await self._engine.dispose()
