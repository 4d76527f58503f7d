"""Connections that a deadline bounds, and where they are kept between calls."""

# async only
import asyncio

# end async only
import select
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

from txmemory.backends.postgres.faults import fault_of, fault_of_connecting
from txmemory.backends.postgres.place import Place
from txmemory.backends.postgres.turns import INTERRUPTED, AsyncTurns, made_by_async
from txmemory.port import Busy, Closed, Down, Lost

Value = TypeVar("Value")
PREPARED = 5
"""Uses of a statement after which the driver keeps it on the server, where nobody says otherwise."""
COURTESY = 2.0
"""Seconds that an interrupted call takes at most to tell the server and to see what became of what it sent."""


class AsyncBoundedConnection(psycopg.AsyncConnection[Any]):
    """A connection whose every wait ends at a moment: no setting of the server bounds an answer that never comes."""

    ends: float | None = None
    kept: bool = False
    """Whether it was used before."""
    warning: str | None = None
    call: psycopg.AsyncCursor[Any]
    """Of every commit: kept, because what a cursor has found out about a statement's values is its own."""

    async def wait(
        self,
        gen: PQGen[Value],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Value:
        """Waits for the server, but not beyond `ends`. Interrupted, it tells the server and sees how it ended."""
        if self.ends is not None and timeout is None:
            timeout = max(0.0, self.ends - time.monotonic())
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except INTERRUPTED:
            if self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                await self._leave(gen, interval)
            raise

    async def _leave(self, gen: PQGen[Value], interval: float) -> None:
        ends = time.monotonic() + COURTESY
        with suppress(psycopg.Error, OSError):
            await self.cancel_safe(timeout=COURTESY)
            left = max(0.0, ends - time.monotonic())
            await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=left)

    def noticed(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        """Keeps a warning's code."""
        if diagnostic.severity_nonlocalized == "WARNING":
            self.warning = diagnostic.sqlstate or "01000"

    def stale(self) -> bool:
        """Whether the server has spoken on the idle connection, which is nearly always a farewell.

        What it says is not read: a farewell comes in two parts, words and an end, and either may be seen first.
        """
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        return bool(poll.poll(0))


class AsyncConnections:
    """At most so many connections, each made by the caller who needs it, within that caller's own deadline.

    Nobody makes any beside the callers, so that a server that is back is found by the next call, and a caller is told
    what its own attempt to connect has met.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._turns = AsyncTurns(place.pool_size)
        self._idle: deque[AsyncBoundedConnection] = deque()
        self._closed = False
        # async only
        self._loop = asyncio.get_running_loop()
        # end async only

    async def close(self) -> None:
        """Closes every connection; those in use end with their call."""
        # async only
        if not self._loop.is_closed():
            self._refuse_other_loops()
        # end async only
        self._closed = True
        await self._let_go()

    async def _let_go(self) -> None:
        with suppress(IndexError):
            while True:
                await self._idle.pop().close()

    # async only
    def _refuse_other_loops(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the store was opened in another event loop")

    # end async only
    @asynccontextmanager
    async def taken(self, deadline: float) -> AsyncIterator[AsyncBoundedConnection]:
        """A connection that the server has not hung up on, for calls that end by the deadline."""
        # async only
        self._refuse_other_loops()
        # end async only
        ends = time.monotonic() + deadline
        if not await self._turns.take(ends):
            raise Busy("POOL")
        try:
            connection = await self._usable(ends)
            connection.ends = ends
            connection.warning = None
            sound = True
            try:
                yield connection
            except Down as fault:
                # A kept one may lead to a server that has become read-only or full since, and a new one elsewhere.
                fault.passing = fault.passing or connection.kept
                sound = False
                raise
            finally:
                connection.ends = None
                await self._put_back(connection, sound=sound)
        finally:
            self._turns.leave()

    async def _put_back(self, connection: AsyncBoundedConnection, *, sound: bool) -> None:
        if sound and connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            connection.kept = True
            self._idle.append(connection)
        else:
            await connection.close()
        if self._closed:
            await self._let_go()

    async def _usable(self, ends: float) -> AsyncBoundedConnection:
        while not self._closed:
            try:
                connection = self._idle.pop()
            except IndexError:
                return await self._connected(ends)
            if not connection.stale():
                return connection
            await connection.close()
        raise Closed("the store is closed")

    async def _connected(self, ends: float) -> AsyncBoundedConnection:
        try:
            connection = await made_by_async(ends, self._connect)
        except psycopg.Error as error:
            raise fault_of_connecting(error) from None
        except TimeoutError:
            raise Down("CONNECTION", passing=True) from None
        connection.add_notice_handler(connection.noticed)
        connection.call = connection.cursor(binary=True)
        if self._place.prepare:
            await self._let_prepare(connection, ends)
        return connection

    async def _let_prepare(self, connection: AsyncBoundedConnection, ends: float) -> None:
        """Lets the server keep statements for the connection, unless a pooler stands between and shares its sessions.

        There a name may stand for another client's statement. A pooler greets with a process of its own invention.
        """
        connection.ends = ends
        try:
            cursor = await connection.execute("SELECT pg_backend_pid()")
            if await cursor.fetchone() == (connection.info.backend_pid,):
                connection.prepare_threshold = PREPARED
        except BaseException as error:
            await connection.close()
            if isinstance(error, psycopg.Error):
                raise fault_of(error, sent=False) from None
            raise

    async def _connect(self) -> AsyncBoundedConnection:
        return await AsyncBoundedConnection.connect(
            self._place.conninfo,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=self._place.patience,
        )


def refuse_doubt(connection: AsyncBoundedConnection, status: str | None) -> None:
    """Raises `Lost` where the server said that a commit is not what it seems.

    A cancelled wait for a synchronous standby answers with success and a warning; an aborted transaction answers a
    COMMIT with another tag.
    """
    if connection.warning is not None:
        raise Lost(connection.warning)
    if status is None or not status.startswith("SELECT"):
        raise Lost("TAG")
