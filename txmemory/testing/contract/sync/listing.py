# Generated from ../aio/listing.py by scripts/generate. Do not edit.
"""The lists that a store answers, and its figures: recent, conversation, entity, important, statistics."""

from datetime import UTC, datetime, timedelta

import pytest

from txmemory import Custom, Filter, Memory, MemoryStats, MemoryType, Store, must
from txmemory.testing.sync.storage import Storage

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


def fill(store: Store, number: int, **more: str) -> list[str]:
    """That many memories a second apart, and their ids, the newest first."""
    every = [
        Memory("tea", id=f"m-{n:04}", timestamp=NOON + timedelta(seconds=n), metadata=more)
        for n in range(number)
    ]
    for first in range(0, number, 1_000):
        must(store.store_all(every[first : first + 1_000]))
    return [memory.id for memory in reversed(every)]


def ids(memories: list[Memory]) -> list[str]:
    """Their ids, in order."""
    return [memory.id for memory in memories]


def test_recent_is_the_newest_first(storage: Storage) -> None:
    """Ten unless more or fewer are asked for, filtered before they are counted."""
    store = storage.open()
    newest = fill(store, 12)
    must(store.store(Memory("task", id="task", memory_type="task", timestamp=at(-1))))
    assert ids(must(store.recent())) == newest[:10]
    assert ids(must(store.recent(3))) == newest[:3]
    assert ids(must(store.recent(2, Filter.by_type("task")))) == ["task"]
    assert must(store.recent(5)) == must(store.recall(limit=5))
    assert ids(must(store.recent(100))) == [*newest, "task"]


def test_a_conversation_is_its_newest_part_in_the_order_in_which_it_was_said(
    storage: Storage,
) -> None:
    """The newest `limit`, the oldest of them first; ties by id; no other conversation, type does not matter."""
    store = storage.open()
    must(store.store_all([said("e", 5), said("a", 1), said("c", 3), said("b2", 2), said("b1", 2)]))
    must(store.store_all([said("x", 4, "C"), said("y", 4, "c "), said("z", 4, "")]))
    noted = Memory("noted", id="d", metadata={"conversation_id": "c"}, timestamp=at(4))
    must(store.store(noted))
    must(store.store(Memory("elsewhere", id="w", metadata={"conversation": "c"})))
    assert ids(must(store.conversation("c"))) == ["a", "b1", "b2", "c", "d", "e"]
    assert ids(must(store.conversation("c", 4))) == ["b2", "c", "d", "e"]
    assert ids(must(store.conversation("c", limit=1))) == ["e"]
    assert ids(must(store.conversation(""))) == ["z"]
    assert must(store.conversation("absent")) == []
    must(store.within("else").store(said("f", 6)))
    assert ids(must(store.conversation("c", 1))) == ["e"]


def test_a_conversation_answers_a_hundred_unless_more_are_asked_for(storage: Storage) -> None:
    """Of 1,500: over pages as one list, and never the oldest hundred."""
    store = storage.open()
    newest = fill(store, 1_500, conversation_id="c")
    assert ids(must(store.conversation("c"))) == newest[:100][::-1]
    assert ids(must(store.conversation("c", 1_001))) == newest[:1_001][::-1]
    assert ids(must(store.conversation("c", MOST))) == newest[::-1]


def test_an_entity_has_all_of_its_memories(storage: Storage) -> None:
    """More than any limit of a recall and more than a page; the newest first."""
    store = storage.open()
    newest = fill(store, 2_100, entity_id="ada")
    must(store.store(Memory.for_entity("ada_lovelace", "Ada", "likes tea")))
    must(store.store(Memory("tea", metadata={"entity_name": "ada"})))
    assert ids(must(store.entity("ada"))) == newest
    assert [memory.content for memory in must(store.entity("ada_lovelace"))] == ["likes tea"]
    assert must(store.entity("Ada")) == []
    assert must(store.within("else").entity("ada")) == []


