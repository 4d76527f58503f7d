"""The stores that are damaged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.damage.grounds import FileGround, Ground, ServerGround
from txmemory.testing.server import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A server for as long as the tests run."""
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    with PostgresServer.started(durable=False) as started:
        yield started.url(database=started.create_database())


@pytest.fixture(params=["sqlite", "portable-sqlite", "postgres", "portable"])
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Ground:
    """A store with something of everything, of each kind that SQL can reach."""
    match request.param:
        case "sqlite":
            return FileGround(tmp_path)
        case "portable-sqlite":
            return FileGround(tmp_path, "portable+")
        case "postgres":
            return ServerGround(request.getfixturevalue("server"))
        case _:
            return ServerGround(request.getfixturevalue("server"), "portable+")
