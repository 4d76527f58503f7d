"""Whether an answer as of a time is settled: nothing that is under way or to come can change it."""

from datetime import UTC, datetime, timedelta

from txmemory import AsOf, NotFound, When, either, must
from txmemory.testing.aio.asking import written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs

SECOND = timedelta(seconds=1)


async def test_a_time_to_come_is_what_is_there_and_is_not_settled(storage: AsyncStorage) -> None:
    """Nor is this very moment, in which something may still be recorded; before anything nothing was there."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a", "b")
    now = storage.clock()
    for at in (now, now + SECOND, datetime.max.replace(tzinfo=UTC)):
        found = must(await store.recall(as_of=at))
        assert ({memory.id for memory in found.value}, found.settled) == ({"a", "b"}, False)
    for at in (now - timedelta(microseconds=1), datetime.min.replace(tzinfo=UTC)):
        assert must(await store.recall(as_of=at)).value == []
        assert must(await store.get("a", as_of=at)).value is None


@needs("settling")
async def test_a_moment_is_settled_once_it_is_over(storage: AsyncStorage) -> None:
    """Whatever is asked, and by an event as by its time; also where nothing was ever stored."""
    store = await storage.open()
    at = storage.clock()
    await written(store.writer("run", 1), "step", "a")
    assert not must(await store.get("a", as_of=at)).settled
    storage.clock.advance(timedelta(microseconds=1))
    moments: list[When] = [at, at - SECOND, ("run", 1)]
    for as_of in moments:
        assert must(await store.get("a", as_of=as_of)).settled
        assert must(await store.exists("b", as_of=as_of)).settled
        assert must(await store.recall(limit=0, as_of=as_of)).settled
        assert must(await store.count(as_of=as_of)).settled
        assert must(await store.within("x").entity("e", as_of=as_of)).settled
    assert must(await store.tenant("another").count(as_of=at)) == AsOf(0, settled=True, at=at)


@needs("joining", "settling")
async def test_what_is_under_way_leaves_a_moment_unsettled(storage: AsyncStorage) -> None:
    """L12: asked around a slow commit, the first answer says that it is not settled, and the second is another."""
    store, caller = await storage.open(), await storage.caller()
    await written(store.writer("run", 1), "step", "a")
    await caller.begin()
    await written(store.joined(caller.connection).writer("slow", 1), "step", "b")
    at = storage.clock()
    storage.clock.advance(SECOND)
    before = must(await store.recall(as_of=at))
    assert (len(before.value), before.settled) == (1, False)
    await caller.commit()
    after = must(await store.recall(as_of=at))
    assert (len(after.value), after.settled) == (2, True)
    assert must(await store.recall(as_of=("slow", 1))) == after


@needs("joining")
async def test_in_a_transaction_of_the_caller_s_own_writes_are_there_and_nothing_is_settled(
    storage: AsyncStorage,
) -> None:
    """Rolled back, they never were."""
    store, caller = await storage.open(), await storage.caller()
    await written(store.writer("run", 1), "step-1", "a")
    storage.clock.advance(SECOND)
    await caller.begin()
    joined = store.joined(caller.connection)
    await written(joined.writer("run", 1), "step-2", "b")
    storage.clock.advance(SECOND)
    for as_of, there in (("run", 1), 1), (("run", 2), 2):
        found = must(await joined.recall(as_of=as_of))
        assert (len(found.value), found.settled) == (there, False)
    await caller.roll_back()
    assert either(await store.recall(as_of=("run", 2))) == NotFound()
    assert must(await store.count(as_of=storage.clock())).value == 1
