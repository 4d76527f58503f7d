"""Statements are prepared on the server from their first use on, or never."""

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import txmemory
from txmemory import Memory, must
from txmemory.testing.proxy import Message, Proxy
from txmemory.testing.roles import with_options
from txmemory.testing.server import PostgresServer

PARSE = Message("frontend", "Parse")
PREPARED = "SELECT name FROM pg_prepared_statements"
TOKENS = (1, 2, 40_000, 3_000_000_000, 2**62, 2**62 + 1, 2**63 - 1)
"""Numbers of every size that the driver tells apart."""
CALLS = len(TOKENS)
"""More than the driver waits for before it prepares a statement by itself."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    with psycopg.connect(server.superuser_url) as connection:
        host, port = connection.info.host, connection.info.port
    with Proxy.started(host, port) as proxy:
        yield proxy


@pytest.fixture
def url(server: PostgresServer, proxy: Proxy) -> str:
    """Of a store behind the proxy, on one connection."""
    database = server.create_database()
    txmemory.migrate(server.url(database))
    return with_options(server.url(database, port=proxy.port), pool_size="1")


def run(url: str) -> list[str]:
    """Calls of each kind, then the names of what is prepared on the very connection that made them."""
    with txmemory.open(url) as store:
        for number in range(CALLS):
            must(
                store.writer("run", token=TOKENS[number]).write(f"{number}", [Memory("green tea", id="tea")])
            )
            must(store.recall())
            must(store.get("tea"))
        backend: Any = store._handle.backend
        with backend._connections.taken(5.0) as connection:
            return [name for (name,) in connection.execute(PREPARED, prepare=False).fetchall()]


async def run_async(url: str) -> list[str]:
    async with txmemory.open_async(url) as store:
        for number in range(CALLS):
            writer = store.writer("run", token=TOKENS[number])
            must(await writer.write(f"{number}", [Memory("green tea", id="tea")]))
            must(await store.recall())
            must(await store.get("tea"))
        backend: Any = store._handle.backend
        async with backend._connections.taken(5.0) as connection:
            cursor = await connection.execute(PREPARED, prepare=False)
            return [name for (name,) in await cursor.fetchall()]


def ran(url: str, way: str) -> list[str]:
    return asyncio.run(run_async(url)) if way == "aio" else run(url)


def parsed(proxy: Proxy) -> int:
    """How many statements the server was asked to read."""
    return sum(seen.message == PARSE for seen in proxy.messages)


@pytest.mark.parametrize("way", ["aio", "sync"])
def test_a_statement_is_read_once_a_connection(url: str, proxy: Proxy, way: str) -> None:
    proxy.forget()
    statements = ran(url, way)
    assert len(statements) == 3
    assert parsed(proxy) < CALLS


@pytest.mark.parametrize("way", ["aio", "sync"])
def test_with_prepare_off_no_statement_has_a_name(url: str, proxy: Proxy, way: str) -> None:
    proxy.forget()
    assert ran(with_options(url, prepare="off"), way) == []
    assert parsed(proxy) >= 3 * CALLS
