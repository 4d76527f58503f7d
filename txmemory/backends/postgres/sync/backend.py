# Generated from ../aio/backend.py by scripts/generate. Do not edit.
"""The PostgreSQL backend: a commit is one call of one function, a query one statement."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import psycopg

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.postgres.dialect import (
    BOUNDED,
    call,
    lease_call,
    mend_statements,
    read_statements,
    settled,
)
from txmemory.backends.postgres.faults import fault_of
from txmemory.backends.postgres.leasing import lease_arguments, lease_from
from txmemory.backends.postgres.packing import arguments, reply_from
from txmemory.backends.postgres.place import Place
from txmemory.backends.postgres.sync.connecting import Connections, refuse_doubt
from txmemory.backends.postgres.sync.joining import Home, JoinedPostgres, session_of
from txmemory.backends.sql.mending import Mending
from txmemory.backends.sql.reading import Asked, Rows
from txmemory.model.commit import Commit, Reported, Transaction
from txmemory.model.query import Page, Query, Settled
from txmemory.model.repair import Mended, Repair
from txmemory.port import Lost

Row = TypeVar("Row")
Packed = Callable[[float, int | None, float | None], tuple[object, ...]]
"""What a function is called with, given seconds for locks, the clock, and seconds for all of it."""
TRANSACTION_TIMEOUT = 170_000
"""The first version of the server that bounds a transaction."""
ANSWER = 0.25
"""Seconds before the deadline at which the server stops to wait for a lock, so that it can still say so."""
GRACE = 1.0
"""Seconds after the deadline until the server ends a transaction whose client it cannot hear."""


def _server_clock() -> None:
    """Says no time, which leaves it to the server."""


class Postgres:
    """An open PostgreSQL store."""

    def __init__(self, place: Place, connections: Connections, clock: Callable[[], int] | None) -> None:
        self._guard = Lifetime()
        self._place = place
        self._connections = connections
        self._clock: Callable[[], int | None] = clock or _server_clock
        self._call = call(place.schema)
        self._lease_call = lease_call(place.schema)
        self._statements = read_statements(place.schema)
        self._home: Home | None = None

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """One round trip: the statement is the transaction, so a frozen client holds no lock."""
        self._guard.check()
        if isinstance(commit, Commit):
            row = self._called(self._call, partial(arguments, commit), deadline)
            return reply_from(row, commit)
        if isinstance(commit, Repair):
            return self._mended(commit, deadline)
        return lease_from(self._called(self._lease_call, partial(lease_arguments, commit), deadline))

    def _called(self, call: str, given: Packed, deadline: float) -> Sequence[Any]:
        """What the function answers, given what is left of the time, the clock, and how long it may take."""
        ends = time.monotonic() + deadline
        with self._connections.taken(deadline) as connection:
            remaining = ends - time.monotonic()
            bounded = connection.info.server_version >= TRANSACTION_TIMEOUT
            waiting = remaining - min(ANSWER, remaining / 4)
            values = given(waiting, self._clock(), remaining + GRACE if bounded else None)
            try:
                cursor = connection.call
                cursor.execute(call, values, prepare=self._place.prepare or None)
                refuse_doubt(connection, cursor.statusmessage)
                row = cursor.fetchone()
            except psycopg.Error as error:
                raise fault_of(error, sent=True) from None
            if row is None:
                raise Lost("ROW")
            return cast(Sequence[Any], row)

    def _mended(self, repair: Repair, deadline: float) -> Mended:
        """Many round trips: the server bounds each wait for a lock, and how long the client may say nothing."""
        mending = Mending(mend_statements(self._place.schema).mended(repair))
        ends = time.monotonic() + deadline
        sent = False
        with self._connections.taken(deadline) as connection:
            limit = f"{max(1, round((ends - time.monotonic()) * 1_000))}ms"
            try:
                cursor = connection.cursor(binary=True)
                cursor.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                cursor.execute(BOUNDED, {"limit": limit})
                while mending.done is None:
                    cursor.execute(*mending.next, prepare=self._place.prepare or None)
                    mending.take([] if cursor.description is None else cursor.fetchall())
                sent = True
                cursor.execute("COMMIT")
                if connection.warning is not None or cursor.statusmessage != "COMMIT":
                    raise Lost(connection.warning or "TAG")
            except psycopg.Error as error:
                raise fault_of(error, sent=sent) from None
        return mending.done

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from committed rows."""
        self._guard.check()
        asked = self._asked(query)
        with self._connections.taken(deadline) as connection:
            try:
                cursor = connection.cursor(binary=True)
                if len(asked.bindings) == 1:
                    cursor.execute(asked.statement, asked.bindings[0], prepare=self._place.prepare or None)
                    found: list[Rows] = [cursor.fetchall()]
                else:
                    found = _each(cursor, asked)
            except psycopg.Error as error:
                raise fault_of(error, sent=False) from None
        page: Page[Any] = asked.page(found)
        return page

    def _asked(self, query: Query[Any]) -> Asked[str]:
        if isinstance(query, Settled):
            values = {"at": query.at, "now": self._clock()}
            return Asked(settled(self._place.schema), (values,), lambda found: Page((found[0][0][0],)))
        return self._statements.asked(query, self._clock)

    def joined(self, connection: object) -> JoinedPostgres:
        """A backend inside the transaction of a connection to the same database."""
        self._guard.check()
        return JoinedPostgres(connection, self._place.schema, self._clock, self._is_home)

    def _is_home(self, home: Home, deadline: float) -> bool:
        """Whether this database is the store's own, asked anew where it seems not to be: a server may restart."""
        if self._home != home:
            with self._connections.taken(deadline) as connection:
                try:
                    self._home = session_of(connection.cursor(binary=True)).home
                except psycopg.Error as error:
                    raise fault_of(error, sent=False) from None
        return self._home == home

    def close(self) -> None:
        """Closes every connection. In a forked child it only refuses later calls: nothing here is its own."""
        inherited, closed = self._guard.inherited, self._guard.closed
        self._guard.close()
        if not inherited and not closed:
            self._connections.close()


def _each(cursor: psycopg.Cursor[Any], asked: Asked[str]) -> list[Rows]:
    """The rows that each binding finds, all in one round trip."""
    found: list[Rows] = []
    if asked.bindings:
        cursor.executemany(asked.statement, asked.bindings, returning=True)
        more: bool | None = True
        while more:
            found.append(cursor.fetchall())
            more = cursor.nextset()
    return found
