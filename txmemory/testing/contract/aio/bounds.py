"""Guarantee 9: after a bounded write a namespace holds no more than its bounds, whoever else was writing."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from txmemory import AsyncStore, Bounds, Memory, Receipt, TooManyToEvict, either, must
from txmemory.model.event import Event
from txmemory.testing.aio.asking import contents, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.racing import race_async

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    """A time of creation."""
    return NOON + timedelta(minutes=minute)


def numbered(*minutes: int) -> list[Memory]:
    """Memories named after the minute they are from."""
    return [Memory("tea", id=f"m-{minute:04}", timestamp=at(minute)) for minute in minutes]


async def test_the_oldest_go_and_the_newest_stay(storage: AsyncStorage) -> None:
    """Bound 5 with 10 stored keeps the newest 5, in any order of arrival."""
    store = await storage.open()
    for minute in (7, 2, 9, 4, 1, 8, 3, 10, 6, 5):
        must(await store.store(*numbered(minute), bounds=Bounds(5)))
    assert sorted(await contents(store)) == [f"m-{minute:04}" for minute in range(6, 11)]


async def test_a_bounded_write_says_what_it_evicted(storage: AsyncStorage) -> None:
    """In order of age, with the revision of the removal; the history says why."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(1, 2, 3)))
    outcome = must(await writer.write("step-2", numbered(4, 5), bounds=Bounds(2))).outcome
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [
        ("m-0001", 2),
        ("m-0002", 2),
        ("m-0003", 2),
    ]
    assert outcome.removed == ()
    assert [entry.reason for entry in must(await store.history("m-0001"))] == ["stored", "evicted"]


async def test_a_memory_that_was_just_added_may_go(storage: AsyncStorage) -> None:
    """It then stands in both added and evicted, and a bound of 0 keeps nothing."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(5, 6)))
    outcome = must(await writer.write("step-2", numbered(1), bounds=Bounds(2))).outcome
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("m-0001", 1)]
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [("m-0001", 2)]
    emptied = must(await writer.write("step-3", numbered(9), bounds=Bounds(0))).outcome
    assert [ref.id for ref in emptied.evicted] == ["m-0005", "m-0006", "m-0009"]
    assert must(await store.count()) == 0


async def test_equal_times_are_evicted_by_id(storage: AsyncStorage) -> None:
    """A total order, by code point."""
    store = await storage.open()
    ids = ["b", "a", "B", "\u00e9", "a%"]
    batch = [Memory("tea", id=id, timestamp=NOON) for id in ids]
    outcome = must(await store.writer("run", 1).write("step", batch, bounds=Bounds(2))).outcome
    assert [ref.id for ref in outcome.evicted] == ["B", "a", "a%"]


async def test_what_a_write_removes_or_renews_makes_room(storage: AsyncStorage) -> None:
    """Counted once at the end, after add and remove; an overwritten memory has its new age."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(1, 2, 3)))
    replaced = must(await writer.replace("step-2", numbered(4), ["m-0002"], bounds=Bounds(3))).outcome
    assert replaced.evicted == ()
    renewed = Memory("fresh", id="m-0001", timestamp=at(9))
    outcome = must(await writer.write("step-3", [renewed, *numbered(8)], bounds=Bounds(3))).outcome
    assert [ref.id for ref in outcome.evicted] == ["m-0003"]
    assert sorted(await contents(store)) == ["m-0001", "m-0004", "m-0008"]


