# Generated from ../aio/connecting.py by scripts/generate. Do not edit.
"""Connections that a deadline bounds, and where they are kept between calls."""

import select
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen

from txmemory.backends.postgres.faults import fault_of, fault_of_connecting
from txmemory.backends.postgres.place import Place
from txmemory.backends.postgres.turns import INTERRUPTED, Turns, made_by
from txmemory.port import Busy, Closed, Down, Lost

Value = TypeVar("Value")
PREPARED = 5
"""Uses of a statement after which the driver keeps it on the server, where nobody says otherwise."""
COURTESY = 2.0
"""Seconds that an interrupted call takes at most to tell the server and to see what became of what it sent."""


class BoundedConnection(psycopg.Connection[Any]):
    """A connection whose every wait ends at a moment: no setting of the server bounds an answer that never comes."""

    ends: float | None = None
    kept: bool = False
    """Whether it was used before."""
    warning: str | None = None
    call: psycopg.Cursor[Any]
    """Of every commit: kept, because what a cursor has found out about a statement's values is its own."""

    def wait(
        self,
        gen: PQGen[Value],
        interval: float = 0.1,
        timeout: float | None = None,
    ) -> Value:
        """Waits for the server, but not beyond `ends`. Interrupted, it tells the server and sees how it ended."""
        if self.ends is not None and timeout is None:
            timeout = max(0.0, self.ends - time.monotonic())
        try:
            return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except INTERRUPTED:
            if self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self._leave(gen, interval)
            raise

    def _leave(self, gen: PQGen[Value], interval: float) -> None:
        ends = time.monotonic() + COURTESY
        with suppress(psycopg.Error, OSError):
            self.cancel_safe(timeout=COURTESY)
            left = max(0.0, ends - time.monotonic())
            waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=left)

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


class Connections:
    """At most so many connections, each made by the caller who needs it, within that caller's own deadline.

    Nobody makes any beside the callers, so that a server that is back is found by the next call, and a caller is told
    what its own attempt to connect has met.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._turns = Turns(place.pool_size)
        self._idle: deque[BoundedConnection] = deque()
        self._closed = False

    def close(self) -> None:
        """Closes every connection; those in use end with their call."""
        self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    @contextmanager
    def taken(self, deadline: float) -> Iterator[BoundedConnection]:
        """A connection that the server has not hung up on, for calls that end by the deadline."""
        ends = time.monotonic() + deadline
        if not self._turns.take(ends):
            raise Busy("POOL")
        try:
            connection = self._usable(ends)
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
                self._put_back(connection, sound=sound)
        finally:
            self._turns.leave()

    def _put_back(self, connection: BoundedConnection, *, sound: bool) -> None:
        if sound and connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            connection.kept = True
            self._idle.append(connection)
        else:
            connection.close()
        if self._closed:
            self._let_go()

    def _usable(self, ends: float) -> BoundedConnection:
        while not self._closed:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connected(ends)
            if not connection.stale():
                return connection
            connection.close()
        raise Closed("the store is closed")

    def _connected(self, ends: float) -> BoundedConnection:
        try:
            connection = made_by(ends, self._connect)
        except psycopg.Error as error:
            raise fault_of_connecting(error) from None
        except TimeoutError:
            raise Down("CONNECTION", passing=True) from None
        connection.add_notice_handler(connection.noticed)
        connection.call = connection.cursor(binary=True)
        if self._place.prepare:
            self._let_prepare(connection, ends)
        return connection

    def _let_prepare(self, connection: BoundedConnection, ends: float) -> None:
        """Lets the server keep statements for the connection, unless a pooler stands between and shares its sessions.

        There a name may stand for another client's statement. A pooler greets with a process of its own invention.
        """
        connection.ends = ends
        try:
            cursor = connection.execute("SELECT pg_backend_pid()")
            if cursor.fetchone() == (connection.info.backend_pid,):
                connection.prepare_threshold = PREPARED
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.Error):
                raise fault_of(error, sent=False) from None
            raise

    def _connect(self) -> BoundedConnection:
        return BoundedConnection.connect(
            self._place.conninfo,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=self._place.patience,
        )


def refuse_doubt(connection: BoundedConnection, status: str | None) -> None:
    """Raises `Lost` where the server said that a commit is not what it seems.

    A cancelled wait for a synchronous standby answers with success and a warning; an aborted transaction answers a
    COMMIT with another tag.
    """
    if connection.warning is not None:
        raise Lost(connection.warning)
    if status is None or not status.startswith("SELECT"):
        raise Lost("TAG")
