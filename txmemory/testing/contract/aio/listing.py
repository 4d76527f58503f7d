"""The lists that a store answers, and its figures: recent, conversation, entity, important, statistics."""

from datetime import UTC, datetime, timedelta

import pytest

from txmemory import AsyncStore, Custom, Filter, Memory, MemoryStats, MemoryType, must
from txmemory.testing.aio.storage import AsyncStorage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MOST = 2**63 - 1
EMPTY = MemoryStats(0, {}, 0, 0, 0, None, None)


def at(minute: int) -> datetime:
    """A time of creation."""
    return NOON + timedelta(minutes=minute)


def said(id: str, minute: int, conversation: str = "c") -> Memory:
    """Something that was said in a conversation."""
    metadata = {"conversation_id": conversation, "role": "user"}
    return Memory("hello", id=id, memory_type="conversation", metadata=metadata, timestamp=at(minute))


async def fill(store: AsyncStore, number: int, **more: str) -> list[str]:
    """That many memories a second apart, and their ids, the newest first."""
    every = [
        Memory("tea", id=f"m-{n:04}", timestamp=NOON + timedelta(seconds=n), metadata=more)
        for n in range(number)
    ]
    for first in range(0, number, 1_000):
        must(await store.store_all(every[first : first + 1_000]))
    return [memory.id for memory in reversed(every)]


def ids(memories: list[Memory]) -> list[str]:
    """Their ids, in order."""
    return [memory.id for memory in memories]


async def test_recent_is_the_newest_first(storage: AsyncStorage) -> None:
    """Ten unless more or fewer are asked for, filtered before they are counted."""
    store = await storage.open()
    newest = await fill(store, 12)
    must(await store.store(Memory("task", id="task", memory_type="task", timestamp=at(-1))))
    assert ids(must(await store.recent())) == newest[:10]
    assert ids(must(await store.recent(3))) == newest[:3]
    assert ids(must(await store.recent(2, Filter.by_type("task")))) == ["task"]
    assert must(await store.recent(5)) == must(await store.recall(limit=5))
    assert ids(must(await store.recent(100))) == [*newest, "task"]


async def test_a_conversation_is_its_newest_part_in_the_order_in_which_it_was_said(
    storage: AsyncStorage,
) -> None:
    """The newest `limit`, the oldest of them first; ties by id; no other conversation, type does not matter."""
    store = await storage.open()
    must(await store.store_all([said("e", 5), said("a", 1), said("c", 3), said("b2", 2), said("b1", 2)]))
    must(await store.store_all([said("x", 4, "C"), said("y", 4, "c "), said("z", 4, "")]))
    noted = Memory("noted", id="d", metadata={"conversation_id": "c"}, timestamp=at(4))
    must(await store.store(noted))
    must(await store.store(Memory("elsewhere", id="w", metadata={"conversation": "c"})))
    assert ids(must(await store.conversation("c"))) == ["a", "b1", "b2", "c", "d", "e"]
    assert ids(must(await store.conversation("c", 4))) == ["b2", "c", "d", "e"]
    assert ids(must(await store.conversation("c", limit=1))) == ["e"]
    assert ids(must(await store.conversation(""))) == ["z"]
    assert must(await store.conversation("absent")) == []
    must(await store.within("else").store(said("f", 6)))
    assert ids(must(await store.conversation("c", 1))) == ["e"]


async def test_a_conversation_answers_a_hundred_unless_more_are_asked_for(storage: AsyncStorage) -> None:
    """Of 1,500: over pages as one list, and never the oldest hundred."""
    store = await storage.open()
    newest = await fill(store, 1_500, conversation_id="c")
    assert ids(must(await store.conversation("c"))) == newest[:100][::-1]
    assert ids(must(await store.conversation("c", 1_001))) == newest[:1_001][::-1]
    assert ids(must(await store.conversation("c", MOST))) == newest[::-1]


async def test_an_entity_has_all_of_its_memories(storage: AsyncStorage) -> None:
    """More than any limit of a recall and more than a page; the newest first."""
    store = await storage.open()
    newest = await fill(store, 2_100, entity_id="ada")
    must(await store.store(Memory.for_entity("ada_lovelace", "Ada", "likes tea")))
    must(await store.store(Memory("tea", metadata={"entity_name": "ada"})))
    assert ids(must(await store.entity("ada"))) == newest
    assert [memory.content for memory in must(await store.entity("ada_lovelace"))] == ["likes tea"]
    assert must(await store.entity("Ada")) == []
    assert must(await store.within("else").entity("ada")) == []


async def test_important_is_what_is_at_least_as_important(storage: AsyncStorage) -> None:
    """The threshold itself is; what has no importance never is, not even at 0; by time, not by importance."""
    store = await storage.open()
    below = 0.1 + 0.2 - 2**-54  # the neighbour of a number that decimals cannot write
    importances = {"none": None, "zero": 0.0, "below": 0.5 - 2**-54, "half": 0.5, "one": 1.0, "odd": below}
    for minute, (id, importance) in enumerate(importances.items()):
        must(await store.store(Memory("tea", id=id, importance=importance, timestamp=at(minute))))
    assert ids(must(await store.important())) == ["one", "half"]
    assert ids(must(await store.important(0.0))) == ["odd", "one", "half", "below", "zero"]
    assert ids(must(await store.important(1))) == ["one"]
    assert ids(must(await store.important(below))) == ["odd", "one", "half", "below"]
    assert ids(must(await store.important(0.5 - 2**-54))) == ["one", "half", "below"]
    assert ids(must(await store.important(0.0, 2))) == ["odd", "one"]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError):
            await store.important(wrong)