async def test_a_superseded_replacement_evicts_nothing(storage: AsyncStorage) -> None:
    """Where nothing is stored bounds are not enforced."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(1, 2, 3)))
    outcome = must(await writer.replace("step-2", numbered(4), ["gone"], bounds=Bounds(1))).outcome
    assert (outcome.status, outcome.evicted) == ("superseded", ())
    assert must(await writer.replace("step-3", [], ["m-0001"], bounds=Bounds(1))).outcome.evicted == ()
    assert must(await store.count()) == 2


async def test_a_replay_evicts_nothing(storage: AsyncStorage) -> None:
    """Guarantee 2: the recorded evictions are told again, not made again."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(1, 2)))
    first = must(await writer.write("step-2", numbered(3), bounds=Bounds(2)))
    must(await writer.write("step-3", numbered(4, 5)))
    again = must(await writer.write("step-2", numbered(3), bounds=Bounds(2)))
    assert again == Receipt(first.outcome, replayed=True)
    assert must(await store.count()) == 4


async def test_only_the_namespace_that_is_written_to_is_bounded(storage: AsyncStorage) -> None:
    """Never another namespace, one below it, or another tenant."""
    store = await storage.open()
    others = [
        store,
        store.within("users"),
        store.within("users", "ada", "x"),
        store.tenant("acme").within("users", "ada"),
    ]
    for place, other in enumerate(others):
        must(await other.writer("run", 1).write(f"{place}", numbered(1, 2, 3)))
    ada = store.within("users", "ada", bounds=Bounds(1))
    must(await ada.writer("run", 1).write("step", numbered(4, 5, 6)))
    must(await ada.store(*numbered(7)))
    assert list(await contents(ada)) == ["m-0007"]
    for other in others:
        assert must(await other.count()) == 3


async def test_a_bound_of_a_call_goes_before_the_bound_of_its_handle(storage: AsyncStorage) -> None:
    """`within(bounds=)` holds for every write through it that brings none."""
    store = (await storage.open()).within("users", bounds=Bounds(2))
    writer = store.writer("run", 1)
    must(await writer.write("step-1", numbered(1, 2, 3), bounds=Bounds(3)))
    assert must(await store.count()) == 3
    many = must(await writer.write_many([("step-2", numbered(4)), ("step-3", numbered(5))]))
    evicted = [[ref.id for ref in must(one).outcome.evicted] for one in many]
    assert evicted == [[], ["m-0001", "m-0002", "m-0003"]]


async def test_a_bound_never_breaks_while_six_scopes_write(storage: AsyncStorage) -> None:
    """B4: bound 10: not after any commit, as the log tells it."""
    stores = [await storage.open() for _ in range(6)]

    async def work(place: int, store: AsyncStore) -> None:
        for step in range(12):
            batch = numbered(*(1_000 * (step % 3) + 100 * place + 2 * step + n for n in range(3)))
            must(await store.writer(f"run-{place}", 1).write(f"{step}", batch, bounds=Bounds(10)))

    await race_async(*(partial(work, place, store) for place, store in enumerate(stores)))
    sizes = [len(live) for live in _lives(event for _, event in await storage.events())]
    assert len(sizes) == 72
    assert max(sizes) == 10
    assert must(await stores[0].count()) == 10


async def test_eviction_takes_the_oldest_also_while_memories_are_renewed(storage: AsyncStorage) -> None:
    """B7: whatever renews the victim meanwhile, what goes was the oldest of all when it went."""
    one, two = await storage.open(), await storage.open()
    must(await one.writer("setup", 1).write("setup", numbered(*range(8))))

    async def renew() -> None:
        for turn in range(30):
            must(await two.store(Memory("renewed", id=f"m-{turn % 40:04}", timestamp=at(100 + turn))))

    async def bounded() -> None:
        for turn in range(30):
            must(await one.writer("run", 1).write(f"{turn}", numbered(8 + turn), bounds=Bounds(8)))

    await race_async(renew, bounded)
    created = {}
    events = [event for _, event in await storage.events()]
    for id in {effect.id for event in events for effect in event.effects}:
        for entry in must(await one.history(id)):
            if entry.memory is not None and entry.memory.timestamp is not None:
                created[id, entry.revision] = (entry.memory.timestamp, id)
    before: dict[str, int] = {}
    for event, after in zip(events, _lives(events), strict=True):
        gone = [effect.id for effect in event.effects if effect.reason == "evicted"]
        put = {effect.id: effect.revision for effect in event.effects if effect.operation == "put"}
        candidates = sorted(created[item] for item in (before | put).items())
        assert gone == [id for _, id in candidates[: len(gone)]]
        before = after
    assert must(await one.count()) >= 8


