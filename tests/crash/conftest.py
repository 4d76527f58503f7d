"""The servers of the crash tests."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import txmemory
from txmemory.testing.proxy import Proxy
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


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    """A proxy in front of the server, whose faults are of one test."""
    place = urlsplit(server.superuser_url)
    with Proxy.started(place.hostname or "", place.port or 5432) as started:
        yield started
