"""The portable backend's places: a schema on a server, at one isolation level."""

import txmemory
from txmemory import AsyncStore
from txmemory.backends.opening import Options, open_backend_async
from txmemory.port import AsyncBackend
from txmemory.testing.aio.storage import SECONDS, AsyncPlace, Clock
from txmemory.testing.engines import engine_async
from txmemory.testing.shared import digest_of_schema, lose_newest_event_of_schema, new_schema

LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


class AsyncPortableSchema(AsyncPlace):
    """A schema of its own that stores open over one borrowed engine, whose transactions are of this level."""

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
