"""A server, and a schema of its own for every test."""

from collections.abc import Iterator

import pytest

from txmemory.testing.server import PostgresServer
from txmemory.testing.shared import new_schema


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.started(durable=False) as started:
        yield started


@pytest.fixture(scope="session")
def database(server: PostgresServer) -> str:
    """The URL of a database."""
    return server.url(database=server.create_database())


@pytest.fixture
def schema(database: str) -> str:
    return new_schema(database)
