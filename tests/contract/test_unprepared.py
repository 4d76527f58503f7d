"""The contract's core on PostgreSQL without prepared statements, as some poolers want it: `?prepare=off`."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import txmemory.testing.contract.aio
import txmemory.testing.contract.sync
from txmemory.testing.aio.storage import AsyncPostgresSchema
from txmemory.testing.cases import collect
from txmemory.testing.sync.storage import PostgresSchema

CORE = {"basics", "fencing", "guard", "replay", "replacement"}


@pytest.fixture
def storage(request: pytest.FixtureRequest, server: str) -> Iterator[Any]:
    if inspect.iscoroutinefunction(request.function):
        yield AsyncPostgresSchema(server, prepare="off")
        return
    place = PostgresSchema(server, prepare="off")
    yield place
    place.close()


for way in (txmemory.testing.contract.aio, txmemory.testing.contract.sync):
    globals().update(
        {
            f"{name}__{way.__name__.rpartition('.')[2]}": case
            for name, case in collect(way).items()
            if case.__module__.rpartition(".")[2] in CORE
        }
    )
