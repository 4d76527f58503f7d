"""What a caller's clock can do to a store: fail or lie, and nothing that lasts."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from txmemory import AsyncStore, Memory, must
from txmemory.testing.aio.asking import contents, written
from txmemory.testing.aio.storage import AsyncStorage

LATEST = datetime(9998, 12, 31, tzinfo=UTC)
"""The last time that a clock may answer: times of record have room behind it."""


def calls(store: AsyncStore) -> list[Callable[[], Awaitable[object]]]:
    """What asks the clock, with a token that the scope has not seen."""
    writer = store.writer("run", 9)
    return [
        partial(writer.write, "new", [Memory("tea", id="new")]),
        partial(writer.replace, "new", [], ["a"]),
        partial(writer.write_many, [("new", [Memory("tea", id="new")])]),
        partial(store.store, Memory("tea", id="new")),
        partial(store.delete, "a"),
        store.clear,
        partial(store.get, "a"),
        store.recall,
        store.count,
    ]


async def test_a_clock_that_fails_is_the_caller_s_own_failure_and_nothing_happened(
    storage: AsyncStorage,
) -> None:
    """Guarantee 8: what it raises is raised, no trace is left, and the store works again when it does."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    before = await storage.digest()
    for call in calls(store):
        storage.clock.fail(LookupError("the caller's own"))
        with pytest.raises(LookupError):
            await call()
        storage.clock.fail(None)
        assert await storage.digest() == before
        assert must(await store.count()) == 1
    assert (await written(store.writer("run", 1), "then", "b")).outcome.seq == 2


async def test_a_clock_that_raises_stop_iteration_is_no_answer(storage: AsyncStorage) -> None:
    """Guarantee 8: the exception by which a generator ends is never taken for the end of a call."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    before = await storage.digest()
    for call in calls(store):
        storage.clock.fail(StopIteration("no answer"))
        with pytest.raises((StopIteration, RuntimeError)):
            await call()
        storage.clock.fail(None)
        assert await storage.digest() == before
        assert must(await store.count()) == 1
    assert (await written(store.writer("run", 1), "then", "b")).outcome.seq == 2


async def test_a_clock_beyond_the_last_year_is_refused_when_it_is_read(storage: AsyncStorage) -> None:
    """D2: no time of record can leave the calendar, and with a right clock the store goes on."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    now, before = storage.clock(), await storage.digest()
    for call in calls(store):
        for wrong in (LATEST + timedelta(microseconds=1), datetime.max.replace(tzinfo=UTC)):
            storage.clock.set(wrong)
            with pytest.raises(ValueError):
                await call()
        storage.clock.set(now)
        assert await storage.digest() == before
    then = (await written(store.writer("run", 1), "then", "b")).outcome
    assert (then.seq, then.at) == (2, now + timedelta(microseconds=1))


async def test_the_last_time_that_a_clock_may_answer_leaves_room_for_all_that_follows(
    storage: AsyncStorage,
) -> None:
    """D2: times of record go on growing behind it."""
    store = await storage.open()
    storage.clock.set(LATEST)
    times = [(await written(store.writer("run", 1), f"{turn}", "a")).outcome.at for turn in range(50)]
    assert times == [LATEST + timedelta(microseconds=turn) for turn in range(50)]
    assert must(await store.delete("a"))
    assert must(await store.history("a"))[-1].at == LATEST + timedelta(microseconds=50)
    assert await contents(store) == {}
