"""What was there: answers as of a time or an event are what was answered then, but for what has expired."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from txmemory import AsyncStore, Bounds, Filter, Memory, NotFound, Receipt, either, must
from txmemory.model.address import Address
from txmemory.model.commit import Commit, Entry, Put
from txmemory.model.item import Item, microseconds
from txmemory.testing.aio.asking import written
from txmemory.testing.aio.storage import AsyncStorage

SECOND = timedelta(seconds=1)
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ALL, TASKS, TOLD = Filter.all(), Filter.tasks(), Filter.by_conversation("c")
ENTITY, IMPORTANT = Filter.by_entity("e"), Filter.min_importance(0.5)
FILTERS = [
    ALL,
    Filter.none(),
    TASKS,
    TOLD,
    ENTITY,
    IMPORTANT,
    ENTITY | ~IMPORTANT,
    Filter.content_contains("TEA") & Filter.after(NOON),
    Filter.custom(lambda memory: len(memory.content) > 4),
]
IDS = ["a", "b", "c", "d", "e"]


Row = tuple[Memory, int | None]


class Then(NamedTuple):
    """What a store answered at a moment to a recall by each filter: each memory with its revision."""

    at: datetime
    answers: list[list[Row]]

    def told(self, filter: Filter, limit: int | None = None) -> list[Row]:
        """What a recall answered."""
        return self.answers[FILTERS.index(filter)][:limit]


def _memory(id: str, step: int) -> Memory:
    """Another one at each step: another type, text, time, importance and metadata, or the same again."""
    metadata = [{}, {"conversation_id": "c"}, {"entity_id": "e", "conversation_id": "d"}][step % 3]
    return Memory(
        ["tea", "green tea", "coffee"][(step + ord(id)) % 3],
        id=id,
        memory_type=["task", "knowledge"][step % 2],
        metadata=metadata,
        timestamp=NOON + timedelta(minutes=step * 7 % 5),
        importance=[None, 0.25, 0.75][step // 2 % 3],
    )


async def _lived(store: AsyncStore, storage: AsyncStorage) -> AsyncIterator[Receipt | None]:
    """A history with everything that can happen to memories, one call at a time."""
    writer = store.writer("run", 1)
    yield await _step(lambda: writer.write("1", [_memory(id, 1) for id in "abc"]), storage)
    yield await _step(lambda: store.store(_memory("a", 2)), storage)
    yield await _step(lambda: writer.replace("2", [_memory("d", 3)], ["b", "c"]), storage)
    yield await _step(lambda: store.delete("a"), storage)
    yield await _step(lambda: writer.write("3", [_memory(id, 4) for id in "ab"]), storage)
    yield await _step(lambda: store.update("d", lambda memory: memory.with_content("black tea")), storage)
    yield await _step(lambda: writer.write("4", [_memory("e", 5)], bounds=Bounds(2)), storage)
    yield await _step(store.clear, storage)
    yield await _step(
        lambda: writer.write_many([("5", [_memory("c", 6)]), ("6", [_memory("d", 7)])]), storage
    )
    yield await _step(lambda: store.delete_matching(Filter.tasks()), storage)


async def _step(call: Callable[[], Awaitable[Any]], storage: AsyncStorage) -> Receipt | None:
    """Makes the call, a second after the last one."""
    storage.clock.advance(SECOND)
    done = must(await call())
    return done if isinstance(done, Receipt) else None


async def _now(store: AsyncStore, at: datetime) -> Then:
    return Then(at, [_rows(must(await store.recall(filter))) for filter in FILTERS])


def _rows(memories: list[Memory]) -> list[Row]:
    return [(memory, memory.revision) for memory in memories]


async def _moments(store: AsyncStore, storage: AsyncStorage) -> list[Then]:
    """The lived history: what was answered before the first of its calls, and behind each."""
    moments = {storage.clock(): await _now(store, storage.clock())}
    async for _ in _lived(store, storage):
        moments[storage.clock()] = await _now(store, storage.clock())
    storage.clock.advance(SECOND)
    assert len({repr(then.answers) for then in moments.values()}) > 5
    return list(moments.values())


async def test_as_of_a_time_is_what_was_answered_then(storage: AsyncStorage) -> None:
    """Replaced, deleted, created again, evicted, cleared: at each moment, and between it and the next one."""
    store = await storage.open()
    for then in await _moments(store, storage):
        for at in (then.at, then.at + SECOND / 2, then.at.astimezone(timezone(timedelta(hours=5)))):
            found = must(await store.recall(as_of=at))
            assert (_rows(found.value), found.at) == (then.told(ALL), at)
            assert must(await store.count(as_of=at)).value == len(then.told(ALL))
        there = {memory.id: (memory, revision) for memory, revision in then.told(ALL)}
        for id in IDS:
            got = must(await store.get(id, as_of=then.at)).value
            assert (None if got is None else (got, got.revision)) == there.get(id)
            assert must(await store.exists(id, as_of=then.at)).value is (id in there)


async def test_every_list_and_count_as_of_a_time_is_of_what_the_filter_accepted_then(
    storage: AsyncStorage,
) -> None:
    """S6: limits come after the filter; lists are in the order of then; a filter looks at the revision of then."""
    store = await storage.open()
    for then in await _moments(store, storage):
        at = then.at
        for filter in FILTERS:
            assert must(await store.count(filter, as_of=at)).value == len(then.told(filter))
            for limit in (0, 1, 2, 100):
                found = must(await store.recall(filter, limit, as_of=at)).value
                assert _rows(found) == then.told(filter, limit)
        recent = must(await store.recent(2, TASKS, as_of=at)).value
        assert _rows(recent) == then.told(TASKS, 2)
        told = must(await store.conversation("c", 2, as_of=at)).value
        assert _rows(told)[::-1] == then.told(TOLD, 2)
        assert _rows(must(await store.entity("e", as_of=at)).value) == then.told(ENTITY)
        important = must(await store.important(0.5, 1, as_of=at)).value
        assert _rows(important) == then.told(IMPORTANT, 1)


async def test_an_event_stands_for_its_time_and_is_included(storage: AsyncStorage) -> None:
    """Of a commit with several events all of it; what other scopes and plain calls had recorded by then, too."""
    store = await storage.open()
    seen: dict[int, Then] = {}
    async for receipt in _lived(store, storage):
        if receipt is not None and receipt.outcome.seq is not None:
            seen[receipt.outcome.seq] = await _now(store, receipt.outcome.at)
    assert sorted(seen) == [1, 2, 3, 4]
    for seq, then in seen.items():
        found = must(await store.recall(as_of=("run", seq)))
        assert (_rows(found.value), found.at) == (then.told(ALL), then.at)
        assert must(await store.count(as_of=("run", seq))).value == len(then.told(ALL))
    together = [must(await store.recall(as_of=("run", seq))) for seq in (5, 6)]
    assert together[0] == together[1]
    assert {memory.id for memory in together[0].value} == {"c", "d"}


async def test_an_event_that_is_not_there_is_not_found(storage: AsyncStorage) -> None:
    """Neither a later one of the scope, nor one of another scope or tenant; a forget is one like any other."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    must(await store.writer("run", 1).forget_applied("step"))
    assert must(await store.exists("a", as_of=("run", 2))).value
    for as_of in (("run", 3), ("Run", 1), ("run", 2**63 - 1)):
        assert either(await store.recall(as_of=as_of)) == NotFound()
        assert either(await store.get("a", as_of=as_of)) == NotFound()
        assert either(await store.exists("a", as_of=as_of)) == NotFound()
        assert either(await store.count(as_of=as_of)) == NotFound()
    assert either(await store.tenant("another").recall(as_of=("run", 1))) == NotFound()


