"""The servers of the crash tests."""

from collections.abc import Iterator

import pytest

import txmemory
from txmemory.testing.server import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A server for as long as the tests run."""
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    with PostgresServer.started(durable=False) as started:
        yield started


@pytest.fixture(scope="session")
def database(server: PostgresServer) -> str:
    """The URL of a database with our tables, in which each test has tenants of its own."""
    url = server.url(database=server.create_database())
    txmemory.migrate(url)
    return url
