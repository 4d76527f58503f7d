"""A database behind a proxy, and what it holds, seen by a connection of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import psycopg

import txmemory
from txmemory.testing.proxy import Proxy
from txmemory.testing.server import PostgresServer


@dataclass(frozen=True, slots=True)
class Picture:
    """What a tenant's rows say, without what two runs of the same calls do not have in common."""

    items: frozenset[tuple[Any, ...]]
    revisions: frozenset[tuple[Any, ...]]
    ledger: frozenset[tuple[Any, ...]]
    events: tuple[tuple[Any, ...], ...]
    scopes: frozenset[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class World:
    """A server, a proxy in front of it, and a database with our schema."""

    server: PostgresServer
    proxy: Proxy
    database: str
    watching: psycopg.Connection[Any]
    """A direct connection."""

    @classmethod
    @contextmanager
    def made(cls, server: PostgresServer) -> Iterator[Self]:
        """A new database."""
        database = server.create_database()
        txmemory.migrate(server.url(database))
        with psycopg.connect(server.url(database), autocommit=True) as watching:
            host, port = watching.info.host, watching.info.port
            with Proxy.started(host, port) as proxy:
                yield cls(server, proxy, database, watching)

    @property
    def direct(self) -> str:
        """The URL of a store without the proxy."""
        return self.server.url(self.database)

    @property
    def through(self) -> str:
        """The URL of a store whose calls take turns on one connection through the proxy."""
        return f"{self.server.url(self.database, port=self.proxy.port)}?pool_size=1"

    def picture(self, tenant: str) -> Picture:
        """What is there of a tenant now."""

        def rows(columns: str, table: str, order: str = "1") -> list[tuple[Any, ...]]:
            query = f"SELECT {columns} FROM txmemory.{table} WHERE tenant = %s ORDER BY {order}"  # noqa: S608 - constants
            return self.watching.execute(query, [tenant]).fetchall()

        return Picture(
            frozenset(rows("namespace, id, live, revision", "item")),
            frozenset(rows("namespace, id, revision, text", "revision")),
            frozenset(rows("scope, key, seq", "ledger")),
            tuple(rows("kind, scope, seq, token, key, status", "event", '"row"')),
            frozenset(rows("scope, generation, token, seq, sealed", "scope")),
        )
