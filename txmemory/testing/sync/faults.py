# Generated from ../aio/faults.py by scripts/generate. Do not edit.
"""Accidents on demand, between a store and its backend."""

from collections.abc import Callable

from txmemory import Store
from txmemory.drive import Patience
from txmemory.model.commit import Reported, Transaction
from txmemory.model.query import Page, Query, Row
from txmemory.port import Backend, Fault, Lost
from txmemory.store.core import Handle

SECONDS = 30.0


class Losing:
    """A backend that commits and loses the answers to the next `losses` commits; `then` runs after each loss.

    Later commits meet `faults`, one each, and do nothing.
    """

    def __init__(self, backend: Backend, then: Callable[[], object] | None = None) -> None:
        self._backend = backend
        self._then = then
        self.losses = 0
        self.faults: list[Fault] = []

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Commits; where a loss is due the caller never learns what was met."""
        if self.faults and not self.losses:
            raise self.faults.pop(0)
        reply = self._backend.commit(commit, deadline)
        if not self.losses:
            return reply
        self.losses -= 1
        if self._then is not None:
            self._then()
        raise Lost("ANSWER")

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Reads."""
        return self._backend.read(query, deadline)

    def joined(self, connection: object) -> Backend:
        """Inside a caller's transaction no answer is lost."""
        return self._backend.joined(connection)

    def close(self) -> None:
        """The backend is its owner's to close."""

    def store(self) -> Store:
        """A store over this backend."""
        return Store(Handle(self, Patience(SECONDS), require_fence=False))
