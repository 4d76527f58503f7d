"""Connections that a deadline bounds, and the pool that they come from."""

# async only
import asyncio

# end async only
import select
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

# async only
from weakref import WeakSet

# end async only
import psycopg
from psycopg.abc import PQGen
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from txmemory.backends.postgres.place import Place
from txmemory.port import Busy, Closed, Down, Lost

Value = TypeVar("Value")


class AsyncBoundedConnection(psycopg.AsyncConnection[Any]):
    """A connection whose every wait ends at a moment: no setting of the server bounds an answer that never comes."""

    ends: float | None = None
    warning: str | None = None
    call: psycopg.AsyncCursor[Any]
    """Of every commit: kept, because what a cursor has found out about a statement's values is its own."""

    async def wait(
        self,
        gen: PQGen[Value],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Value:
        """Waits for the server, but not beyond `ends`."""
        if self.ends is not None and timeout is None:
            timeout = max(0.0, self.ends - time.monotonic())
        return await super().wait(gen, interval, timeout)

    def noticed(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        """Keeps a warning's code."""
        if diagnostic.severity_nonlocalized == "WARNING":
            self.warning = diagnostic.sqlstate or "01000"

    def stale(self) -> bool:
        """Whether the server has hung up on the idle connection, told without asking it."""
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        if not poll.poll(0):
            return False
        try:
            self.pgconn.consume_input()
        except psycopg.Error:
            return True
        return bool(self.pgconn.status != psycopg.pq.ConnStatus.OK)


class AsyncConnections:
    """A bounded pool. A caller waits for a connection no longer than it said."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._taken = 0
        self._pool: AsyncConnectionPool[AsyncBoundedConnection] = AsyncConnectionPool(
            place.conninfo,
            connection_class=AsyncBoundedConnection,
            kwargs={"autocommit": True, "prepare_threshold": 5 if place.prepare else None},
            min_size=1,
            max_size=place.pool_size,
            open=False,
            configure=self._configured,
            name="txmemory",
        )
        # async only
        self._loop = asyncio.get_running_loop()
        self._made: WeakSet[AsyncBoundedConnection] = WeakSet()
        # end async only

    async def open(self) -> None:
        """Starts to connect."""
        await self._pool.open()

    async def close(self) -> None:
        """Closes every connection; those in use end with their call."""
        # async only
        if self._loop.is_closed():  # and the pool's tasks ended with it
            for connection in tuple(self._made):
                await connection.close()
            return
        self._refuse_other_loops()
        # end async only
        await self._pool.close()

    # async only
    def _refuse_other_loops(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the store was opened in another event loop")

    # end async only
    async def _configured(self, connection: AsyncBoundedConnection) -> None:
        connection.add_notice_handler(connection.noticed)
        connection.call = connection.cursor(binary=True)
        # async only
        self._made.add(connection)
        # end async only

    @asynccontextmanager
    async def taken(self, deadline: float) -> AsyncIterator[AsyncBoundedConnection]:
        """A connection that the server has not hung up on, for calls that end by the deadline."""
        # async only
        self._refuse_other_loops()
        # end async only
        ends = time.monotonic() + deadline
        connection = await self._usable(ends)
        connection.ends = ends
        connection.warning = None
        self._taken += 1
        try:
            yield connection
        except BaseException:
            if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                await connection.close()
            raise
        finally:
            self._taken -= 1
            connection.ends = None
            await self._pool.putconn(connection)

    async def _usable(self, ends: float) -> AsyncBoundedConnection:
        while True:
            try:
                connection = await self._pool.getconn(timeout=max(0.001, ends - time.monotonic()))
            except PoolClosed:
                raise Closed("the store is closed") from None
            except PoolTimeout:
                raise (Busy if self._taken >= self._place.pool_size else Down)("POOL") from None
            if not connection.stale():
                return connection
            await connection.close()
            await self._pool.putconn(connection)


def refuse_doubt(connection: AsyncBoundedConnection, status: str | None) -> None:
    """Raises `Lost` where the server said that a commit is not what it seems.

    A cancelled wait for a synchronous standby answers with success and a warning; an aborted transaction answers a
    COMMIT with another tag.
    """
    if connection.warning is not None:
        raise Lost(connection.warning)
    if status is None or not status.startswith("SELECT"):
        raise Lost("TAG")
