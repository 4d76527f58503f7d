"""The storages that the contract is run on."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from txmemory.testing.aio import storage as aio
from txmemory.testing.cases import needs_of
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


@pytest.fixture(params=ASYNC)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh storage, awaited for `async def` cases; skipped, with the reason, where it lacks what a case needs."""
    if inspect.iscoroutinefunction(request.function):
        awaited = ASYNC[request.param](tmp_path)
        _refuse_what_it_lacks(request, awaited)
        yield awaited
        with asyncio.Runner() as runner:
            runner.run(awaited.close())
    else:
        blocking = SYNC[request.param](tmp_path)
        _refuse_what_it_lacks(request, blocking)
        yield blocking
        blocking.close()


@pytest.fixture(params=[f"{way} {name}" for way in ("aio", "sync") for name in ASYNC])
def make_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """What makes fresh storages of one kind, as many as are asked for."""
    way, name = request.param.split()
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