async def test_nothing_comes_back_once_it_has_expired(storage: AsyncStorage) -> None:
    """D3: expiry is judged by now, by that of the revision of then, before and after anything takes it away."""
    store = await storage.open()
    begin = storage.clock()
    expires_at = microseconds(begin + 3 * SECOND, "expires_at")
    for id in ("a", "b"):
        put = Put(Address(("memories",), id), Item("knowledge", "tea", expires_at=expires_at))
        await storage.commit(Commit("default", None, (Entry(changes=(put,)),)))
    storage.clock.advance(SECOND)
    must(await store.store(Memory("coffee", id="b")))
    assert must(await store.count(as_of=begin)).value == 2
    storage.clock.advance(2 * SECOND)
    for _ in range(2):
        assert must(await store.count(as_of=begin)).value == 0
        assert must(await store.get("a", as_of=begin + SECOND)).value is None
        assert must(await store.recall(as_of=begin)).value == []
        later = must(await store.recall(as_of=begin + SECOND)).value
        assert [(memory.id, memory.content) for memory in later] == [("b", "coffee")]
        must(await store.clear())
        storage.clock.advance(SECOND)


async def test_twin_namespaces_and_tenants_each_have_their_own_past(storage: AsyncStorage) -> None:
    """The same id in all of them."""
    store = await storage.open()
    places = [
        store,
        store.within("x"),
        store.within("x", "y"),
        store.tenant("twin"),
        store.tenant("twin").within("x"),
    ]
    for number, place in enumerate(places):
        storage.clock.advance(SECOND)
        must(await place.store(Memory(f"tea {number}", id="a")))
    middle = storage.clock()
    storage.clock.advance(SECOND)
    for place in places:
        must(await place.clear())
    for number, place in enumerate(places):
        (found,) = must(await place.recall(as_of=middle)).value
        assert (found.content, found.revision) == (f"tea {number}", 1)
        assert must(await place.count(as_of=storage.clock())).value == 0
        assert must(await place.count(as_of=middle - (len(places) - number) * SECOND)).value == 0


