"""From a place to an open PostgreSQL backend."""

import asyncio
from collections.abc import Callable

from txmemory.backends.postgres.aio.backend import AsyncPostgres
from txmemory.backends.postgres.aio.connecting import AsyncConnections
from txmemory.backends.postgres.migrating import check
from txmemory.backends.postgres.place import Place
from txmemory.backends.postgres.sync.backend import Postgres
from txmemory.backends.postgres.sync.connecting import Connections


def open_postgres(place: Place, clock: Callable[[], int] | None) -> Postgres:
    """Checks the schema."""
    check(place)
    return Postgres(place, Connections(place), clock)


async def open_postgres_async(place: Place, clock: Callable[[], int] | None) -> AsyncPostgres:
    """The same; the check is made on a thread."""
    await asyncio.to_thread(check, place)
    return AsyncPostgres(place, AsyncConnections(place), clock)
