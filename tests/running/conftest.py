"""Where runs are renewed in real time: a file, and a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import txmemory
from tests.running.places import FilePlace, Place, ServerPlace
from txmemory.testing.server import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a database that several cases share."""
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    with PostgresServer.started(durable=False) as started:
        url = started.url(database=started.create_database())
        txmemory.migrate(url)
        yield url


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A store that is the case's own."""
    if request.param == "file":
        return FilePlace(tmp_path / "runs.db")
    return ServerPlace(request.getfixturevalue("server"))
