# Generated from ../aio/filtering.py by scripts/generate. Do not edit.
"""What each filter means, against the same said once more in plain Python: recalled, counted, limited."""

import hashlib
from datetime import timedelta

import pytest

from txmemory import Custom, Filter, Memory, MemoryType, Store, must
from txmemory.model.address import Address
from txmemory.model.commit import Commit, Entry, Put
from txmemory.model.filter import (
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    KindIn,
    Not,
)
from txmemory.model.item import Item, Scalar, microseconds
from txmemory.model.query import Count, Select
from txmemory.testing.algebra import laws
from txmemory.testing.corpus import (
    ABSENT,
    ALGEBRA,
    FILTERS,
    LEAVES,
    MEMORIES,
    MICROSECOND,
    NOON,
)
from txmemory.testing.meanings import newest_first
from txmemory.testing.sync.storage import Storage

MINUTE = timedelta(minutes=1)


def recalled(store: Store, filter: Filter, limit: int = 100) -> list[str]:
    """The ids of what is recalled."""
    return [memory.id for memory in must(store.recall(filter, limit))]


def filled(storage: Storage) -> Store:
    """A store of the eight memories."""
    store = storage.open()
    must(store.store_all(MEMORIES))
    return store


def test_a_filter_recalls_exactly_what_it_means_in_order(storage: Storage) -> None:
    """S2, S3, S8: wildcards, quotes, letters of any case, values that are missing, ties; composed and negated."""
    store = filled(storage)
    assert all(0 < len(each.of(MEMORIES)) < len(MEMORIES) for each in LEAVES)
    assert not any(each.of(MEMORIES) for each in ABSENT)
    for each in FILTERS:
        assert recalled(store, each.filter) == each.of(MEMORIES), each
    assert must(store.recall()) == newest_first(MEMORIES)


def test_a_filter_counts_exactly_what_it_means(storage: Storage) -> None:
    """S2, S3: by the database where it can decide the filter, after reading where it cannot."""
    store = filled(storage)
    for each in FILTERS:
        assert must(store.count(each.filter)) == len(each.of(MEMORIES)), each


def test_a_limit_takes_the_newest_of_what_a_filter_means(storage: Storage) -> None:
    """S6: 1 and 2, none, and more than any database can count to."""
    store = filled(storage)
    for each in FILTERS:
        expected = each.of(MEMORIES)
        assert recalled(store, each.filter, limit=1) == expected[:1], each
        assert recalled(store, each.filter, limit=2) == expected[:2], each
    for each in FILTERS[:20]:
        assert recalled(store, each.filter, limit=0) == []
        assert recalled(store, each.filter, limit=2**63 - 1) == each.of(MEMORIES)
        with pytest.raises(ValueError):
            store.recall(each.filter, limit=-1)
        with pytest.raises(ValueError):
            store.recent(-1, each.filter)


def test_a_limit_comes_after_a_predicate_that_only_old_memories_satisfy(storage: Storage) -> None:
    """S6: pages that hold nothing of it are read on from; the newest of what matches are answered."""
    store = storage.open()
    for batch in (range(1_000), range(1_000, 1_100)):
        must(store.store_all(Memory("tea", id=f"m-{n:04}", timestamp=NOON - n * MINUTE) for n in batch))
    old = Filter.custom(lambda memory: memory.id > "m-1000")
    newest = [f"m-{n}" for n in range(1_001, 1_100)]
    for filter in (old, Filter.knowledge() & old, ~~old, ~(~old | Filter.tasks()), old | Filter.tasks()):
        for limit in (1, 2, 100):
            assert recalled(store, filter, limit) == newest[:limit]
        assert [memory.id for memory in must(store.recent(2, filter))] == newest[:2]
        assert must(store.count(filter)) == 99
    assert recalled(store, Filter.tasks() & old) == []


def test_what_is_missing_satisfies_no_leaf_and_every_negation(storage: Storage) -> None:
    """S3: attributes and importance that are not there, one level deep and several, beside what is there."""
    store = storage.open()
    bare = Memory("tea", id="bare", timestamp=NOON)
    full = Memory("tea", id="full", timestamp=NOON, metadata={"k": "v"}, importance=0.5)
    must(store.store_all([bare, full]))
    for leaf in (
        Filter.by_metadata("k", "v"),
        Filter.has_metadata("k"),
        Filter.metadata_contains("k", ""),
        Filter.min_importance(0),
    ):
        tea = Filter.content_contains("tea")
        assert recalled(store, leaf) == ["full"]
        assert recalled(store, ~leaf) == ["bare"]
        assert recalled(store, tea & ~leaf) == ["bare"]
        assert recalled(store, ~(tea & leaf)) == ["bare"]
        assert recalled(store, ~(leaf | ~tea)) == ["bare"]
        assert recalled(store, ~(~leaf & tea)) == ["full"]
        assert recalled(store, ~leaf | leaf) == ["full", "bare"]
        assert must(store.count(~leaf)) == 1
        assert must(store.delete_matching(~leaf)) == 1
        assert recalled(store, Filter.all()) == ["full"]
        must(store.store(bare))
    assert recalled(store, ~Filter.by_metadata("k", "w")) == ["full", "bare"]
    assert recalled(store, ~Filter.min_importance(0.75)) == ["full", "bare"]


