# Generated from ../aio/portable.py by scripts/generate. Do not edit.
"""The portable backend's places: a schema on a server, at one isolation level."""

import txmemory
from txmemory import Store
from txmemory.backends.opening import Options, open_backend
from txmemory.port import Backend
from txmemory.testing.engines import engine
from txmemory.testing.shared import digest_of_schema, lose_newest_event_of_schema, new_schema
from txmemory.testing.sync.storage import SECONDS, Clock, Place

LEVELS = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


class PortableSchema(Place):
    """A schema of its own that stores open over one borrowed engine, whose transactions are of this level."""

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
