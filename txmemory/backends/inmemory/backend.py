"""A backend over a state, blocking and awaited."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn, TypeVar, cast

from txmemory.backends.inmemory.claiming import StateClaims
from txmemory.backends.inmemory.mending import mended
from txmemory.backends.inmemory.reading import answer
from txmemory.backends.inmemory.state import State
from txmemory.backends.inmemory.tables import StateTables
from txmemory.backends.leasing import lease_out
from txmemory.backends.lifetime import Lifetime
from txmemory.backends.steps import carry_out
from txmemory.model.commit import Commit, Reported, Transaction
from txmemory.model.query import Page, Query
from txmemory.model.repair import Repair

Row = TypeVar("Row")
Clock = Callable[[], int]


class InMemory:
    """A backend over one state; callers of one state share its lock. A value has no lifetime: it is never closed."""

    def __init__(self, state: State, clock: Clock, lifetime: Lifetime | None) -> None:
        self.state = state
        self.changed = False
        self._clock = clock
        self._lifetime = lifetime
        # A value is changed by nobody but the call that makes it; its lock would be held for ever in a forked child.
        self._alone: AbstractContextManager[object] = nullcontext() if lifetime is None else state.lock

    def copy(self) -> "InMemory":
        """A value over a copy of the state that has not changed yet."""
        return InMemory(self.state.copy(), self._clock, None)

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Runs the guard under the lock."""
        if self._lifetime is not None:
            self._lifetime.check()
        with self._alone:
            if isinstance(commit, Repair):
                return mended(self.state, commit)
            tables = StateTables(self.state, self._clock)
            reply: Reported
            if isinstance(commit, Commit):
                reply = carry_out(tables, commit)
            else:
                reply = lease_out(StateClaims(tables), commit)
            self.changed = tables.flush() or self.changed
            return reply

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers under the lock."""
        if self._lifetime is not None:
            self._lifetime.check()
        with self._alone:
            return cast(Page[Row], answer(self.state, query, self._clock()))

    def joined(self, connection: object) -> NoReturn:
        """Raises `TypeError`: there is no database whose transaction could be shared."""
        raise TypeError("a store in memory joins no connection")

    def close(self) -> None:
        """Refuses every later call; the state goes with its last handle."""
        if self._lifetime is not None:
            self._lifetime.close()


class AsyncInMemory:
    """The same for callers that await; no call takes long enough to be worth a thread."""

    def __init__(self, backend: InMemory) -> None:
        self._backend = backend

    async def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Runs the guard."""
        return self._backend.commit(commit, deadline)

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers a query."""
        return self._backend.read(query, deadline)

    def joined(self, connection: object) -> NoReturn:
        """Raises `TypeError`."""
        self._backend.joined(connection)

    async def close(self) -> None:
        """Refuses every later call."""
        self._backend.close()
