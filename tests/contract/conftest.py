"""The storages that the contract is run on."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from txmemory.testing.aio import portable as aio_portable
from txmemory.testing.aio import storage as aio
from txmemory.testing.aio.portable import LEVELS
from txmemory.testing.cases import needs_of
from txmemory.testing.portable_file import PortableSqliteFile
from txmemory.testing.server import PostgresServer
from txmemory.testing.sync import portable as sync_portable
from txmemory.testing.sync import storage as sync

ASYNC: dict[str, Callable[[Path], aio.AsyncPlace]] = {
    "memory": lambda _folder: aio.AsyncMemoryPlace(),
    "sqlite-file": aio.AsyncSqliteFile,
    "sqlite-memory": lambda _folder: aio.AsyncSqliteMemory(),
}
SYNC: dict[str, Callable[[Path], sync.Place]] = {
    "memory": lambda _folder: sync.MemoryPlace(),
    "sqlite-file": sync.SqliteFile,
    "sqlite-memory": lambda _folder: sync.SqliteMemory(),
}


ON_SERVER_ASYNC: dict[str, Callable[[str], aio.AsyncPlace]] = {
    "postgres": aio.AsyncPostgresSchema,
    **{level: partial(aio_portable.AsyncPortableSchema, level=level) for level in LEVELS},
}
ON_SERVER: dict[str, Callable[[str], sync.Place]] = {
    "postgres": sync.PostgresSchema,
    **{level: partial(sync_portable.PortableSchema, level=level) for level in LEVELS},
}
BLOCKING = "portable-sqlite"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a database on a server of the tests' own, or of the one that was given."""
    with PostgresServer.started(durable=False) as started:
        yield started.url(database=started.create_database())


@pytest.fixture(params=[*ASYNC, *ON_SERVER, BLOCKING])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh storage, awaited for `async def` cases; skipped, with the reason, where it lacks what a case needs."""
    awaited = inspect.iscoroutinefunction(request.function)
    if request.param == BLOCKING:
        if awaited:
            pytest.skip("portable-sqlite: the driver that SQLAlchemy has for files blocks")
        place: Any = PortableSqliteFile(tmp_path)
    elif request.param in ON_SERVER:
        make = (ON_SERVER_ASYNC if awaited else ON_SERVER)[request.param]
        place = make(request.getfixturevalue("server"))
    else:
        place = (ASYNC if awaited else SYNC)[request.param](tmp_path)
    _refuse_what_it_lacks(request, place)
    yield place
    if not awaited:  # an awaited one is closed in the loop of its case
        place.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Closes an awaited storage where it was opened: connections are of one event loop."""
    case = pyfuncitem.obj
    if not inspect.iscoroutinefunction(case) or "storage" not in pyfuncitem.funcargs:
        return None
    wanted = inspect.signature(case).parameters
    given: dict[str, Any] = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}

    async def closing() -> None:
        try:
            await case(**given)
        finally:
            await given["storage"].close()

    with asyncio.Runner() as runner:
        runner.run(closing())
    return True


@pytest.fixture(params=[f"{way} {name}" for way in ("aio", "sync") for name in (*ASYNC, *ON_SERVER)])
def make_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """What makes fresh storages of one kind, as many as are asked for."""
    way, _, name = request.param.partition(" ")
    if name in ON_SERVER:
        of_server = (ON_SERVER_ASYNC if way == "aio" else ON_SERVER)[name]
        return partial(of_server, request.getfixturevalue("server"))
    made = 0

    def make() -> Any:
        nonlocal made
        made += 1
        folder = tmp_path / f"{made}"
        folder.mkdir()
        return (ASYNC if way == "aio" else SYNC)[name](folder)

    return make


def _refuse_what_it_lacks(request: pytest.FixtureRequest, place: aio.AsyncPlace | sync.Place) -> None:
    for need in needs_of(request.function):
        if need in place.lacks:
            pytest.skip(f"{place.name}: {place.lacks[need]}")