def test_a_set_of_types_may_be_empty_and_may_hold_a_thousand(storage: Storage) -> None:
    """Alone, negated and composed; a custom type is never the built-in one of that name."""
    store = filled(storage)
    everything = recalled(store, Filter.all())
    assert recalled(store, ~Filter.by_types([])) == everything
    assert recalled(store, Filter.by_types([]) | Filter.tasks()) == ["lines"]
    strangers = [Custom(f"type-{n}") for n in range(997)]
    many = Filter.by_types([*strangers, Custom("task"), MemoryType.TASK])
    assert recalled(store, many) == ["lines", "dotted"]
    assert recalled(store, ~many) == [id for id in everything if id not in ("lines", "dotted")]
    assert recalled(store, many & ~Filter.tasks()) == ["dotted"]
    assert must(store.count(many)) == 2
    assert must(store.delete_matching(Filter.by_types([]))) == 0
    assert must(store.delete_matching(many)) == 2
    assert must(store.count()) == len(MEMORIES) - 2


def test_a_range_of_time_is_exact_to_the_microsecond(storage: Storage) -> None:
    """Both ends included; an open end; far years, before 1970 too."""
    store = storage.open()
    times = [NOON.replace(year=1), NOON.replace(year=1969), NOON - MICROSECOND, NOON, NOON + MICROSECOND]
    times.append(NOON.replace(year=9998))
    must(store.store_all(Memory("tea", id=f"{n}", timestamp=time) for n, time in enumerate(times)))
    for first, after in enumerate(times):
        assert recalled(store, Filter.after(after)) == [f"{n}" for n in range(5, first - 1, -1)]
        assert recalled(store, Filter.before(after)) == [f"{n}" for n in range(first, -1, -1)]
        for last, before in enumerate(times):
            inside = [f"{n}" for n in range(last, first - 1, -1)]
            assert recalled(store, Filter.between(after, before)) == inside
            assert must(store.count(~Filter.between(after, before))) == 6 - len(inside)
    assert must(store.count(Filter.by_time_range())) == 6
    assert must(store.delete_matching(Filter.between(NOON, NOON))) == 1
    assert recalled(store, Filter.all()) == ["5", "4", "2", "1", "0"]


def test_no_filter_sees_another_namespace_or_tenant(storage: Storage) -> None:
    """Whatever it accepts, reading or deleting."""
    store = storage.open()
    places = [store, store.within("a"), store.within("a", "b"), store.within("A"), store.tenant("acme")]
    for place in places:
        must(place.store_all(MEMORIES))
    for filter in (Filter.all(), Filter.custom(lambda _: True), ~Filter.none(), Filter.content_contains("")):
        assert len(must(places[1].recall(filter))) == len(MEMORIES)
        assert must(places[1].count(filter)) == len(MEMORIES)
        assert must(places[1].delete_matching(filter)) == len(MEMORIES)
        assert [must(place.count()) for place in places] == [8, 0, 8, 8, 8]
        must(places[1].store_all(MEMORIES))


def test_the_largest_filters_are_answered(storage: Storage) -> None:
    """A hundred parts, side by side or one in the other: no parser is asked for more than it can hold."""
    store = filled(storage)
    ada, none = Filter.by_entity("ada"), Filter.none()
    wide = Filter.any(ada, *(Filter.metadata_contains(f"key {n}", "%") for n in range(96)))
    negated, composed, mixed = ada, ada, ada
    for _ in range(48):
        negated = ~Filter.all(negated)
    for _ in range(24):
        composed = Filter.any(Filter.all(composed, Filter.all()), none)
    for _ in range(16):
        mixed = ~(Filter.all() & ~(mixed | none))
    for filter in (wide, negated, composed, mixed):
        assert recalled(store, filter) == ["wild", "kelvin"]
        assert must(store.count(~Filter.all(filter))) == len(MEMORIES) - 2
    for filter in (negated, composed, mixed):
        assert must(store.delete_matching(filter)) == 2
        assert must(store.count()) == len(MEMORIES) - 2
        must(store.store_all(MEMORIES))
    with pytest.raises(ValueError):
        Filter.any(*[ada] * 100)
    with pytest.raises(ValueError):
        wide & ~(wide | none)


