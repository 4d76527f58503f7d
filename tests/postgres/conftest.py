"""The servers that these tests use, and what a database holds after them."""

from collections.abc import Iterator

import pytest

from tests.postgres.worlds import World
from txmemory.testing.server import OwnServer, PostgresServer


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A database with our schema behind a proxy, on a server that several cases share."""
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server, World.made(server) as world:
        yield world


@pytest.fixture
def own_world() -> Iterator[World]:
    """The same on a durable server that is the case's own, to be stopped and configured as it likes."""
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with OwnServer() as server, World.made(server) as world:
        yield world