async def test_a_bounded_write_beside_many_memories_evicts_only_its_own(storage: AsyncStorage) -> None:
    """B5, scaled down, without the clock: a namespace at its bound of 500 beside one of 2,000."""
    store = await storage.open()
    for batch in range(2):
        many = numbered(*range(1_000 * batch, 1_000 * batch + 1_000))
        must(await store.within("beside").writer("run", 1).write(f"{batch}", many))
    bounded = store.within("bounded", bounds=Bounds(500))
    must(await bounded.writer("run", 1).write("fill", numbered(*range(500))))
    outcome = must(await bounded.writer("run", 1).write("more", numbered(600, 601, 602))).outcome
    assert [ref.id for ref in outcome.evicted] == ["m-0000", "m-0001", "m-0002"]
    assert must(await bounded.count()) == 500
    assert must(await store.within("beside").count()) == 2_000


async def test_more_victims_than_one_commit_takes_are_refused_and_nothing_changes(
    storage: AsyncStorage,
) -> None:
    """Over 1,000 is `TooManyToEvict(excess)`; 1,000 is fine; `store` and write_many say the same."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await writer.write("fill", numbered(*range(1_000))))
    must(await writer.write("more", numbered(1_000)))
    before = await storage.digest()
    assert either(await writer.write("step", numbered(1_001), bounds=Bounds(1))) == TooManyToEvict(1_001)
    assert either(await store.store(*numbered(1_001), bounds=Bounds(1))) == TooManyToEvict(1_001)
    many = must(await writer.write_many([("step", numbered(1_001))], bounds=Bounds(1)))
    assert [either(one) for one in many] == [TooManyToEvict(1_001)]
    assert await storage.digest() == before
    outcome = must(await writer.write("step", numbered(1_001), bounds=Bounds(2))).outcome
    assert (len(outcome.evicted), must(await store.count())) == (1_000, 2)


async def test_a_bound_is_an_integer_from_0_to_100_000(storage: AsyncStorage) -> None:
    """Refused when built, on the handle, in the call."""
    store = await storage.open()
    for wrong in (-1, 100_001):
        with pytest.raises(ValueError):
            Bounds(wrong)
    with pytest.raises(ValueError):
        Bounds()
    for mistyped in (True, 1.0, "5"):
        with pytest.raises(TypeError):
            Bounds(mistyped)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        store.within("x", bounds=5)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        await store.writer("run", 1).write("x", [], bounds=5)  # type: ignore[arg-type]  # the same
    assert not (await written(store.within("x", bounds=Bounds(100_000)).writer("run", 1), "x", "a")).replayed


async def test_the_bound_of_a_handle_is_no_part_of_what_was_asked(storage: AsyncStorage) -> None:
    """R19: a handle may be made with another bound after a restart; a call's own bound is part of the payload."""
    store = await storage.open()
    batch = numbered(1)
    must(await store.within("x", bounds=Bounds(5)).writer("run", 1).write("step", batch))
    assert not must(await store.within("x").writer("run", 1).write("step", batch)).diverged
    assert must(await store.within("x").writer("run", 1).write("step", batch, bounds=Bounds(5))).diverged


def _lives(events: Iterable[Event]) -> list[dict[str, int]]:
    """What is live after each event: id to revision."""
    live: dict[str, int] = {}
    after = []
    for event in events:
        for effect in event.effects:
            if effect.operation == "put":
                live[effect.id] = effect.revision
            else:
                live.pop(effect.id)
        after.append(dict(live))
    return after
