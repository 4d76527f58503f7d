"""What `delete_matching` ends: exactly what matches, in one transaction, as it was when that was decided."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from txmemory import (
    AsyncStore,
    Contended,
    FenceRequired,
    Filter,
    Memory,
    OutcomeUnknown,
    Unavailable,
    either,
    must,
)
from txmemory.port import Down
from txmemory.testing.aio.asking import contents, written
from txmemory.testing.aio.faults import AsyncLosing
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.corpus import FILTERS, MEMORIES
from txmemory.testing.meanings import newest_first
from txmemory.testing.racing import elsewhere_async, race_async

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DECISIONS = 5
MANY = 2_500
"""More than two pages of what a reader holds at a time."""
EVEN: dict[str, Filter] = {
    "decided by heads": Filter.by_metadata("parity", "even"),
    "decided by the database": Filter.content_contains("EVEN"),
    "decided after reading": Filter.custom(lambda memory: memory.metadata["parity"] == "even"),
    "decided by both": Filter.knowledge() & ~Filter.custom(lambda memory: "odd" in memory.content),
}
"""The same memories, by each way that there is."""


async def numbered(store: AsyncStore, number: int) -> None:
    """Stores memories, every other one even."""
    for start in range(0, number, 1_000):
        parities = [(n, "odd" if n % 2 else "even") for n in range(start, min(start + 1_000, number))]
        must(
            await store.store_all(
                Memory(parity, id=f"m-{n:04}", timestamp=NOON, metadata={"parity": parity})
                for n, parity in parities
            )
        )


async def test_deleting_what_a_filter_means_leaves_exactly_the_rest(storage: AsyncStorage) -> None:
    """S2, S3: every filter, in a namespace of its own; the answer is the number."""
    store = await storage.open()
    for place, each in enumerate(FILTERS):
        here = store.within(f"{place}")
        must(await here.store_all(MEMORIES))
        expected = each.of(MEMORIES)
        assert must(await here.delete_matching(each.filter)) == len(expected), each
        left = [memory for memory in newest_first(MEMORIES) if memory.id not in expected]
        assert must(await here.recall()) == left, each
        assert must(await here.delete_matching(each.filter)) == 0, each
    assert must(await store.count()) == 0


async def test_a_filter_without_a_clause_ends_no_more_than_it_means(storage: AsyncStorage) -> None:
    """A predicate leaves nothing for a database to compare, which is not everything; `all` is."""
    store = await storage.open()
    must(await store.store_all(MEMORIES))
    nobody, everybody = Filter.custom(lambda _: False), Filter.custom(lambda _: True)
    odd_name, beyond_ascii = Filter.has_metadata('"'), Filter.content_contains("\u4f60")
    for none in (nobody, ~everybody, Filter.all(nobody), Filter.any(nobody), odd_name, beyond_ascii):
        for filter in (none, none & Filter.all(), none | Filter.none(), ~(~none | Filter.none())):
            assert must(await store.delete_matching(filter)) == 0
    for empty in (Filter.any(), Filter.none(), ~Filter.all(), Filter.by_types([])):
        assert must(await store.delete_matching(empty)) == 0
    assert must(await store.recall()) == newest_first(MEMORIES)
    for whole in (Filter.all(), ~Filter.none(), everybody, ~odd_name, Filter.by_time_range()):
        assert must(await store.delete_matching(whole)) == len(MEMORIES)
        assert must(await store.count()) == 0
        must(await store.store_all(MEMORIES))


async def test_more_than_a_page_is_ended_in_one_transaction(storage: AsyncStorage) -> None:
    """A reader beside it finds all of it or none; the log has it at one time, whichever way it was decided."""
    store, other = await storage.open(), await storage.open()
    for way in ("decided by heads", "decided by both"):
        here, beside, filter = store.within(way), other.within(way), EVEN[way]
        await numbered(here, MANY)

        async def watch(beside: AsyncStore) -> list[int]:
            return [must(await beside.count()) for _ in range(20)]

        async def end(here: AsyncStore, filter: Filter) -> list[int]:
            return [must(await here.delete_matching(filter))]

        (ended,), counts = await race_async(partial(end, here, filter), partial(watch, beside))
        assert ended == MANY // 2, way
        assert set(counts) <= {MANY, MANY // 2}, way
        assert set((await contents(here)).values()) == {"odd"}
        ends = [
            (event.at, effect.reason)
            for _, event in await storage.events()
            for effect in event.effects
            if effect.namespace[-1] == way and effect.operation == "remove"
        ]
        assert len(ends) == MANY // 2
        assert set(ends) == {(ends[0][0], "deleted")}
        storage.clock.advance(timedelta(seconds=1))


async def test_while_it_is_decided_nothing_is_gone_yet(storage: AsyncStorage) -> None:
    """The predicate is asked about page after page, and behind each everything is still there."""
    store = await storage.open()
    await numbered(store, 1_100)
    seen: list[int] = []

    async def count() -> int:
        return must(await (await storage.open()).count())

    def counting(memory: Memory) -> bool:
        if memory.id in ("m-1099", "m-0100", "m-0000"):
            seen.append(elsewhere_async(count))
        return True

    assert must(await store.delete_matching(Filter.custom(counting))) == 1_100
    assert seen == [1_100] * 3


async def test_what_is_ended_is_in_the_history_and_its_key_stays_applied(storage: AsyncStorage) -> None:
    """As deleted; a replay of what stored it answers as before and stores nothing."""
    store = await storage.open()
    for way, filter in EVEN.items():
        here = store.within(way)
        memory = Memory("even", id="m", metadata={"parity": "even"})
        receipt = must(await here.writer("run", 1).write(way, [memory]))
        assert must(await here.delete_matching(filter)) == 1
        history = must(await here.history("m"))
        assert [(entry.revision, entry.reason) for entry in history] == [(1, "stored"), (2, "deleted")]
        again = must(await here.writer("run", 1).write(way, [memory]))
        assert again.replayed
        assert again.outcome == receipt.outcome
        assert must(await here.count()) == 0
    assert must(await store.applied_count("run")) == len(EVEN)


async def test_a_change_since_it_was_read_is_decided_anew(storage: AsyncStorage) -> None:
    """What no longer matches stays, what matches by now goes too, what is gone is not counted."""
    store = await storage.open()
    ids = ("kept", "gone", "late", "plain")
    must(await store.store_all(Memory("old" if id != "late" else "new", id=id, timestamp=NOON) for id in ids))
    asked: list[str] = []

    async def change() -> None:
        other = await storage.open()
        must(await other.store(Memory("new", id="kept")))
        must(await other.store(Memory("old", id="late")))
        must(await other.delete("gone"))

    def is_old(memory: Memory) -> bool:
        asked.append(memory.id)
        if len(asked) == len(ids):
            elsewhere_async(change)
        return memory.content == "old"

    assert must(await store.delete_matching(Filter.custom(is_old))) == 2
    assert await contents(store) == {"kept": "new"}
    assert asked == ["plain", "late", "kept", "gone", "plain", "late", "kept"]
    assert [entry.reason for entry in must(await store.history("gone"))] == ["stored", "deleted"]


async def test_after_five_decisions_it_is_contended_and_nothing_is_ended(storage: AsyncStorage) -> None:
    """Somebody is quicker every time, with one of the memories; one time less, and all of them are ended."""
    store = await storage.open()
    for quicker in (DECISIONS, DECISIONS - 1):
        here = store.within(f"{quicker}")
        must(await here.store_all(Memory("old", id=id, timestamp=NOON) for id in "abc"))
        times: list[int] = []

        async def touch(namespace: str, turn: int) -> None:
            other = (await storage.open()).within(namespace)
            must(await other.store(Memory(f"touched {turn}", id="b", timestamp=NOON)))

        def touched(memory: Memory, times: list[int] = times, quicker: int = quicker) -> bool:
            if memory.id == "a":
                times.append(len(times))
                if len(times) <= quicker:
                    elsewhere_async(partial(touch, f"{quicker}", len(times)))
            return True

        answer = either(await here.delete_matching(Filter.custom(touched)))
        assert len(times) == DECISIONS
        if quicker == DECISIONS:
            assert answer == Contended()
            assert await contents(here) == {"a": "old", "b": f"touched {DECISIONS}", "c": "old"}
            assert [entry.reason for entry in must(await here.history("a"))] == ["stored"]
        else:
            assert answer == len("abc")
            assert await contents(here) == {}


async def test_what_a_predicate_raises_comes_out_and_nothing_is_ended(storage: AsyncStorage) -> None:
    """The caller's own error, of every call that takes a filter; the store goes on."""
    store = await storage.open()
    await numbered(store, 10)
    before = await storage.digest()

    def fails(memory: Memory) -> bool:
        if memory.id == "m-0003":
            raise LookupError("the caller's own")
        return True

    failing = Filter.content_contains("o") & Filter.custom(fails)
    for call in (
        partial(store.delete_matching, failing),
        partial(store.recall, failing),
        partial(store.count, failing),
        partial(store.recent, 10, failing),
    ):
        with pytest.raises(LookupError):
            await call()
    assert await storage.digest() == before
    assert must(await store.delete_matching(Filter.content_contains("o"))) == 5


