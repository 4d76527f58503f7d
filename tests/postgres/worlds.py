"""A database behind a proxy, and what it holds, seen by a connection of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import psycopg

import txmemory
from txmemory.testing.proxy import Proxy
from txmemory.testing.server import PostgresServer

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Picture:
    """What a tenant's rows say, without what two runs of the same calls do not have in common."""

    items: frozenset[tuple[Any, ...]]
    revisions: frozenset[tuple[Any, ...]]
    ledger: frozenset[tuple[Any, ...]]
    events: tuple[tuple[Any, ...], ...]
    scopes: frozenset[tuple[Any, ...]]


class World:
    """A server, a proxy in front of it, and a database with our schema."""

    def __init__(self, server: PostgresServer, proxy: Proxy, database: str) -> None:
        self.server, self.proxy, self.database = server, proxy, database
        self._watching: psycopg.Connection[Any] | None = None

    @classmethod
    @contextmanager
    def made(cls, server: PostgresServer) -> Iterator[Self]:
        """A new database."""
        database = server.create_database()
        txmemory.migrate(server.url(database))
        with psycopg.connect(server.superuser_url) as connection:
            host, port = connection.info.host, connection.info.port
        with Proxy.started(host, port) as proxy:
            world = cls(server, proxy, database)
            try:
                yield world
            finally:
                if world._watching is not None:
                    world._watching.close()

    @property
    def direct(self) -> str:
        """The URL of a store without the proxy."""
        return self.server.url(self.database)

    @property
    def through(self) -> str:
        """The URL of a store whose calls take turns on one connection through the proxy."""
        return f"{self.server.url(self.database, port=self.proxy.port)}?pool_size=1"

    @property
    def version(self) -> int:
        """Of the server."""
        return int(self.look("SHOW server_version_num")[0][0])

    def look(self, query: str, *values: object) -> Rows:
        """The rows of a query, on a direct connection that is made anew where it was lost."""
        for _ in range(2):
            if self._watching is None or self._watching.closed:
                self._watching = psycopg.connect(self.direct, autocommit=True)
            try:
                return self._watching.execute(query, values).fetchall()
            except psycopg.OperationalError:
                self._watching.close()
        raise AssertionError("the server does not answer")

    def do(self, statement: str) -> None:
        """Runs a statement that has no rows, as the superuser."""
        with psycopg.connect(self.direct, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(statement)

    @contextmanager
    def holding(self, query: str) -> Iterator[None]:
        """While somebody has these rows locked in an open transaction."""
        with psycopg.connect(self.direct) as connection:
            connection.execute(query)
            yield

    def others(self) -> frozenset[int]:
        """The processes that serve our database to anybody but this world's own look."""
        query = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return frozenset(pid for (pid,) in self.look(query))

    def waiting(self, event: str) -> list[int]:
        """The processes of our database that wait for this."""
        query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = %s"
        return [pid for (pid,) in self.look(query, event)]

    def picture(self, tenant: str = "default") -> Picture:
        """What is there of a tenant at one moment."""
        self.look("SELECT 1")
        connection = self._watching
        assert connection is not None

        def rows(columns: str, table: str, order: str = "1") -> Rows:
            query = f"SELECT {columns} FROM txmemory.{table} WHERE tenant = %s ORDER BY {order}"  # noqa: S608 - constants
            return connection.execute(query, [tenant]).fetchall()

        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return Picture(
                frozenset(rows("namespace, id, live, revision", "item")),
                frozenset(rows("namespace, id, revision, text", "revision")),
                frozenset(rows("scope, key, seq", "ledger")),
                tuple(rows("kind, scope, seq, token, key, status", "event", '"row"')),
                frozenset(rows("scope, generation, token, lease_until, seq, sealed", "scope")),
            )
