# Generated from ../aio/settling.py by scripts/generate. Do not edit.
"""Whether an answer as of a time is settled: nothing that is under way or to come can change it."""

from datetime import UTC, datetime, timedelta

from txmemory import AsOf, NotFound, When, either, must
from txmemory.testing.cases import needs
from txmemory.testing.sync.asking import written
from txmemory.testing.sync.storage import Storage

SECOND = timedelta(seconds=1)


def test_a_time_to_come_is_what_is_there_and_is_not_settled(storage: Storage) -> None:
    """Nor is this very moment, in which something may still be recorded; before anything nothing was there."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a", "b")
    now = storage.clock()
    for at in (now, now + SECOND, datetime.max.replace(tzinfo=UTC)):
        found = must(store.recall(as_of=at))
        assert ({memory.id for memory in found.value}, found.settled) == ({"a", "b"}, False)
    for at in (now - timedelta(microseconds=1), datetime.min.replace(tzinfo=UTC)):
        assert must(store.recall(as_of=at)).value == []
        assert must(store.get("a", as_of=at)).value is None


@needs("settling")
def test_a_moment_is_settled_once_it_is_over(storage: Storage) -> None:
    """Whatever is asked, and by an event as by its time; also where nothing was ever stored."""
    store = storage.open()
    at = storage.clock()
    written(store.writer("run", 1), "step", "a")
    assert not must(store.get("a", as_of=at)).settled
    storage.clock.advance(timedelta(microseconds=1))
    moments: list[When] = [at, at - SECOND, ("run", 1)]
    for as_of in moments:
        assert must(store.get("a", as_of=as_of)).settled
        assert must(store.exists("b", as_of=as_of)).settled
        assert must(store.recall(limit=0, as_of=as_of)).settled
        assert must(store.count(as_of=as_of)).settled
        assert must(store.within("x").entity("e", as_of=as_of)).settled
    assert must(store.tenant("another").count(as_of=at)) == AsOf(0, settled=True, at=at)


@needs("joining", "settling")
def test_what_is_under_way_leaves_a_moment_unsettled(storage: Storage) -> None:
    """L12: asked around a slow commit, the first answer says that it is not settled, and the second is another."""
    store, caller = storage.open(), storage.caller()
    written(store.writer("run", 1), "step", "a")
    caller.begin()
    written(store.joined(caller.connection).writer("slow", 1), "step", "b")
    at = storage.clock()
    storage.clock.advance(SECOND)
    before = must(store.recall(as_of=at))
    assert (len(before.value), before.settled) == (1, False)
    caller.commit()
    after = must(store.recall(as_of=at))
    assert (len(after.value), after.settled) == (2, True)
    assert must(store.recall(as_of=("slow", 1))) == after


@needs("joining")
def test_in_a_transaction_of_the_caller_s_own_writes_are_there_and_nothing_is_settled(
    storage: Storage,
) -> None:
    """Rolled back, they never were."""
    store, caller = storage.open(), storage.caller()
    written(store.writer("run", 1), "step-1", "a")
    storage.clock.advance(SECOND)
    caller.begin()
    joined = store.joined(caller.connection)
    written(joined.writer("run", 1), "step-2", "b")
    storage.clock.advance(SECOND)
    for as_of, there in (("run", 1), 1), (("run", 2), 2):
        found = must(joined.recall(as_of=as_of))
        assert (len(found.value), found.settled) == (there, False)
    caller.roll_back()
    assert either(store.recall(as_of=("run", 2))) == NotFound()
    assert must(store.count(as_of=storage.clock())).value == 1