async def test_a_predicate_may_use_the_store(storage: AsyncStorage) -> None:
    """C8: it is called outside every transaction and lock, so that it waits for nobody, and others do not."""
    store = await storage.open()
    must(await store.store_all(MEMORIES))

    async def use() -> bool:
        other = await storage.open()
        must(await other.within("beside").store(Memory("tea", id="m")))
        return must(await other.count()) == len(MEMORIES)

    filter = Filter.custom(lambda _: elsewhere_async(use))
    assert must(await store.recall(filter)) == newest_first(MEMORIES)
    assert must(await store.count(filter)) == len(MEMORIES)
    assert must(await store.delete_matching(filter & Filter.by_entity("ada"))) == 2
    assert len(must(await store.within("beside").history("m"))) == 2 * len(MEMORIES) + 2


async def test_a_store_that_requires_fences_refuses_it_before_anything_is_asked(
    storage: AsyncStorage,
) -> None:
    """`FenceRequired`; what is no filter is refused before that."""
    store = await storage.open(require_fence=True)
    await written(store.writer("run", 1), "step", "a")
    before, asked = await storage.digest(), list[str]()

    def ask(memory: Memory) -> bool:
        asked.append(memory.id)
        return True

    for filter in (Filter.all(), Filter.content_contains("tea"), Filter.custom(ask)):
        assert either(await store.delete_matching(filter)) == FenceRequired()
    assert await storage.digest() == before
    assert asked == []
    for wrong in (None, "tea", lambda _: True):
        with pytest.raises(TypeError):
            await store.delete_matching(wrong)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        Filter.custom("tea")  # type: ignore[arg-type]  # the same


