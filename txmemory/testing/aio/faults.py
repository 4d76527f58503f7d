"""Accidents on demand, between a store and its backend."""

from collections.abc import Awaitable, Callable

from txmemory import AsyncStore
from txmemory.drive import Patience
from txmemory.model.commit import Reported, Transaction
from txmemory.model.query import Page, Query, Row
from txmemory.port import AsyncBackend, Fault, Lost
from txmemory.store.core import Handle

SECONDS = 30.0


class AsyncLosing:
    """A backend that commits and loses the answers to the next `losses` commits; `then` runs after each loss.

    Later commits meet `faults`, one each, and do nothing.
    """

    def __init__(self, backend: AsyncBackend, then: Callable[[], Awaitable[object]] | None = None) -> None:
        self._backend = backend
        self._then = then
        self.losses = 0
        self.faults: list[Fault] = []

    async def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Commits; where a loss is due the caller never learns what was met."""
        if self.faults and not self.losses:
            raise self.faults.pop(0)
        reply = await self._backend.commit(commit, deadline)
        if not self.losses:
            return reply
        self.losses -= 1
        if self._then is not None:
            await self._then()
        raise Lost("ANSWER")

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Reads."""
        return await self._backend.read(query, deadline)

    def joined(self, connection: object) -> AsyncBackend:
        """Inside a caller's transaction no answer is lost."""
        return self._backend.joined(connection)

    async def close(self) -> None:
        """The backend is its owner's to close."""

    def store(self) -> AsyncStore:
        """A store over this backend."""
        return AsyncStore(Handle(self, Patience(SECONDS), require_fence=False))