async def test_more_than_a_page_is_as_of_one_moment(storage: AsyncStorage) -> None:
    """Ids that have ended among those that have not, whole pages of them; the newest come first all the same."""
    store = await storage.open()
    for start in (0, 800, 1_600):
        batch = [Memory("tea", id=f"{n:05}", timestamp=NOON - n * SECOND) for n in range(start, start + 800)]
        must(await store.store_all(batch))
    full = storage.clock()
    storage.clock.advance(SECOND)
    ended = must(await store.delete_matching(Filter.after(NOON - 1_200 * SECOND)))
    assert ended == 1_201
    half = storage.clock()
    storage.clock.advance(SECOND)
    must(await store.clear())
    for at, first, there in (full, 0, 2_400), (half, 1_201, 1_199):
        assert must(await store.count(as_of=at)).value == there
        for limit in (3, 1_100, 10_000):
            found = must(await store.recall(limit=limit, as_of=at)).value
            assert [memory.id for memory in found] == [f"{n:05}" for n in range(first, 2_400)][:limit]
    assert must(await store.count(as_of=storage.clock())).value == 0


BAD: list[tuple[Any, type[Exception]]] = [
    (datetime(2030, 1, 1), ValueError),  # noqa: DTZ001  # a naive one is the point
    (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), ValueError),
    (True, TypeError),
    (1_900_000_000.0, TypeError),
    ("2030-01-01T00:00:00Z", TypeError),
    (("run",), TypeError),
    (("run", 1, 1), TypeError),
    (["run", 1], TypeError),
    ((1, "run"), TypeError),
    (("run", True), TypeError),
    (("run", 0), ValueError),
    (("run", -1), ValueError),
    (("run", 2**63), ValueError),
    (("", 1), ValueError),
    (("r\x00n", 1), ValueError),
]


@pytest.mark.parametrize(("as_of", "error"), BAD, ids=repr)
async def test_what_is_no_moment_is_refused_before_anything_is_asked(
    storage: AsyncStorage, as_of: Any, error: type[Exception]
) -> None:
    """D2: a closed store would say that it is closed."""
    store = await storage.open()
    await store.close()
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get("a", as_of=as_of),
        lambda: store.exists("a", as_of=as_of),
        lambda: store.recall(as_of=as_of),
        lambda: store.recent(as_of=as_of),
        lambda: store.conversation("c", as_of=as_of),
        lambda: store.entity("e", as_of=as_of),
        lambda: store.important(as_of=as_of),
        lambda: store.count(as_of=as_of),
    ]
    for call in calls:
        with pytest.raises(error):
            await call()
