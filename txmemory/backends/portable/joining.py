"""Inside a caller's own transaction: its SQLAlchemy connection, its begin and its commit."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError, InvalidRequestError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.portable.faults import fault_of, is_aborted
from txmemory.backends.portable.ground import Ground
from txmemory.backends.portable.tables import PortableTables
from txmemory.backends.portable.transacting import Clock, fetched, no_time
from txmemory.backends.sql.reading import Asked
from txmemory.backends.steps import carry_out
from txmemory.model.commit import Commit, Reply, Transaction
from txmemory.model.query import Page, Query
from txmemory.port import joinable

Row = TypeVar("Row")
Answer = TypeVar("Answer")


class JoinedPortable:
    """The port over a `Connection` that belongs to a caller, who will end its transaction."""

    def __init__(self, connection: object, home: URL, ground: Ground, clock: Clock | None) -> None:
        if not isinstance(connection, Connection):
            raise TypeError("this store joins a Connection of sqlalchemy")
        _refuse_other_places(connection, home)
        _refuse_what_commits_by_itself(connection)
        self._lifetime = Lifetime()
        self._connection = connection
        self._home = home
        self._ground = ground
        self._clock = clock

    def commit(self, commit: Transaction, deadline: float) -> Reply:
        """Carries the commit out behind a savepoint, wholly or not at all."""
        self._lifetime.check()
        return _carried_out(self._connection, self._ground, self._clock, joinable(commit), deadline)

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from what the transaction sees."""
        self._lifetime.check()
        asked = self._ground.reads.asked(query, self._clock or no_time)
        page: Page[Any] = asked.page(_fetched(self._connection, asked))
        return page

    def joined(self, connection: object) -> "JoinedPortable":
        """The same of another connection."""
        return JoinedPortable(connection, self._home, self._ground, self._clock)

    def close(self) -> None:
        """Refuses every later call; the connection is the caller's."""
        self._lifetime.close()


class AsyncJoinedPortable:
    """The same over an `AsyncConnection`."""

    def __init__(self, connection: object, home: URL, ground: Ground, clock: Clock | None) -> None:
        if not isinstance(connection, AsyncConnection):
            raise TypeError("this store joins an AsyncConnection of sqlalchemy")
        if connection.sync_connection is None:
            raise ValueError("the connection is not started, or closed")
        _refuse_other_places(connection.sync_connection, home)
        _refuse_what_commits_by_itself(connection.sync_connection)
        self._lifetime = Lifetime()
        self._connection = connection
        self._home = home
        self._ground = ground
        self._clock = clock

    async def commit(self, commit: Transaction, deadline: float) -> Reply:
        """Carries the commit out behind a savepoint, wholly or not at all."""
        self._lifetime.check()
        wanted = joinable(commit)
        return await self._connection.run_sync(_carried_out, self._ground, self._clock, wanted, deadline)

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from what the transaction sees."""
        self._lifetime.check()
        asked = self._ground.reads.asked(query, self._clock or no_time)
        page: Page[Any] = asked.page(await self._connection.run_sync(_fetched, asked))
        return page

    def joined(self, connection: object) -> "AsyncJoinedPortable":
        """The same of another connection."""
        return AsyncJoinedPortable(connection, self._home, self._ground, self._clock)

    async def close(self) -> None:
        """Refuses every later call; the connection is the caller's."""
        self._lifetime.close()


def _carried_out(
    connection: Connection, ground: Ground, clock: Clock | None, commit: Commit, deadline: float
) -> Reply:
    """No look without a lock comes first: on an older snapshot it would answer what is no longer true."""

    def steps() -> Reply:
        # First, since on a file it begins what SQLAlchemy has only promised to begin.
        waited = ground.hold(connection, deadline)
        try:
            with connection.begin_nested():
                tables = PortableTables(connection, ground, clock)
                reply = carry_out(tables, commit)
                tables.finish()
        except BaseException:
            with suppress(SQLAlchemyError):
                waited()
            raise
        waited()
        return reply

    return _translated(connection, steps)


def _fetched(connection: Connection, asked: Asked[Any]) -> list[Any]:
    return _translated(connection, lambda: fetched(connection, asked))


def _translated(connection: Connection, call: Callable[[], Answer]) -> Answer:
    """What the call answers; the COMMIT is the caller's and was not sent, so that nothing is in doubt."""
    _refuse_what_commits_by_itself(connection)
    try:
        return call()
    except InvalidRequestError:
        raise ValueError("the transaction is aborted, or ended: roll it back") from None
    except DBAPIError as error:
        if is_aborted(error):
            raise ValueError("the transaction is aborted: roll it back") from None
        raise fault_of(error, sent=False) from None
    except SQLAlchemyError as error:
        raise fault_of(error, sent=False) from None


def _refuse_other_places(connection: Connection, home: URL) -> None:
    """By what the URLs say: asking the server what it is is not the same everywhere."""
    if _place(connection.engine.url) != _place(home):
        raise ValueError("the connection is to another database than the store's")


def _place(url: URL) -> tuple[object, ...]:
    return (
        url.get_backend_name(),
        url.host,
        url.port,
        url.database,
        url.query.get("host"),
        url.query.get("port"),
    )


def _refuse_what_commits_by_itself(connection: Connection) -> None:
    if connection.closed:
        raise ValueError("the connection is closed")
    if not connection.in_transaction() or _autocommits(connection):
        raise ValueError("the connection has no open transaction, and would commit by itself: begin one")


def _autocommits(connection: Connection) -> bool:
    driver = connection.connection.dbapi_connection
    if driver is None or connection.dialect.name == "sqlite":
        return False  # SQLite's driver begins for SQLAlchemy, or is told to
    return connection.dialect.detect_autocommit_setting(driver)
