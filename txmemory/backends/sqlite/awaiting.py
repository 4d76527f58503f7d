"""Opening without holding up an event loop: the driver is imported and the file opened on a thread."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from txmemory.backends.sqlite.backend import AsyncSqlite, Sqlite


async def open_sqlite_async(
    path: str, options: Mapping[str, str], patience: float, clock: Callable[[], int]
) -> "AsyncSqlite":
    """An open backend. Cancelled, what the thread opens is closed again."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="txmemory-opening")
    opening = asyncio.get_running_loop().run_in_executor(thread, _opened, path, options, patience, clock)
    thread.shutdown(wait=False)
    try:
        backend = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_again)
        raise
    from txmemory.backends.sqlite.backend import AsyncSqlite

    return AsyncSqlite(backend)


def _opened(path: str, options: Mapping[str, str], patience: float, clock: Callable[[], int]) -> "Sqlite":
    from txmemory.backends.sqlite.opening import open_sqlite, place_of

    return open_sqlite(place_of(path, options, patience), clock)


def _close_again(opened: "asyncio.Future[Sqlite]") -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().writer.stop()
