"""A predicate is a caller's own code: on the caller's thread, it may call the store that is asking it."""

from collections.abc import Callable
from functools import partial

from txmemory import Filter, Memory, must
from txmemory.testing.corpus import MEMORIES
from txmemory.testing.meanings import newest_first
from txmemory.testing.sync.storage import Storage


def test_a_predicate_may_call_the_very_store_that_asks_it(storage: Storage) -> None:
    """C8: reads, writes and removals through the same handle, on the same thread; nothing waits for itself."""
    store = storage.open(deadline=5.0)
    must(store.store_all(MEMORIES))

    def uses(memory: Memory) -> bool:
        beside = store.within("beside")
        must(beside.store(Memory("tea", id=memory.id)))
        must(store.writer("run", 1).write(memory.id, []))
        assert must(store.recall(Filter.custom(lambda each: each.id == memory.id))) == [memory]
        assert must(beside.delete_matching(Filter.custom(lambda each: each.id == memory.id))) == 1
        return must(store.exists(memory.id))

    filter = Filter.custom(uses)
    assert must(store.recall(filter)) == newest_first(MEMORIES)
    assert must(store.count(filter)) == len(MEMORIES)
    assert must(store.delete_matching(filter)) == len(MEMORIES)
    assert must(store.count()) == must(store.within("beside").count()) == 0


def test_a_predicate_is_called_once_for_each_memory_that_the_rest_lets_through(storage: Storage) -> None:
    """By every call that takes a filter, and for nothing that the database could have left out."""
    store, asked = storage.open(), list[str]()
    must(store.store_all(MEMORIES))

    def ask(memory: Memory) -> bool:
        asked.append(memory.id)
        return False

    filter = Filter.by_entity("ada") & Filter.custom(ask)
    calls: tuple[Callable[[Filter], object], ...] = (
        store.recall,
        store.count,
        partial(store.recent, 10),
        store.delete_matching,
    )
    for call in calls:
        asked.clear()
        call(filter)
        assert asked == ["wild", "kelvin"]
    del asked[:]
    must(store.recall(Filter.custom(ask) | Filter.tasks()))
    assert asked == [memory.id for memory in newest_first(MEMORIES)]


def test_a_predicate_sees_what_a_reader_sees(storage: Storage) -> None:
    """The memory with every field, its revision and its namespace among them."""
    store = storage.open().within("here")
    must(store.store_all(MEMORIES))
    must(store.store(MEMORIES[0]))
    seen: list[Memory] = []

    def see(memory: Memory) -> bool:
        seen.append(memory)
        return False

    assert must(store.recall(Filter.custom(see))) == []
    read = must(store.recall())
    assert seen == read
    assert [each.revision for each in seen] == [each.revision for each in read]
    assert {each.namespace for each in seen} == {("memories", "here")}
