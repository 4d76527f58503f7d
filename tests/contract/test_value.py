"""The immutable store: as a value it answers what the shared one answers, and what is dropped has not happened."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from txmemory import AsOf, Bounds, Fence, Fenced, Filter, InMemoryStore, Memory, NotFound, either, must
from txmemory.testing.clock import FakeClock
from txmemory.testing.sync.storage import MemoryPlace


def _of_age(age: timedelta) -> Bounds:
    return Bounds(max_age=age)


IDS = ["a", "b", "c", "A"]
ids = st.sampled_from(IDS)
keys = st.sampled_from(["step-1", "step-2", "step-3"])
scopes = st.sampled_from(["run", "Run"])
tokens = st.integers(0, 3)
memories = st.builds(
    Memory,
    st.sampled_from(["tea", "coffee"]),
    id=ids,
    memory_type=st.sampled_from(["knowledge", "task", "Task"]),
    metadata=st.sampled_from([{}, {"conversation_id": "c"}, {"entity_id": "e", "n": "1"}, {"entity_id": ""}]),
    importance=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    embedding=st.none() | st.just((0.5, 0.25)),
)
batches = st.lists(memories, max_size=3)
ages = st.sampled_from([timedelta(seconds=2), timedelta(seconds=9)])
given_bounds = st.one_of(
    st.integers(0, 3).map(Bounds), st.builds(Bounds, st.integers(0, 3), ages), ages.map(_of_age)
)
bounds = st.none() | given_bounds
filters = st.sampled_from(
    [
        Filter.all(),
        Filter.none(),
        Filter.tasks() | Filter.min_importance(0.5),
        ~Filter.by_entity("e"),
        Filter.content_contains("TEA"),
        Filter.custom(lambda memory: len(memory.content) > 3),
        Filter.custom(lambda memory: memory.importance is None) & Filter.has_metadata("entity_id"),
    ]
)
expectations = st.none() | st.dictionaries(ids, st.none() | st.integers(1, 3), max_size=2)

Shared = Callable[[Any], Any]
Valued = Callable[[InMemoryStore], tuple[InMemoryStore, Any]]
Call = tuple[Shared, Valued]


def _write(scope: str, token: int, key: str, add: list[Memory], expect: Any, bound: Bounds | None) -> Call:
    return (
        lambda shared: shared.writer(scope, token).write(key, add, expect=expect, bounds=bound),
        lambda value: value.write(scope, token, key, add, expect=expect, bounds=bound),
    )


def _replace(scope: str, token: int, key: str, add: list[Memory], remove: set[str]) -> Call:
    kept = [memory for memory in add if memory.id not in remove]
    return (
        lambda shared: shared.writer(scope, token).replace(key, kept, sorted(remove)),
        lambda value: value.replace(scope, token, key, kept, sorted(remove)),
    )


def _look(name: str, scope: str, token: int, key: str) -> Call:
    return (
        lambda shared: getattr(shared.writer(scope, token), name)(key),
        lambda value: getattr(value, name)(scope, token, key),
    )


def _plain(name: str, *arguments: Any, **more: Any) -> Call:
    return (
        lambda shared: getattr(shared, name)(*arguments, **more),
        lambda value: getattr(value, name)(*arguments, **more),
    )


def _swap(add: list[Memory], remove: set[str], bound: Bounds | None) -> Call:
    kept = [memory for memory in add if memory.id not in remove]
    return _plain("swap", kept, sorted(remove), bounds=bound)


def _counted(memory: Memory) -> Memory:
    return memory.with_metadata({"n": str(int(memory.metadata.get("n", "0")) + 1)})


def _renamed(memory: Memory) -> Memory:
    return Memory(memory.content, id="B")


calls: st.SearchStrategy[Call] = st.one_of(
    st.builds(_write, scopes, tokens, keys, batches, expectations, bounds),
    st.builds(_replace, scopes, tokens, keys, batches, st.sets(ids, max_size=2)),
    st.builds(_look, st.sampled_from(["applied", "forget_applied"]), scopes, tokens, keys),
    memories.map(lambda memory: _plain("store", memory)),
    st.builds(lambda add, bound: _plain("store_all", add, bounds=bound), batches, bounds),
    st.builds(_swap, batches, st.sets(ids, max_size=2), bounds),
    st.builds(_plain, st.just("update"), ids, st.sampled_from([_counted, _renamed])),
    filters.map(lambda chosen: _plain("delete_matching", chosen)),
    given_bounds.map(lambda bound: _plain("trim", bound)),
    ids.map(lambda chosen: _plain("delete", chosen)),
    st.just(_plain("clear")),
)


@given(st.lists(calls, max_size=25))
@settings(deadline=None, database=None, max_examples=200)
def test_the_value_answers_what_the_shared_store_answers(history: list[Call]) -> None:
    place = MemoryPlace()
    shared, value = place.open(), InMemoryStore.empty(clock=place.clock)
    for on_shared, on_value in history:
        value, answer = on_value(value)
        assert answer == on_shared(shared)
        place.clock.advance(timedelta(seconds=1))
    reads: tuple[Callable[[Any], object], ...] = (
        lambda store: store.recall(),
        lambda store: store.recent(2),
        lambda store: store.conversation("c", 2),
        lambda store: store.entity("e"),
        lambda store: store.important(0.5, 2),
        lambda store: store.search("tea"),
        lambda store: store.count(),
        lambda store: store.count(Filter.tasks()),
        lambda store: store.statistics(),
    )
    for read in reads:
        assert read(value) == read(shared)
    for id in IDS:
        assert value.history(id) == shared.history(id)
        assert value.get(id) == shared.get(id)
        assert value.exists(id) == shared.exists(id)
    for scope in (None, "run", "Run"):
        assert value.applied_count(scope) == shared.applied_count(scope)


@given(st.lists(calls, max_size=12), st.lists(calls, min_size=1, max_size=4))
@settings(deadline=None, database=None)
def test_no_call_changes_the_value_it_was_made_on(before: list[Call], after: list[Call]) -> None:
    value = InMemoryStore.empty()
    for _, on_value in before:
        value, _answer = on_value(value)
    seen = _everything(value)
    later = value
    for _, on_value in after:
        later, _answer = on_value(later)
    assert _everything(value) == seen


def test_dropping_the_returned_value_takes_the_fence_back() -> None:
    store, _ = InMemoryStore.empty().write("run", 1, "step", [Memory("tea", id="a")])
    later, seen = store.applied("run", 2, "step")
    assert must(seen) is not None
    _, refused = later.write("run", 1, "late", [])
    assert either(refused) == Fenced(Fence(0, 1), Fence(0, 2))
    again, accepted = store.write("run", 1, "late", [])
    assert not must(accepted).replayed
    assert must(again.applied_count()) == 2
    assert must(store.applied_count()) == must(later.applied_count()) == 1


def test_a_value_that_nothing_changed_is_the_same_value() -> None:
    store, _ = InMemoryStore.empty().write("run", 2, "step", [Memory("tea", id="a")])
    for same, _answer in (
        store.applied("run", 2, "step"),
        store.applied("run", 1, "step"),
        store.write("run", 2, "step", []),
        store.delete("absent"),
        store.store_all([]),
        store.swap([], ["absent"]),
        store.update("absent", _counted),
        store.update("a", _renamed),
        store.delete_matching(Filter.tasks()),
        store.trim(Bounds(1)),
    ):
        assert same is store


def test_a_change_of_a_value_is_made_of_that_value() -> None:
    first, _ = InMemoryStore.empty().store_all([Memory("tea", id="a"), Memory("tea", id="b")])
    once, _ = first.update("a", _counted)
    twice, _ = once.update("a", _counted)
    found = [must(store.get("a")) for store in (first, once, twice)]
    counts = [memory and memory.metadata.get("n") for memory in found]
    assert counts == [None, "1", "2"]
    bounded = twice.within(bounds=Bounds(1))
    trimmed, evicted = bounded.trim()
    assert (must(evicted), must(trimmed.count()), must(twice.count())) == (1, 1, 2)


def test_handles_on_a_value_share_what_it_holds_and_no_more() -> None:
    store, _ = InMemoryStore.empty().within("users").store(Memory("tea", id="a"))
    assert must(store.count()) == 1
    assert must(store.within("ada").count()) == 0
    assert [found.memory.id for found in must(store.search("TEA"))] == ["a"]
    assert must(store.within("ada").search("tea")) == must(store.search("tea", 0)) == []
    assert must(store.tenant("acme").count()) == 0


def _everything(value: InMemoryStore) -> object:
    histories = [must(value.history(id)) for id in IDS]
    counts = [must(value.applied_count(scope)) for scope in (None, "run", "Run")]
    fences = [either(value.applied(scope, 0, "step-1")[1]) for scope in ("run", "Run")]
    return must(value.recall()), must(value.statistics()), histories, counts, fences


def test_a_value_has_a_past_as_a_store_has() -> None:
    """Of its own: an older value, and one that went another way, do not know of it."""
    clock = FakeClock()
    first, made = InMemoryStore.empty(clock=clock).write("run", 1, "1", [Memory("tea", id="a")])
    clock.advance(timedelta(seconds=1))
    second, _ = first.write("run", 1, "2", [Memory("coffee", id="a"), Memory("coffee", id="b")])
    clock.advance(timedelta(seconds=1))
    third, _ = second.clear()
    at = must(made).outcome.at
    for store in (first, second, third):
        assert [memory.content for memory in must(store.recall(as_of=at)).value] == ["tea"]
        assert must(store.count(as_of=("run", 1))) == AsOf(1, settled=True, at=at)
    assert must(third.count(as_of=("run", 2))).value == 2
    assert either(first.count(as_of=("run", 2))) == NotFound()
    assert must(third.get("b", as_of=clock())).value is None
