"""`update`: a change of what is there, decided outside every transaction, that loses nobody else's change."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from txmemory import (
    AsyncStore,
    Bounds,
    Contended,
    IdChanged,
    Memory,
    NotFound,
    Outcome,
    OutcomeUnknown,
    StaleRevision,
    TooManyToEvict,
    either,
    must,
)
from txmemory.testing.aio.asking import contents
from txmemory.testing.aio.faults import AsyncLosing
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.racing import elsewhere_async, race_async

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def counted(memory: Memory) -> Memory:
    """The same with its count one higher."""
    return memory.with_metadata({"count": str(int(memory.metadata.get("count", "0")) + 1)})


def answered(answer: object, _memory: Memory) -> object:
    """An answer that has nothing to do with the memory."""
    return answer


class Seen:
    """A change that notes what it was given, and does something before it answers."""

    def __init__(self, change: Callable[[Memory], Any], beside: Callable[[], object] | None = None) -> None:
        self.given: list[Memory] = []
        self._change = change
        self._beside = beside

    def __call__(self, memory: Memory) -> Any:
        """The change."""
        self.given.append(memory)
        if self._beside is not None:
            self._beside()
        return self._change(memory)


async def the(store: AsyncStore, id: str) -> Memory:
    """The memory, which is there."""
    found = must(await store.get(id))
    assert found is not None
    return found


async def test_an_update_stores_what_its_function_makes_of_what_is_there(storage: AsyncStorage) -> None:
    """It is given the memory as `get` answers it, once; metadata are merged, and the time stays."""
    store = await storage.open()
    first = Memory(
        "tea", id="m", memory_type="task", metadata={"a": "1", "b": "2"}, importance=0.5, timestamp=NOON
    )
    must(await store.store(first))
    read = await the(store, "m")
    change = Seen(lambda memory: memory.with_metadata({"b": "3", "": ""}).with_importance(7))
    storage.clock.advance(timedelta(minutes=1))
    outcome = must(await store.update("m", change))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("m", 2)]
    assert (outcome.removed, outcome.evicted, outcome.seq, outcome.token) == ((), (), None, None)
    assert change.given == [read]
    assert (change.given[0].revision, change.given[0].namespace) == (1, read.namespace)
    found = await the(store, "m")
    assert (found.content, found.memory_type, found.timestamp) == ("tea", first.memory_type, NOON)
    assert (dict(found.metadata), found.importance) == ({"a": "1", "b": "3", "": ""}, 1.0)
    assert [entry.reason for entry in must(await store.history("m"))] == ["stored", "stored"]
    assert [event.kind for _, event in await storage.events()] == ["change", "change"]


async def test_an_update_keeps_the_time_unless_it_is_changed(storage: AsyncStorage) -> None:
    """One that the store filled in as well, and with a memory that was made anew and names none."""
    store = await storage.open()
    must(await store.store(Memory("tea", id="m")))
    filled = storage.clock()
    storage.clock.advance(timedelta(hours=1))
    must(await store.update("m", lambda memory: memory.with_content("green tea")))
    assert (await the(store, "m")).timestamp == filled
    must(await store.update("m", lambda memory: Memory("black tea", id=memory.id)))
    assert (await the(store, "m")).timestamp == filled
    must(await store.update("m", lambda memory: Memory("white tea", id=memory.id, timestamp=NOON)))
    assert (await the(store, "m")).timestamp == NOON


async def test_every_store_over_an_id_is_noticed_by_a_guard(storage: AsyncStorage) -> None:
    """An update, a store and a batch each bump the revision that an expectation names."""
    store = await storage.open()
    writer = store.writer("run", 1)
    must(await store.store(Memory("tea", id="m")))
    calls: list[Callable[[], Any]] = [
        partial(store.update, "m", counted),
        partial(store.store, Memory("told anew", id="m")),
        partial(store.store_all, [Memory("told anew", id="m")]),
    ]
    for turn, call in enumerate(calls):
        read = await the(store, "m")
        assert read.revision is not None
        must(await call())
        stale = await writer.write(f"{turn}", [Memory("late", id="m")], expect={"m": read.revision})
        assert either(stale) == StaleRevision(read.revision, read.revision + 1)
        lost = must(await writer.replace(f"sum {turn}", [], [read])).outcome
        assert lost.status == "superseded"


async def test_of_two_that_count_at_the_same_time_no_step_is_lost(storage: AsyncStorage) -> None:
    """A hundred increments of one counter, by two stores; one that was told `Contended` did nothing."""
    stores = [await storage.open() for _ in range(2)]
    must(await stores[0].store(Memory("tea", id="m", metadata={"count": "0"})))

    async def count(store: AsyncStore) -> int:
        contended = done = 0
        while done < 50:
            answer = either(await store.update("m", counted))
            if isinstance(answer, Outcome):
                done += 1
            else:
                assert answer == Contended()
                contended += 1
        return contended

    await race_async(*(partial(count, store) for store in stores))
    found = await the(stores[0], "m")
    assert (found.metadata["count"], found.revision) == ("100", 101)


async def test_many_that_count_at_once_all_get_their_turn(storage: AsyncStorage) -> None:
    """Who loses a race waits a random moment before it decides again, so that losers do not lose together."""
    store = await storage.open()
    must(await store.store(Memory("0", id="counter")))

    async def count() -> bool:
        counted = await store.update(
            "counter", lambda memory: memory.with_content(f"{int(memory.content) + 1}")
        )
        return not isinstance(either(counted), Contended)

    done = await race_async(*[count] * 8)
    found = must(await store.get("counter"))
    assert found is not None
    assert int(found.content) == sum(done)
    assert sum(done) >= 6


async def test_a_change_in_between_is_read_and_decided_again(storage: AsyncStorage) -> None:
    """By a store, an update or a delete and a store: four times somebody was quicker, and the fifth holds."""
    store = await storage.open()
    must(await store.store(Memory("tea", id="m", metadata={"count": "0"})))
    left = 4

    async def other() -> None:
        nonlocal left
        if left:
            left -= 1
            quicker = await storage.open()
            if left == 1:
                must(await quicker.delete("m"))
                must(await quicker.store(Memory("anew", id="m", metadata={"count": "10"})))
            else:
                must(await quicker.update("m", counted))

    change = Seen(counted, lambda: elsewhere_async(other))
    outcome = must(await store.update("m", change))
    assert [memory.metadata["count"] for memory in change.given] == ["0", "1", "2", "10", "11"]
    assert [ref.revision for ref in outcome.added] == [7]
    assert (await the(store, "m")).metadata["count"] == "12"


async def test_after_five_changes_in_between_an_update_is_contended(storage: AsyncStorage) -> None:
    """It has stored nothing; what the others did is there."""
    store = await storage.open()
    must(await store.store(Memory("tea", id="m")))

    async def other() -> None:
        must(await (await storage.open()).update("m", counted))

    change = Seen(lambda memory: memory.with_content("never"), lambda: elsewhere_async(other))
    assert either(await store.update("m", change)) == Contended()
    assert [memory.revision for memory in change.given] == [1, 2, 3, 4, 5]
    assert await contents(store) == {"m": "tea"}
    assert (await the(store, "m")).metadata["count"] == "5"
    assert len(must(await store.history("m"))) == 6


async def test_what_is_not_there_cannot_be_updated(storage: AsyncStorage) -> None:
    """Never stored, deleted, of another namespace or tenant, or deleted while the function decides."""
    store = await storage.open()
    must(await store.store(Memory("tea", id="gone")))
    must(await store.delete("gone"))
    must(await store.store(Memory("tea", id="m")))
    before = await storage.digest()
    change = Seen(counted)
    for place, id in (
        (store, "never"),
        (store, "gone"),
        (store.within("else"), "m"),
        (store.tenant("acme"), "m"),
    ):
        assert either(await place.update(id, change)) == NotFound()
    assert change.given == []
    assert await storage.digest() == before

    async def other() -> None:
        must(await (await storage.open()).delete("m"))

    deciding = Seen(counted, lambda: elsewhere_async(other))
    assert either(await store.update("m", deciding)) == NotFound()
    assert len(deciding.given) == 1
    assert [entry.reason for entry in must(await store.history("m"))] == ["stored", "deleted"]


async def test_an_update_keeps_the_id(storage: AsyncStorage) -> None:
    """Another id is refused and nothing changes: neither memory, nor a second one under the new id."""
    store = await storage.open()
    must(await store.store_all([Memory("tea", id="m"), Memory("coffee", id="n")]))
    before = await storage.digest()
    for other in ("n", "new", "M"):
        changed = Seen(partial(answered, Memory("tea", id=other)))
        assert either(await store.update("m", changed)) == IdChanged()
        assert len(changed.given) == 1
    assert either(await store.update("m", lambda memory: Memory(memory.content))) == IdChanged()
    assert await storage.digest() == before


async def test_what_the_function_raises_comes_out_and_nothing_is_locked(storage: AsyncStorage) -> None:
    """So does a `TypeError` for an answer that is no memory; the next writer goes on at once."""
    store, other = await storage.open(), await storage.open()
    must(await store.store(Memory("tea", id="m")))
    before = await storage.digest()

    def failing(_memory: Memory) -> Memory:
        raise LookupError("the caller's own")

    with pytest.raises(LookupError, match="the caller's own"):
        await store.update("m", failing)
    for answer in (None, "text", {"content": "tea"}):
        with pytest.raises(TypeError):
            await store.update("m", Seen(partial(answered, answer)))
    for wrong in (None, "text"):
        given: Any = wrong
        with pytest.raises(TypeError):
            await store.update("m", given)
    assert await storage.digest() == before
    must(await other.update("m", counted))
    must(await store.update("m", counted))
    assert (await the(store, "m")).metadata["count"] == "2"


async def test_while_the_function_decides_others_write(storage: AsyncStorage) -> None:
    """C8: no transaction is open meanwhile: the same scope, the same namespace, bounded, and a clear elsewhere."""
    store = await storage.open()
    must(await store.store(Memory("tea", id="m")))

    async def others() -> None:
        other = await storage.open()
        must(await other.store_all([Memory("beside", id="n")], bounds=Bounds(10)))
        must(await other.writer("run", 1).write("step", [Memory("beside", id="o")]))
        must(await other.within("else").clear())
        assert set(await contents(other)) == {"m", "n", "o"}

    change = Seen(counted, lambda: elsewhere_async(others))
    must(await store.update("m", change))
    assert len(change.given) == 1
    assert [entry.revision for entry in must(await store.history("m"))] == [1, 2]


async def test_an_update_keeps_to_the_bounds_of_its_handle(storage: AsyncStorage) -> None:
    """A bounded write like any other: it evicts, it may evict what it changed, and it may be too much."""
    store = await storage.open()
    ages = [Memory("tea", id=f"m-{n}", timestamp=NOON + timedelta(minutes=n)) for n in range(4)]
    must(await store.store_all(ages))
    bounded = store.within(bounds=Bounds(3))
    outcome = must(await bounded.update("m-3", counted))
    assert [ref.id for ref in outcome.evicted] == ["m-0"]
    older = must(await bounded.update("m-3", lambda memory: Memory("old", id=memory.id, timestamp=NOON)))
    assert older.evicted == ()
    must(await store.store(ages[0]))
    gone = must(await bounded.update("m-3", counted))
    assert [ref.id for ref in gone.evicted] == ["m-0"]
    must(await store.store_all([Memory("tea", id=f"more-{n}") for n in range(1_000)]))
    must(await store.store(Memory("tea", id="more")))
    before = await storage.digest()
    assert isinstance(either(await bounded.update("m-1", counted)), TooManyToEvict)
    assert await storage.digest() == before


async def test_a_lost_update_is_unknown_and_made_once(storage: AsyncStorage) -> None:
    """It has no key, so it is not made again; its function is called once."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    must(await store.store(Memory("tea", id="m")))
    backend.losses = 1
    change = Seen(counted)
    assert either(await store.update("m", change)) == OutcomeUnknown()
    assert len(change.given) == 1
    found = await the(store, "m")
    assert (found.metadata["count"], found.revision) == ("1", 2)
