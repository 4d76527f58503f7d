# Generated from ../aio/ages.py by scripts/generate. Do not edit.
"""Bounds by age, alone and beside a bound by number, and `trim`, which evicts any number."""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

import pytest

from txmemory import Bounds, Memory, Store, TooManyToEvict, either, must
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import contents
from txmemory.testing.sync.storage import Storage

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)
OLD = Bounds(max_age=HOUR)


def aged(storage: Storage, *ages: timedelta, name: str = "m") -> list[Memory]:
    """Memories as old as that by the storage's clock, named after their places."""
    now = storage.clock()
    return [Memory("tea", id=f"{name}-{place:04}", timestamp=now - age) for place, age in enumerate(ages)]


def fill(store: Store, memories: Iterable[Memory]) -> None:
    """Stores any number of memories."""
    batch = [*memories]
    for first in range(0, len(batch), 1_000):
        must(store.store_all(batch[first : first + 1_000]))


def test_what_is_exactly_as_old_as_allowed_stays(storage: Storage) -> None:
    """A microsecond older goes; the clock is the store's, and a memory of the future stays."""
    store = storage.open()
    ages = (HOUR, HOUR + MICROSECOND, HOUR - MICROSECOND, -HOUR, 400 * HOUR)
    must(store.store_all(aged(storage, *ages)))
    new = Memory("new", id="new")
    outcome = must(store.store(new, bounds=OLD))
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [("m-0004", 2), ("m-0001", 2)]
    storage.clock.advance(MICROSECOND)
    outcome = must(store.store(new, bounds=OLD))
    assert [ref.id for ref in outcome.evicted] == ["m-0000"]
    assert [entry.reason for entry in must(store.history("m-0000"))] == ["stored", "evicted"]
    assert sorted(contents(store)) == ["m-0002", "m-0003", "new"]


def test_what_is_put_too_old_goes_at_once(storage: Storage) -> None:
    """It stands in both added and evicted, and its history tells both."""
    store = storage.open()
    old, edge = aged(storage, 2 * HOUR, HOUR)
    outcome = must(store.store(old, bounds=OLD))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("m-0000", 1)]
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [("m-0000", 2)]
    assert must(store.store(edge, bounds=OLD)).evicted == ()
    assert [entry.reason for entry in must(store.history("m-0000"))] == ["stored", "evicted"]
    assert list(contents(store)) == ["m-0001"]


def test_an_old_memory_that_is_made_new_stays(storage: Storage) -> None:
    """Its new age counts; one that is told anew without a time keeps its age and goes."""
    store = storage.open()
    must(store.store_all(aged(storage, 2 * HOUR, 2 * HOUR, 2 * HOUR)))
    renewed = Memory("renewed", id="m-0000", timestamp=storage.clock())
    outcome = must(store.store_all([renewed, Memory("told anew", id="m-0001")], bounds=OLD))
    assert outcome is not None
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [("m-0001", 3), ("m-0002", 2)]
    assert contents(store) == {"m-0000": "renewed"}
    made_old = Memory("made old", id="m-0000", timestamp=storage.clock() - 2 * HOUR)
    assert [ref.id for ref in must(store.store(made_old, bounds=OLD)).evicted] == ["m-0000"]


def test_what_the_same_write_removes_is_not_evicted(storage: Storage) -> None:
    """By a swap or a replacement: it is replaced, and counts no more, for the age as for the number."""
    store = storage.open()
    must(store.store_all(aged(storage, 4 * HOUR, 3 * HOUR, 2 * HOUR, timedelta())))
    swapped = must(store.swap([Memory("new", id="new")], ["m-0000", "gone"], bounds=OLD))
    assert swapped is not None
    assert [ref.id for ref in swapped.removed] == ["m-0000"]
    assert [ref.id for ref in swapped.evicted] == ["m-0001", "m-0002"]
    must(store.store_all(aged(storage, 4 * HOUR, 3 * HOUR)))
    both = Bounds(max_memories=3, max_age=HOUR)
    writer = store.writer("run", 1)
    replaced = must(writer.replace("step", [Memory("sum", id="sum")], ["m-0000", "m-0001"], bounds=both))
    assert [ref.id for ref in replaced.outcome.removed] == ["m-0000", "m-0001"]
    assert replaced.outcome.evicted == ()
    assert sorted(contents(store)) == ["m-0003", "new", "sum"]