async def test_an_accident_ends_all_of_it_or_nothing_and_is_told(storage: AsyncStorage) -> None:
    """Guarantee 6: a database that is away changes nothing; a lost answer is unknown, and not asked for again."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    for way, filter in EVEN.items():
        here = store.within(way)
        await numbered(here, 10)
        backend.faults = [Down("FULL")]
        assert either(await here.delete_matching(filter)) == Unavailable("FULL"), way
        assert must(await here.count()) == 10
        backend.losses = 1
        assert either(await here.delete_matching(filter)) == OutcomeUnknown(), way
        assert must(await here.count()) == 5
        assert must(await here.delete_matching(filter)) == 0


@needs("joining")
async def test_inside_a_transaction_of_the_caller_s_it_ends_with_that(storage: AsyncStorage) -> None:
    """Rolled back nothing is gone; committed all of it, whichever way it was decided."""
    store, caller = await storage.open(), await storage.caller()
    for way, filter in EVEN.items():
        here = store.within(way)
        await numbered(here, 10)
        for commits in (False, True):
            await caller.begin()
            await caller.note(way)
            joined = here.joined(caller.connection)
            assert must(await joined.delete_matching(filter)) == 5, way
            assert must(await joined.count()) == 5
            await (caller.commit() if commits else caller.roll_back())
            assert must(await here.count()) == (5 if commits else 10)
    assert sorted(await caller.notes()) == sorted(EVEN)