async def test_a_limit_may_be_zero_and_as_large_as_it_likes(storage: AsyncStorage) -> None:
    """0 answers none, a negative one or one beyond 64 bits is refused, whatever the filter."""
    store = await storage.open()
    newest = await fill(store, 3, conversation_id="c")
    must(await store.update("m-0001", lambda memory: memory.with_importance(1)))
    everything = Filter.all()
    predicate = Filter.custom(lambda _memory: True)
    for filter_ in (everything, predicate):
        assert must(await store.recent(0, filter_)) == []
        assert must(await store.recall(filter_, 0)) == []
        assert ids(must(await store.recent(MOST, filter_))) == newest
        assert ids(must(await store.recall(filter_, 10**6))) == newest
    assert must(await store.conversation("c", 0)) == []
    assert must(await store.important(0.5, 0)) == []
    assert ids(must(await store.important(0.5, MOST))) == ["m-0001"]
    for wrong in (-1, -MOST, MOST + 1):
        for filter_ in (everything, predicate):
            with pytest.raises(ValueError):
                await store.recent(wrong, filter_)
        with pytest.raises(ValueError):
            await store.recall(limit=wrong)
        with pytest.raises(ValueError):
            await store.conversation("c", wrong)
        with pytest.raises(ValueError):
            await store.important(0.5, wrong)


async def test_several_pages_are_one_list(storage: AsyncStorage) -> None:
    """Whether the database decides the filter or we do: the same memories in the same order, at every limit."""
    store = await storage.open()
    newest = await fill(store, 2_050)
    odd = [id for id in newest if int(id[2:]) % 2]
    custom = Filter.custom(lambda memory: bool(int(memory.id[2:]) % 2))
    for limit in (1, 999, 1_000, 1_001, 2_000, 2_050, 5_000):
        assert ids(must(await store.recall(limit=limit))) == newest[:limit]
        assert ids(must(await store.recall(custom, limit))) == odd[:limit]
    assert must(await store.count(custom)) == len(odd)


async def test_the_figures_of_an_empty_store_are_zeros(storage: AsyncStorage) -> None:
    """Before anything was stored, and once everything is gone."""
    store = await storage.open()
    assert must(await store.statistics()) == EMPTY
    must(await store.store(Memory("tea", id="m", metadata={"entity_id": "e"}, embedding=[1.0])))
    must(await store.delete("m"))
    assert must(await store.statistics()) == EMPTY


async def test_the_figures_count_what_is_there(storage: AsyncStorage) -> None:
    """Custom types count in all but `by_type`, types without a memory are not there, ids count once each."""
    store = await storage.open()
    batch = [
        said("a", 1, "one"),
        said("b", 2, "two"),
        said("c", 3, "one"),
        Memory("fact", id="d", memory_type="entity", metadata={"entity_id": "ada"}, timestamp=at(9)),
        Memory("fact", id="e", memory_type="entity", metadata={"entity_id": "Ada"}, timestamp=at(4)),
        Memory("own", id="f", memory_type=Custom("task"), metadata={"entity_id": "ada"}, timestamp=at(-5)),
        Memory("own", id="g", memory_type=Custom("Task"), embedding=[0.5], timestamp=at(5)),
        Memory("own", id="h", metadata={"conversation_id": "", "entity_id": ""}, timestamp=at(6)),
        Memory("tea", id="i", embedding=[0.5, 1.0], timestamp=at(6)),
    ]
    must(await store.store_all(batch))
    stats = must(await store.statistics())
    assert stats == MemoryStats(
        total_memories=9,
        by_type={MemoryType.CONVERSATION: 3, MemoryType.ENTITY: 2, MemoryType.KNOWLEDGE: 2},
        entity_count=3,
        conversation_count=3,
        embedded_count=2,
        oldest_memory=at(-5),
        newest_memory=at(9),
    )
    must(await store.delete("d"))
    must(await store.store(Memory("tea", id="i")))
    later = must(await store.statistics())
    assert (later.total_memories, later.embedded_count, later.newest_memory) == (8, 1, at(6))
    assert later.entity_count == 3


async def test_the_figures_are_those_of_one_namespace(storage: AsyncStorage) -> None:
    """Neither of one below it, nor of one beside it, nor of another tenant."""
    store = await storage.open()
    places = [store, store.within("x"), store.within("x", "y"), store.within("x2"), store.tenant("acme")]
    for number, place in enumerate(places):
        batch = [said(f"{n}", n, f"{number}-{n}") for n in range(number + 1)]
        must(await place.store_all(batch))
    for number, place in enumerate(places):
        stats = must(await place.statistics())
        assert (stats.total_memories, stats.conversation_count) == (number + 1, number + 1)
        assert dict(stats.by_type) == {MemoryType.CONVERSATION: number + 1}
        assert (stats.oldest_memory, stats.newest_memory) == (at(0), at(number))