def test_of_both_bounds_the_stricter_decides(storage: Storage) -> None:
    """As many go as the one that asks for more says, always the oldest first."""
    now = [timedelta(minutes=minutes) for minutes in (300, 200, 50, 40, 30)]
    for place, (bounds, gone) in enumerate(
        (
            (Bounds(max_memories=2, max_age=HOUR), 4),
            (Bounds(max_memories=5, max_age=HOUR), 2),
            (Bounds(max_memories=4, max_age=HOUR), 2),
            (Bounds(max_memories=6, max_age=10 * HOUR), 0),
            (Bounds(max_memories=0, max_age=HOUR), 6),
            (Bounds(max_memories=6, max_age=timedelta(minutes=30)), 4),
        )
    ):
        store = storage.open().within(f"{place}")
        batch = aged(storage, *now)
        must(store.store_all(batch))
        outcome = must(store.store(Memory("new", id="new"), bounds=bounds))
        oldest = [memory.id for memory in batch] + ["new"]
        assert [ref.id for ref in outcome.evicted] == oldest[:gone]
        assert must(store.count()) == 6 - gone


def test_an_age_beyond_all_time_lets_everything_stay(storage: Storage) -> None:
    """As long as a timedelta can be; the shortest keeps what was made in this instant."""
    store = storage.open()
    must(store.store_all(aged(storage, 700_000 * HOUR, MICROSECOND, timedelta())))
    for longest in (timedelta.max, timedelta(days=10_000 * 366)):
        assert must(store.store(Memory("new", id="new"), bounds=Bounds(max_age=longest))).evicted == ()
        assert must(store.trim(Bounds(max_age=longest))) == 0
    assert must(store.trim(Bounds(max_age=2 * MICROSECOND))) == 1
    storage.clock.advance(MICROSECOND)
    assert must(store.trim(Bounds(max_age=MICROSECOND))) == 1
    assert sorted(contents(store)) == ["m-0002", "new"]


def test_bounds_are_refused_when_built(storage: Storage) -> None:
    """An age above 0, given as a timedelta; one of the two has to be named."""
    store = storage.open()
    for wrong in (timedelta(), -MICROSECOND):
        with pytest.raises(ValueError):
            Bounds(max_age=wrong)
    with pytest.raises(ValueError):
        Bounds(None, None)
    for mistyped in (3_600, 1.5, "PT1H"):
        with pytest.raises(TypeError):
            Bounds(max_age=mistyped)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        store.trim(HOUR)  # type: ignore[arg-type]  # the same
    with pytest.raises(ValueError):
        store.trim()
    assert storage.events() == []


def test_too_many_too_old_are_refused_and_trim_evicts_them(storage: Storage) -> None:
    """Over 1,000 is `TooManyToEvict` and nothing changes; `trim` takes transactions of at most 1,000."""
    store = storage.open()
    fill(store, aged(storage, *[2 * HOUR for _ in range(1_001)]))
    writer = store.writer("run", 1)
    must(writer.applied("step"))
    before = storage.digest()
    assert either(store.store(Memory("new", id="new"), bounds=OLD)) == TooManyToEvict(1_001)
    keyed = writer.write_many([("step", [Memory("new", id="new")])], bounds=OLD)
    assert [either(one) for one in must(keyed)] == [TooManyToEvict(1_001)]
    assert storage.digest() == before
    must(store.store_all(aged(storage, HOUR, name="young")))
    fill(store, aged(storage, *[2 * HOUR for _ in range(1_499)], name="more"))
    refused = either(store.store(Memory("new", id="new"), bounds=OLD))
    assert isinstance(refused, TooManyToEvict)
    assert 1_000 < refused.excess <= 2_500
    written = len(storage.events())
    assert must(store.trim(OLD)) == 2_500
    trims = [event for _, event in storage.events()[written:]]
    assert [len(event.effects) for event in trims] == [1_000, 1_000, 500]
    assert {event.kind for event in trims} == {"change"}
    assert {effect.reason for event in trims for effect in event.effects} == {"evicted"}
    assert list(contents(store)) == ["young-0000"]
    assert must(store.store(Memory("new", id="new"), bounds=OLD)).evicted == ()


def test_a_trim_of_nothing_writes_nothing(storage: Storage) -> None:
    """0, and no event: of an empty namespace, and of one within its bounds."""
    store = storage.open()
    both = Bounds(max_memories=3, max_age=HOUR)
    for _ in range(2):
        before = storage.digest()
        log = storage.events()
        assert must(store.trim(both)) == 0
        assert storage.events() == log
        assert storage.digest() == before
        must(store.store_all(aged(storage, HOUR, timedelta(), timedelta())))