def item(id: str, attributes: dict[str, Scalar], expires_at: int | None = None) -> Put:
    """What no memory can be: an item of attributes that are no text, or one that expires."""
    return Put(
        Address(("memories",), id),
        Item("note", id, attributes=attributes, created_at=0, expires_at=expires_at),
    )


def test_an_attribute_that_is_no_text_is_there_for_no_filter(storage: Storage) -> None:
    """S3: numbers and booleans, spelled alike as a text or not; a negation keeps them."""
    values: list[Scalar] = [1, 0, -1, 1.5, True, False, "1", "1.5", "true", ""]
    puts = [item(f"{n}", {"k": value, "entity_id": value}) for n, value in enumerate(values)]
    storage.commit(Commit("default", None, (Entry(changes=tuple(puts)),)))

    def accepted(condition: Condition) -> set[str]:
        found = storage.read(Select("default", ("memories",), condition))
        counted = storage.read(Count("default", ("memories",), condition))
        assert counted.rows == (len(found.rows),)
        return {stored.address.id for stored in found.rows}

    everything = {f"{n}" for n in range(10)}
    for name in ("k", "entity_id"):
        expected: dict[Condition, set[str]] = {
            AttributeThere(name): {"6", "7", "8", "9"},
            AttributeContains(name, ""): {"6", "7", "8", "9"},
            AttributeContains(name, "1"): {"6", "7"},
            AttributeIs(name, "1"): {"6"},
            AttributeIs(name, "true"): {"8"},
            AttributeIs(name, "1.5"): {"7"},
            AttributeIs(name, "0"): set(),
        }
        for condition, ids in expected.items():
            assert accepted(condition) == ids
            assert accepted(Not(condition)) == everything - ids


def test_what_has_expired_matches_no_filter_and_is_not_counted(storage: Storage) -> None:
    """From that very instant, before anything is swept; it may be ended along with what matches."""
    store = storage.open()
    soon = microseconds(storage.clock() + MINUTE, "soon")
    puts = (item("stays", {"k": "v"}), item("goes", {"k": "v"}, soon), item("other", {}, soon))
    storage.commit(Commit("default", None, (Entry(changes=puts),)))
    exact, decided = Filter.by_metadata("k", "v"), Filter.custom(lambda memory: memory.id != "other")
    assert [must(store.count(filter)) for filter in (exact, decided, ~exact)] == [2, 2, 1]
    storage.clock.advance(MINUTE)
    for filter in (exact, decided, Filter.all(), Filter(KindIn(frozenset(["note"])))):
        assert recalled(store, filter) == ["stays"]
        assert must(store.count(filter)) == 1
    assert must(store.count(~exact)) == must(store.count(~decided)) == 0
    assert must(store.delete_matching(~decided)) == must(store.delete_matching(~exact)) == 0
    assert must(store.delete_matching(decided)) == 1
    assert must(store.delete_matching(exact)) == 0
    assert must(store.count()) == 0


def test_filters_that_mean_the_same_by_a_law_are_answered_the_same(storage: Storage) -> None:
    """Identity, annihilation, double negation, De Morgan, order and grouping of either operator; S3 among them."""
    store = filled(storage)
    for a, b, c in zip(ALGEBRA, (*ALGEBRA[3:], *ALGEBRA[:3]), (*ALGEBRA[5:], *ALGEBRA[:5]), strict=True):
        for place, (one, other) in enumerate(laws(a.filter, b.filter, c.filter)):
            found = recalled(store, one)
            assert found == recalled(store, other), (a, b, c, place)
            assert must(store.count(one)) == len(found), (a, b, c, place)
            assert recalled(store, one, limit=2) == found[:2], (a, b, c, place)


def test_ids_of_conversations_and_entities_may_be_as_long_as_metadata(storage: Storage) -> None:
    """Whatever an index holds of them: equal beginnings are told apart, and nothing is refused."""
    store = storage.open()
    long = "".join(hashlib.sha256(f"{number}".encode()).hexdigest() for number in range(900))
    names = [long, long[:-1], long[:128], long[:127], ""]
    for key in ("conversation_id", "entity_id"):
        ids = [f"{key} {number}" for number in range(len(names))]
        memories = [Memory("tea", id=id, metadata={key: name}) for id, name in zip(ids, names, strict=True)]
        must(store.store_all(memories))
        for id, name in zip(ids, names, strict=True):
            assert recalled(store, Filter.by_metadata(key, name)) == [id]
            assert must(store.count(~Filter.by_metadata(key, name) & Filter.has_metadata(key))) == 4
    assert must(store.statistics()).conversation_count == len(names)
