"""The portable backend, over an engine that blocks and over one that is awaited."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.portable.faults import fault_of
from txmemory.backends.portable.ground import Ground
from txmemory.backends.portable.joining import AsyncJoinedPortable, JoinedPortable
from txmemory.backends.portable.transacting import Transaction, fetched, no_time
from txmemory.model.commit import Reported
from txmemory.model.commit import Transaction as Wanted
from txmemory.model.query import Page, Query
from txmemory.port import Busy, Lost

Row = TypeVar("Row")
Answer = TypeVar("Answer")


class Portable:
    """An open store over an engine that blocks. A borrowed engine stays open."""

    def __init__(
        self, engine: Engine, ground: Ground, clock: Callable[[], int] | None, *, borrowed: bool
    ) -> None:
        self._lifetime = Lifetime()
        self._engine = engine
        self._ground = ground
        self._clock = clock
        self._borrowed = borrowed

    def commit(self, commit: Wanted, deadline: float) -> Reported:
        """One transaction. The server bounds each wait; an answer that never comes only the driver can."""
        self._lifetime.check()
        transaction = Transaction(self._ground, self._clock, commit, deadline)
        try:
            with self._engine.connect() as connection:
                return transaction.run(connection)
        except SQLAlchemyError as error:
            raise fault_of(error, sent=transaction.sent) from None

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from committed rows."""
        self._lifetime.check()
        asked = self._ground.reads.asked(query, self._clock or no_time)
        try:
            with self._engine.connect() as connection:
                page: Page[Any] = asked.page(fetched(connection, asked))
        except SQLAlchemyError as error:
            raise fault_of(error, sent=False) from None
        return page

    def joined(self, connection: object) -> JoinedPortable:
        """Inside the transaction of a caller's `Connection`."""
        self._lifetime.check()
        return JoinedPortable(connection, self._engine.url, self._ground, self._clock)

    def close(self) -> None:
        """Closes the pool, if it is ours."""
        inherited = self._lifetime.inherited
        self._lifetime.close()
        if not self._borrowed:
            self._engine.dispose(close=not inherited)


class AsyncPortable:
    """The same over an engine that is awaited: the same steps, suspended at each statement."""

    def __init__(
        self, engine: AsyncEngine, ground: Ground, clock: Callable[[], int] | None, *, borrowed: bool
    ) -> None:
        self._lifetime = Lifetime()
        self._engine = engine
        self._ground = ground
        self._clock = clock
        self._borrowed = borrowed
        self._ending: set[asyncio.Future[Any]] = set()

    async def commit(self, commit: Wanted, deadline: float) -> Reported:
        """One transaction, given up at the deadline, whatever it waits for."""
        self._lifetime.check()
        transaction = Transaction(self._ground, self._clock, commit, deadline)
        try:
            return await self._bounded(self._run(transaction.run), deadline)
        except TimeoutError:
            raise (Lost if transaction.sent else Busy)("DEADLINE") from None
        except SQLAlchemyError as error:
            raise fault_of(error, sent=transaction.sent) from None

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from committed rows."""
        self._lifetime.check()
        asked = self._ground.reads.asked(query, self._clock or no_time)
        try:
            found = await self._bounded(self._run(lambda connection: fetched(connection, asked)), deadline)
        except TimeoutError:
            raise Busy("DEADLINE") from None
        except SQLAlchemyError as error:
            raise fault_of(error, sent=False) from None
        page: Page[Any] = asked.page(found)
        return page

    async def _run(self, work: Callable[[Connection], Answer]) -> Answer:
        async with self._engine.connect() as connection:
            return await connection.run_sync(work)

    async def _bounded(self, work: Coroutine[Any, Any, Answer], deadline: float) -> Answer:
        """What the work answers; given up or cancelled it ends by itself: the driver's farewell may take seconds."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait((task,), timeout=deadline)
            if not task.done():
                raise TimeoutError
        except BaseException:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ended)
            raise
        return task.result()

    def _ended(self, task: "asyncio.Future[Any]") -> None:
        self._ending.discard(task)
        if not task.cancelled():
            task.exception()  # nobody waits for it any more

    def joined(self, connection: object) -> AsyncJoinedPortable:
        """Inside the transaction of a caller's `AsyncConnection`."""
        self._lifetime.check()
        return AsyncJoinedPortable(connection, self._engine.url, self._ground, self._clock)

    async def close(self) -> None:
        """Closes the pool, if it is ours, once what was given up has ended."""
        inherited = self._lifetime.inherited
        self._lifetime.close()
        if self._ending and not inherited:
            await asyncio.wait(tuple(self._ending))
        if not self._borrowed:
            await self._engine.dispose(close=not inherited)
