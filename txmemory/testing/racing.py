"""Calls that run at the same time, for callers that await and for callers that block."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


async def race_async(*thunks: Callable[[], Awaitable[Answer]]) -> list[Answer]:
    """The answers in the order of the calls, which run concurrently. An exception is raised once all have ended."""
    answers = await asyncio.gather(*(thunk() for thunk in thunks), return_exceptions=True)
    return _answers(answers)


def race(*thunks: Callable[[], Answer]) -> list[Answer]:
    """The answers in the order of the calls, each of which runs in a thread and starts at one barrier."""
    answers: dict[int, Answer | BaseException] = {}
    barrier = threading.Barrier(len(thunks))

    def run(place: int, thunk: Callable[[], Answer]) -> None:
        try:
            barrier.wait()
            answers[place] = thunk()
        except BaseException as error:  # noqa: BLE001  # handed on to the caller's thread
            answers[place] = error

    threads = [threading.Thread(target=run, args=(place, thunk)) for place, thunk in enumerate(thunks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _answers([answers[place] for place in range(len(thunks))])


def elsewhere_async(thunk: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """The answer of a call that runs on another thread and event loop, while this thread stands still."""
    return elsewhere(lambda: asyncio.run(thunk()))


def elsewhere(thunk: Callable[[], Answer]) -> Answer:
    """The answer of a call that runs on another thread, while this one stands still."""
    return race(thunk)[0]


def _answers(answers: list[Answer | BaseException]) -> list[Answer]:
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]