def test_a_trim_takes_what_is_over_either_bound(storage: Storage) -> None:
    """The number alone, the age alone and both; of its own namespace, never of another."""
    store = storage.open()
    ages = [HOUR * n for n in (5, 4, 3, 2, 1)]
    for place in (store, store.within("below"), store.tenant("acme")):
        must(place.store_all(aged(storage, *ages)))
    assert must(store.trim(Bounds(4))) == 1
    assert must(store.trim(Bounds(max_age=3 * HOUR))) == 1
    assert must(store.trim(Bounds(max_memories=1, max_age=3 * HOUR))) == 2
    assert list(contents(store)) == ["m-0004"]
    assert must(store.trim(Bounds(0))) == 1
    for place in (store.within("below"), store.tenant("acme")):
        assert must(place.count()) == 5


def test_a_trim_of_exactly_a_thousand_ends(storage: Storage) -> None:
    """It looks again, finds nothing, and writes nothing more."""
    store = storage.open()
    fill(store, aged(storage, *[HOUR for _ in range(1_000)]))
    assert must(store.trim(Bounds(0))) == 1_000
    assert [len(event.effects) for _, event in storage.events()] == [1_000, 1_000]
    assert must(store.count()) == 0


def test_a_handle_brings_its_bounds_to_every_write(storage: Storage) -> None:
    """`store`, `store_all`, `swap`, `update`, `write`, `replace`, `trim`; `within()` is the same place."""
    store = storage.open()
    bounded = store.within(bounds=OLD)
    writer = bounded.writer("run", 1)
    calls = (
        partial(bounded.store, Memory("new", id="new")),
        partial(bounded.store_all, [Memory("new", id="new")]),
        partial(bounded.swap, [Memory("new", id="new")], ["gone"]),
        partial(bounded.update, "new", lambda memory: memory.with_content("newer")),
        partial(writer.write, "write", [Memory("new", id="new")]),
        partial(writer.replace, "replace", [Memory("newest", id="newest")], ["new"]),
    )
    for call in calls:
        must(store.store_all(aged(storage, 2 * HOUR, HOUR)))
        must(call())
        assert [entry.reason for entry in must(store.history("m-0000"))][-1] == "evicted"
        assert must(bounded.exists("m-0001"))
    must(store.store_all(aged(storage, 2 * HOUR)))
    assert must(bounded.trim()) == 1
    assert must(bounded.trim(Bounds(1))) == 1
    deeper = bounded.within("below")
    must(deeper.store_all(aged(storage, 2 * HOUR)))
    assert must(deeper.count()) == 0
    must(store.within("below").store_all(aged(storage, 2 * HOUR)))
    assert must(store.within("below").count()) == 1


def test_a_bound_by_age_that_a_call_names_is_part_of_what_was_asked(storage: Storage) -> None:
    """Another age, or none, is another payload under the key; the handle's own is not."""
    store = storage.open()
    batch = aged(storage, timedelta())
    must(store.within(bounds=OLD).writer("run", 1).write("handle", batch))
    assert not must(store.writer("run", 1).write("handle", batch)).diverged
    both = Bounds(max_memories=9, max_age=HOUR)
    for place, asked in enumerate((OLD, both)):
        writer = store.writer("run", 1)
        must(writer.write(f"{place}", batch, bounds=asked))
        assert not must(writer.write(f"{place}", batch, bounds=asked)).diverged
        for other in (None, Bounds(9), Bounds(max_age=HOUR + MICROSECOND)):
            again = must(writer.write(f"{place}", batch, bounds=other))
            assert (again.replayed, again.diverged) == (True, True)


def test_a_trim_and_bounded_writers_leave_each_other_in_peace(storage: Storage) -> None:
    """Everything too old goes once, nothing young goes, and no write is lost."""
    stores = [storage.open() for _ in range(3)]
    fill(stores[0], aged(storage, *[2 * HOUR for _ in range(1_200)]))
    trimmed: list[int] = []

    def trim() -> None:
        trimmed.extend([must(stores[0].trim(OLD)) for _ in range(4)])

    def bounded(place: int) -> None:
        for turn in range(15):
            answer = stores[place].store(Memory("young", id=f"young-{place}-{turn}"), bounds=OLD)
            if isinstance(either(answer), TooManyToEvict):
                must(stores[place].store(Memory("young", id=f"young-{place}-{turn}")))

    race(trim, partial(bounded, 1), partial(bounded, 2))
    trimmed.append(must(stores[0].trim(OLD)))
    effects = [effect for _, event in storage.events() for effect in event.effects]
    evicted = [effect.id for effect in effects if effect.reason == "evicted"]
    assert sorted(evicted) == [f"m-{place:04}" for place in range(1_200)]
    assert sum(trimmed) <= 1_200
    assert must(stores[0].count()) == 30
