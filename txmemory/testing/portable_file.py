"""The portable backend on a SQLite file: only for callers that block."""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import create_engine

import txmemory
from txmemory import Store
from txmemory.backends.opening import Options, open_backend
from txmemory.port import Backend
from txmemory.testing.cases import Need
from txmemory.testing.sync.callers import Caller
from txmemory.testing.sync.portable import UNSETTLED, EngineCaller
from txmemory.testing.sync.storage import SECONDS, Clock, SqliteFile


class PortableSqliteFile(SqliteFile):
    """An SQLite file that several stores open, each over an engine of its own."""

    name = "portable-sqlite"
    lacks: Mapping[Need, str] = {"settling": UNSETTLED}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._url = f"portable+sqlite:///{self.path}"
        self._engine = create_engine(f"sqlite:///{self.path}")

    def open(
        self, *, clock: Clock | None = None, require_fence: bool = False, deadline: float = SECONDS
    ) -> Store:
        """A store on this file, opened as any caller opens it."""
        store = txmemory.open(
            self._url, clock=clock or self.clock, require_fence=require_fence, deadline=deadline
        )
        self._stores.append(store)
        return store

    def connected(self) -> Caller:
        """A caller on this file, with a connection of an engine's."""
        return EngineCaller.connected(self._engine, "step")

    def opened(self, clock: Clock) -> Backend:
        """A backend on this file."""
        return open_backend(Options(self._url, clock))

    def close(self) -> None:
        """Closes every store that was opened here, and the engine."""
        super().close()
        self._engine.dispose()
