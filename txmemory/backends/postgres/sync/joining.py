# Generated from ../aio/joining.py by scripts/generate. Do not edit.
"""Inside a caller's own transaction: its connection, its BEGIN and its COMMIT."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.pq import Format, PipelineStatus, TransactionStatus
from psycopg.rows import tuple_row

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.postgres.dialect import IDLE_LEAST, SESSION, joined_call, read_statements
from txmemory.backends.postgres.faults import fault_of
from txmemory.backends.postgres.packing import arguments, reply_from
from txmemory.backends.sql.reading import Rows
from txmemory.model.commit import Reply, Transaction
from txmemory.model.query import Page, Query
from txmemory.port import Down, joinable

Row = TypeVar("Row")
Clock = Callable[[], int | None]

READ_COMMITTED = ("read committed", "read uncommitted")
"""To PostgreSQL they are one. At the others a bound would count what was there when the transaction began."""


class Home(NamedTuple):
    """A database: when its server was started, which tells servers apart, and its name."""

    server: str
    database: str


class Session(NamedTuple):
    """A caller's session at this moment; its limits are milliseconds, 0 for none."""

    home: Home
    isolation: str
    lock_timeout: int
    idle_limit: int


def session_of(cursor: psycopg.Cursor[Any]) -> Session:
    """What a session says of itself."""
    cursor.execute(SESSION)
    found = cursor.fetchone()
    if found is None:
        raise Down("ROW")
    server, database, isolation, lock_timeout, idle_limit = found
    return Session(Home(server, database), isolation, lock_timeout, idle_limit)


class JoinedPostgres:
    """The port over a connection that belongs to a caller, who has begun a transaction and will end it."""

    def __init__(
        self,
        connection: object,
        schema: str,
        clock: Clock,
        is_home: Callable[[Home, float], bool],
    ) -> None:
        kind = psycopg.Connection
        if not isinstance(connection, kind):
            raise TypeError(f"this store joins a psycopg.{kind.__name__}")
        self._guard = Lifetime()
        self._connection = connection
        self._schema = schema
        self._clock = clock
        self._is_home = is_home
        self._at_home = False
        _refuse_what_commits_by_itself(connection)

    def commit(self, commit: Transaction, deadline: float) -> Reply:
        """Two round trips: who the session is, then the one function; its limit on locks ends with it."""
        wanted, ends = joinable(commit), time.monotonic() + deadline
        with self._borrowed() as cursor:
            session = self._session(cursor, deadline)
            if session.isolation not in READ_COMMITTED:
                raise ValueError(
                    "the transaction has to be at READ COMMITTED: the others judge by an old snapshot"
                )
            waiting = max(0.001, ends - time.monotonic())
            if session.lock_timeout:
                waiting = min(waiting, session.lock_timeout / 1_000)
            idle = session.idle_limit or max(IDLE_LEAST, round(deadline * 1_000))
            values = (
                f"{session.lock_timeout}ms",
                f"{idle}ms",
                *arguments(wanted, waiting, self._clock()),
            )
            cursor.execute(joined_call(self._schema), values)
            row = cursor.fetchone()
        if row is None:
            raise Down("ROW")
        return reply_from(row[2:], wanted)

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from what the transaction sees."""
        asked = read_statements(self._schema).asked(query, self._clock)
        found: list[Rows] = []
        with self._borrowed() as cursor:
            if not self._at_home:
                self._session(cursor, deadline)
            for values in asked.bindings:
                cursor.execute(asked.statement, values)
                found.append(cursor.fetchall())
        page: Page[Any] = asked.page(found)
        return page

    def joined(self, connection: object) -> "JoinedPostgres":
        """The same of another connection."""
        return JoinedPostgres(connection, self._schema, self._clock, self._is_home)

    def close(self) -> None:
        """Refuses every later call; the connection is the caller's."""
        self._guard.close()

    @contextmanager
    def _borrowed(self) -> Iterator[psycopg.Cursor[Any]]:
        """A cursor of our own, on which the caller's factories have no effect."""
        self._guard.check()
        _refuse_what_commits_by_itself(self._connection)
        try:
            cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)
            cursor.format = Format.BINARY
            yield cursor
        except psycopg.Error as error:
            # The COMMIT is the caller's and was not sent: without the connection nothing was done.
            raise fault_of(error, sent=False) from None

    def _session(self, cursor: psycopg.Cursor[Any], deadline: float) -> Session:
        session = session_of(cursor)
        if not self._at_home and not self._is_home(session.home, deadline):
            raise ValueError("the connection is to another database than the store's")
        self._at_home = True
        return session


def _refuse_what_commits_by_itself(connection: psycopg.Connection[Any]) -> None:
    if connection.pgconn.pipeline_status != PipelineStatus.OFF:
        raise ValueError("the connection is in pipeline mode: leave it first")
    match connection.pgconn.transaction_status:
        case TransactionStatus.IDLE if connection.autocommit:
            raise ValueError("the connection has no open transaction, and would commit by itself: begin one")
        case TransactionStatus.INERROR:
            raise ValueError("the transaction is aborted: roll it back")
        case TransactionStatus.ACTIVE:
            raise ValueError("the connection is busy with another statement")
        case _:
            pass  # in a transaction, about to begin one, or lost, which the next statement says