def test_important_is_what_is_at_least_as_important(storage: Storage) -> None:
    """The threshold itself is; what has no importance never is, not even at 0; by time, not by importance."""
    store = storage.open()
    below = 0.1 + 0.2 - 2**-54  # the neighbour of a number that decimals cannot write
    importances = {"none": None, "zero": 0.0, "below": 0.5 - 2**-54, "half": 0.5, "one": 1.0, "odd": below}
    for minute, (id, importance) in enumerate(importances.items()):
        must(store.store(Memory("tea", id=id, importance=importance, timestamp=at(minute))))
    assert ids(must(store.important())) == ["one", "half"]
    assert ids(must(store.important(0.0))) == ["odd", "one", "half", "below", "zero"]
    assert ids(must(store.important(1))) == ["one"]
    assert ids(must(store.important(below))) == ["odd", "one", "half", "below"]
    assert ids(must(store.important(0.5 - 2**-54))) == ["one", "half", "below"]
    assert ids(must(store.important(0.0, 2))) == ["odd", "one"]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError):
            store.important(wrong)


def test_a_limit_may_be_zero_and_as_large_as_it_likes(storage: Storage) -> None:
    """0 answers none, a negative one or one beyond 64 bits is refused, whatever the filter."""
    store = storage.open()
    newest = fill(store, 3, conversation_id="c")
    must(store.update("m-0001", lambda memory: memory.with_importance(1)))
    everything = Filter.all()
    predicate = Filter.custom(lambda _memory: True)
    for filter_ in (everything, predicate):
        assert must(store.recent(0, filter_)) == []
        assert must(store.recall(filter_, 0)) == []
        assert ids(must(store.recent(MOST, filter_))) == newest
        assert ids(must(store.recall(filter_, 10**6))) == newest
    assert must(store.conversation("c", 0)) == []
    assert must(store.important(0.5, 0)) == []
    assert ids(must(store.important(0.5, MOST))) == ["m-0001"]
    for wrong in (-1, -MOST, MOST + 1):
        for filter_ in (everything, predicate):
            with pytest.raises(ValueError):
                store.recent(wrong, filter_)
        with pytest.raises(ValueError):
            store.recall(limit=wrong)
        with pytest.raises(ValueError):
            store.conversation("c", wrong)
        with pytest.raises(ValueError):
            store.important(0.5, wrong)


def test_several_pages_are_one_list(storage: Storage) -> None:
    """Whether the database decides the filter or we do: the same memories in the same order, at every limit."""
    store = storage.open()
    newest = fill(store, 2_050)
    odd = [id for id in newest if int(id[2:]) % 2]
    custom = Filter.custom(lambda memory: bool(int(memory.id[2:]) % 2))
    for limit in (1, 999, 1_000, 1_001, 2_000, 2_050, 5_000):
        assert ids(must(store.recall(limit=limit))) == newest[:limit]
        assert ids(must(store.recall(custom, limit))) == odd[:limit]
    assert must(store.count(custom)) == len(odd)


def test_the_figures_of_an_empty_store_are_zeros(storage: Storage) -> None:
    """Before anything was stored, and once everything is gone."""
    store = storage.open()
    assert must(store.statistics()) == EMPTY
    must(store.store(Memory("tea", id="m", metadata={"entity_id": "e"}, embedding=[1.0])))
    must(store.delete("m"))
    assert must(store.statistics()) == EMPTY


def test_the_figures_count_what_is_there(storage: Storage) -> None:
    """Custom types count in all but `by_type`, types without a memory are not there, ids count once each."""
    store = storage.open()
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
    must(store.store_all(batch))
    stats = must(store.statistics())
    assert stats == MemoryStats(
        total_memories=9,
        by_type={MemoryType.CONVERSATION: 3, MemoryType.ENTITY: 2, MemoryType.KNOWLEDGE: 2},
        entity_count=3,
        conversation_count=3,
        embedded_count=2,
        oldest_memory=at(-5),
        newest_memory=at(9),
    )
    must(store.delete("d"))
    must(store.store(Memory("tea", id="i")))
    later = must(store.statistics())
    assert (later.total_memories, later.embedded_count, later.newest_memory) == (8, 1, at(6))
    assert later.entity_count == 3


def test_the_figures_are_those_of_one_namespace(storage: Storage) -> None:
    """Neither of one below it, nor of one beside it, nor of another tenant."""
    store = storage.open()
    places = [store, store.within("x"), store.within("x", "y"), store.within("x2"), store.tenant("acme")]
    for number, place in enumerate(places):
        batch = [said(f"{n}", n, f"{number}-{n}") for n in range(number + 1)]
        must(place.store_all(batch))
    for number, place in enumerate(places):
        stats = must(place.statistics())
        assert (stats.total_memories, stats.conversation_count) == (number + 1, number + 1)
        assert dict(stats.by_type) == {MemoryType.CONVERSATION: number + 1}
        assert (stats.oldest_memory, stats.newest_memory) == (at(0), at(number))
