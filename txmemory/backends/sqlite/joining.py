"""Inside a caller's own transaction: its connection, its BEGIN and its COMMIT."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.sqlite.connecting import Place, translated
from txmemory.backends.sqlite.dialect import TABLES, compiled, guard_statements, read_statements
from txmemory.backends.sqlite.schema import check_schema
from txmemory.backends.sqlite.tables import SqliteTables
from txmemory.backends.steps import carry_out
from txmemory.model.commit import Reply, Transaction
from txmemory.model.query import Page, Query
from txmemory.port import joinable

Row = TypeVar("Row")

_HOLD = f"{compiled(TABLES.version.delete())} WHERE 0"
"""Takes the file's write lock and changes nothing; refused where the transaction reads an older state of the file."""


class JoinedSqlite:
    """The port over a connection that belongs to a caller, who has begun a transaction and will end it."""

    def __init__(self, place: Place, connection: object, clock: Callable[[], int]) -> None:
        if place.path is None:
            raise TypeError("a store in memory joins no connection")
        if not isinstance(connection, sqlite3.Connection):
            raise TypeError("a store on SQLite joins a sqlite3.Connection")
        self._lifetime = Lifetime()
        self._place = place
        self._connection = connection
        self._clock = clock
        self._refuse_what_commits_by_itself()

    def commit(self, commit: Transaction, deadline: float) -> Reply:
        """Carries the commit out, wholly or not at all, whatever the caller's transaction then comes to."""
        wanted = joinable(commit)
        with self._borrowed() as cursor:
            cursor.execute(_HOLD)  # first: what is met has to be true until the transaction ends
            cursor.execute("SAVEPOINT txmemory")
            try:
                reply = carry_out(SqliteTables(cursor, guard_statements(), self._clock), wanted)
            except BaseException:
                self._undo(cursor)
                raise
            cursor.execute("RELEASE txmemory")
        return reply

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from what the transaction sees."""
        asked = read_statements().asked(query, self._clock)
        with self._borrowed() as cursor:
            found = [cursor.execute(asked.statement, each).fetchall() for each in asked.bindings]
        page: Page[Any] = asked.page(found)
        return page

    def joined(self, connection: object) -> "JoinedSqlite":
        """The same of another connection."""
        return JoinedSqlite(self._place, connection, self._clock)

    def close(self) -> None:
        """Refuses every later call; the connection is the caller's."""
        self._lifetime.close()

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Cursor]:
        """A cursor of our own, on which the caller's factories have no effect."""
        self._lifetime.check()
        self._refuse_what_commits_by_itself()
        text_factory = self._connection.text_factory
        self._connection.text_factory = str
        try:
            with translated():
                cursor = sqlite3.Cursor(self._connection)
                self._refuse_another_file(cursor)
                check_schema(cursor)
                yield cursor
        finally:
            self._connection.text_factory = text_factory

    def _refuse_what_commits_by_itself(self) -> None:
        try:
            began = self._connection.in_transaction
        except sqlite3.ProgrammingError:
            raise ValueError("the connection is closed") from None
        if not began:
            raise ValueError("the connection has no open transaction, and would commit by itself: begin one")

    def _refuse_another_file(self, cursor: sqlite3.Cursor) -> None:
        identity = self._place.identity()
        (path,) = (path for _, name, path in cursor.execute("PRAGMA database_list") if name == "main")
        try:
            found = Path(path).stat() if path else None
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != identity:
            raise ValueError("the connection's main database is not the file of this store")

    def _undo(self, cursor: sqlite3.Cursor) -> None:
        """Takes back what is ours, unless the engine has rolled everything back; if it cannot be, all of it."""
        if not self._connection.in_transaction:
            return
        try:
            cursor.execute("ROLLBACK TO txmemory")
            cursor.execute("RELEASE txmemory")
        except sqlite3.Error:
            cursor.execute("ROLLBACK")


class AsyncJoinedSqlite:
    """The same for callers that await: on their thread, to which the connection belongs."""

    def __init__(self, backend: JoinedSqlite) -> None:
        self._backend = backend

    async def commit(self, commit: Transaction, deadline: float) -> Reply:
        """Carries the commit out."""
        return self._backend.commit(commit, deadline)

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from what the transaction sees."""
        return self._backend.read(query, deadline)

    def joined(self, connection: object) -> "AsyncJoinedSqlite":
        """The same of another connection."""
        return AsyncJoinedSqlite(self._backend.joined(connection))

    async def close(self) -> None:
        """Refuses every later call; the connection is the caller's."""
        self._backend.close()
