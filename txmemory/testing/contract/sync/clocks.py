# Generated from ../aio/clocks.py by scripts/generate. Do not edit.
"""What a caller's clock can do to a store: fail or lie, and nothing that lasts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from txmemory import Memory, Store, must
from txmemory.testing.sync.asking import contents, written
from txmemory.testing.sync.storage import Storage

LATEST = datetime(9998, 12, 31, tzinfo=UTC)
"""The last time that a clock may answer: times of record have room behind it."""


def calls(store: Store) -> list[Callable[[], object]]:
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


def test_a_clock_that_fails_is_the_caller_s_own_failure_and_nothing_happened(
    storage: Storage,
) -> None:
    """Guarantee 8: what it raises is raised, no trace is left, and the store works again when it does."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a")
    before = storage.digest()
    for call in calls(store):
        storage.clock.fail(LookupError("the caller's own"))
        with pytest.raises(LookupError):
            call()
        storage.clock.fail(None)
        assert storage.digest() == before
        assert must(store.count()) == 1
    assert written(store.writer("run", 1), "then", "b").outcome.seq == 2


def test_a_clock_that_raises_stop_iteration_is_no_answer(storage: Storage) -> None:
    """Guarantee 8: the exception by which a generator ends is never taken for the end of a call."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a")
    before = storage.digest()
    for call in calls(store):
        storage.clock.fail(StopIteration("no answer"))
        with pytest.raises((StopIteration, RuntimeError)):
            call()
        storage.clock.fail(None)
        assert storage.digest() == before
        assert must(store.count()) == 1
    assert written(store.writer("run", 1), "then", "b").outcome.seq == 2


def test_a_clock_beyond_the_last_year_is_refused_when_it_is_read(storage: Storage) -> None:
    """D2: no time of record can leave the calendar, and with a right clock the store goes on."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a")
    now, before = storage.clock(), storage.digest()
    for call in calls(store):
        for wrong in (LATEST + timedelta(microseconds=1), datetime.max.replace(tzinfo=UTC)):
            storage.clock.set(wrong)
            with pytest.raises(ValueError):
                call()
        storage.clock.set(now)
        assert storage.digest() == before
    then = written(store.writer("run", 1), "then", "b").outcome
    assert (then.seq, then.at) == (2, now + timedelta(microseconds=1))


def test_the_last_time_that_a_clock_may_answer_leaves_room_for_all_that_follows(
    storage: Storage,
) -> None:
    """D2: times of record go on growing behind it."""
    store = storage.open()
    storage.clock.set(LATEST)
    times = [written(store.writer("run", 1), f"{turn}", "a").outcome.at for turn in range(50)]
    assert times == [LATEST + timedelta(microseconds=turn) for turn in range(50)]
    assert must(store.delete("a"))
    assert must(store.history("a"))[-1].at == LATEST + timedelta(microseconds=50)
    assert contents(store) == {}
