"""Waiting that ends at a moment, for callers that await and for callers that block: a turn, and a new connection."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar


class _Closing(Protocol):
    def close(self) -> None:
        """Ends it."""


INTERRUPTED = (KeyboardInterrupt, asyncio.CancelledError)
"""What ends a wait from outside."""
Made = TypeVar("Made")
Closing = TypeVar("Closing", bound=_Closing)


class AsyncTurns:
    """So many callers at a time; the others wait in order."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    async def take(self, ends: float) -> bool:
        """Whether a turn came before the moment."""
        if not self._free.locked():
            return await self._free.acquire()
        try:
            async with asyncio.timeout(ends - time.monotonic()):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def leave(self) -> None:
        """Gives the turn to the next."""
        self._free.release()


class Turns:
    """The same on threads."""

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)

    def take(self, ends: float) -> bool:
        """Whether a turn came before the moment."""
        return self._free.acquire(timeout=max(0.0, ends - time.monotonic()))

    def leave(self) -> None:
        """Gives the turn to the next."""
        self._free.release()


async def made_by_async(ends: float, make: Callable[[], Awaitable[Made]]) -> Made:
    """What `make` makes; `TimeoutError` when it has not by then."""
    async with asyncio.timeout(ends - time.monotonic()):
        return await make()


def made_by(ends: float, make: Callable[[], Closing]) -> Closing:
    """What `make` makes, on a thread, because nothing ends a name's look-up; what comes too late is closed."""
    waiting: Future[Closing] = Future()
    threading.Thread(target=_make, args=(waiting, make), name="txmemory connects", daemon=True).start()
    try:
        return waiting.result(max(0.0, ends - time.monotonic()))
    except BaseException:
        if not waiting.cancel() and waiting.exception() is None:
            waiting.result().close()
        raise


def _make(waiting: "Future[Closing]", make: Callable[[], Closing]) -> None:
    try:
        made = make()
    except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
        if waiting.set_running_or_notify_cancel():
            waiting.set_exception(error)
        return
    if waiting.set_running_or_notify_cancel():
        waiting.set_result(made)
    else:
        made.close()
