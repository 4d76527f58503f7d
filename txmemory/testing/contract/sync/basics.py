# Generated from ../aio/basics.py by scripts/generate. Do not edit.
"""What a store does for a single caller: store, read back, count, order, end, and tell an item's history."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from txmemory import Custom, Filter, Memory, MemoryType, must
from txmemory.testing.cases import needs
from txmemory.testing.sync.asking import contents, written
from txmemory.testing.sync.storage import Storage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_an_empty_store_answers_with_nothing(storage: Storage) -> None:
    """Every read of an empty store, and every end of something that is not there."""
    store = storage.open()
    assert must(store.get("a")) is None
    assert not must(store.exists("a"))
    assert must(store.recall()) == []
    assert must(store.count()) == 0
    assert must(store.history("a")) == []
    assert must(store.keys("run")) == []
    assert must(store.applied_count()) == 0
    assert not must(store.delete("a"))
    assert must(store.clear()) == 0
    assert storage.events() == []


def test_a_memory_comes_back_with_every_field(storage: Storage) -> None:
    """Stored and got, to the microsecond, with the revision that it is at."""
    store = storage.open()
    given = Memory(
        "Ada drinks green tea",
        memory_type="user_fact",
        metadata={"user_id": "ada", "": "", "source": "chat"},
        timestamp=datetime(2029, 3, 4, 5, 6, 7, 890_123, tzinfo=timezone(timedelta(hours=5, minutes=45))),
        importance=0.1,
        id="m",
    )
    outcome = must(store.store(given))
    assert [(ref.namespace, ref.id, ref.revision) for ref in outcome.added] == [(("memories",), "m", 1)]
    assert (outcome.status, outcome.seq, outcome.token) == ("stored", None, None)
    found = must(store.get("m"))
    assert found == given
    assert found is not None
    assert (found.revision, found.memory_type) == (1, MemoryType.USER_FACT)
    assert found.timestamp is not None
    assert found.timestamp.utcoffset() == timedelta(0)
    assert must(store.recall()) == [given]


def test_what_the_caller_left_out_is_filled_in(storage: Storage) -> None:
    """The store's clock is the timestamp; ids are made and are never the same."""
    store = storage.open()
    for _ in range(2):
        must(store.store(Memory("tea")))
    first, second = must(store.recall())
    assert first.id != second.id
    assert first.timestamp == second.timestamp == storage.clock()
    assert (first.memory_type, first.importance, dict(first.metadata)) == (MemoryType.KNOWLEDGE, None, {})


def test_storing_over_an_id_replaces_the_memory(storage: Storage) -> None:
    """Content, type, metadata and the given timestamp are the new one's; the revision moves."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", timestamp=NOON, metadata={"a": "1"}, importance=1)))
    later = Memory("coffee", id="m", timestamp=NOON + timedelta(days=1), memory_type="task")
    must(store.store(later))
    found = must(store.get("m"))
    assert found == later
    assert found is not None
    assert found.revision == 2
    assert must(store.count()) == 1


def test_storing_over_an_id_without_a_timestamp_keeps_the_old_one(storage: Storage) -> None:
    """A memory that is only told anew keeps its age; after a delete it is a new one with a new time."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", timestamp=NOON)))
    must(store.store(Memory("coffee", id="m")))
    kept = must(store.get("m"))
    assert kept is not None
    assert kept.timestamp == NOON
    must(store.delete("m"))
    must(store.store(Memory("water", id="m")))
    renewed = must(store.get("m"))
    assert renewed is not None
    assert renewed.timestamp == storage.clock()


def test_recall_answers_the_newest_first_and_ties_by_id(storage: Storage) -> None:
    """By (timestamp, id) descending, a total order; the limit comes after the filter."""
    store = storage.open()
    for minute, id in ((1, "z"), (2, "a"), (2, "b"), (2, "B"), (2, "\u00e9"), (3, "a0")):
        type_ = "task" if minute == 2 else "entity"
        must(store.store(Memory("tea", id=id, timestamp=NOON + timedelta(minutes=minute), memory_type=type_)))
    assert [memory.id for memory in must(store.recall())] == ["a0", "\u00e9", "b", "a", "B", "z"]
    assert [memory.id for memory in must(store.recall(limit=2))] == ["a0", "\u00e9"]
    assert [memory.id for memory in must(store.recall(Filter.by_type("task"), limit=3))] == [
        "\u00e9",
        "b",
        "a",
    ]
    assert must(store.recall(limit=0)) == []
    with pytest.raises(ValueError):
        store.recall(limit=-1)


def test_a_long_recall_spans_pages_without_loss_or_repetition(storage: Storage) -> None:
    """Keyset pages: 2,500 memories, most of them of equal timestamps."""
    store = storage.open()
    for batch in range(3):
        many = [
            Memory("tea", id=f"m-{n:04}", timestamp=NOON + timedelta(seconds=n // 700))
            for n in range(1_000 * batch, min(1_000 * batch + 1_000, 2_500))
        ]
        must(store.writer("run", 1).write(f"{batch}", many))
    found = [memory.id for memory in must(store.recall(limit=10_000))]
    assert found == [f"m-{n:04}" for n in reversed(range(2_500))]
    assert [memory.id for memory in must(store.recall(limit=1_001))] == found[:1_001]
    assert must(store.count()) == 2_500


def test_filters_choose_by_type(storage: Storage) -> None:
    """One type, several, none, all; a custom type is never a built-in one."""
    store = storage.open()
    types = ["conversation", "entity", "knowledge", "user_fact", "task", "recipe", "Task", "custom:task", "%"]
    for type_ in types:
        must(store.store(Memory("tea", id=type_, memory_type=type_)))
    for chosen in (["task"], ["Task"], ["task", "recipe", "absent"], [Custom("task")], [], types):
        expected = {each for each in types if each in chosen}
        filter_ = Filter.by_types(chosen)
        assert {memory.id for memory in must(store.recall(filter_))} == expected
        assert must(store.count(filter_)) == len(expected)
    assert must(store.count(Filter.none())) == 0
    assert must(store.count(Filter.all())) == len(types)


def test_a_filter_takes_a_sequence_of_up_to_a_thousand_types(storage: Storage) -> None:
    """A text is no sequence of types; a thousand are asked in one go, and more are refused when built."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", memory_type="type-999")))
    many = [f"type-{n}" for n in range(1_000)]
    assert [memory.id for memory in must(store.recall(Filter.by_types(many)))] == ["m"]
    assert must(store.count(Filter.by_types([*many, "type-0"]))) == 1
    with pytest.raises(ValueError):
        Filter.by_types([*many, "task"])
    with pytest.raises(TypeError):
        Filter.by_types("task")
    for wrong in (1, None, [1], [None], [["task"]]):
        with pytest.raises(TypeError):
            Filter.by_types(wrong)  # type: ignore[arg-type]  # the wrong type is the point


def test_custom_types_come_back_in_their_own_case(storage: Storage) -> None:
    """No folding of case, and no prefix of ours is mistaken for the caller's."""
    store = storage.open()
    for name in ("Recipe", "recipe", "Task", "\u0130stanbul", "custom:x", "a b"):
        must(store.store(Memory("tea", id="m", memory_type=Custom(name))))
        found = must(store.get("m"))
        assert found is not None
        assert found.memory_type == Custom(name)


def test_delete_ends_one_memory_and_clear_its_namespace(storage: Storage) -> None:
    """Of one namespace, one tenant; what lies below it or beside it stays."""
    store = storage.open()
    places = [
        store,
        store.within("users"),
        store.within("users", "ada"),
        store.within("users", "ada2"),
        store.within("users%"),
        store.tenant("acme"),
    ]
    for place in places:
        must(place.writer("run", 1).write(f"{places.index(place)}", [Memory("tea", id=id) for id in "abc"]))
    assert must(store.within("users").delete("a"))
    assert [must(place.count()) for place in places] == [3, 2, 3, 3, 3, 3]
    assert must(store.within("users").clear()) == 2
    assert [must(place.count()) for place in places] == [3, 0, 3, 3, 3, 3]
    assert must(store.within("users").clear()) == 0
    assert must(store.tenant("acme").clear()) == 3
    assert [must(place.count()) for place in places] == [3, 0, 3, 3, 3, 0]


def test_the_history_of_an_id_tells_every_revision_and_why(storage: Storage) -> None:
    """L6: counting goes on after a delete; each entry has its content, its time and its holder."""
    store = storage.open()
    must(store.store(Memory("one", id="m")))
    storage.clock.advance(timedelta(seconds=1))
    written(store.writer("run", 1, holder="worker"), "step-1", "m", content="two")
    must(store.delete("m"))
    must(store.delete("m"))
    must(store.store(Memory("three", id="m")))
    must(store.clear())
    written(store.writer("run", 1), "step-2", "m", content="four")
    must(store.writer("run", 1).replace("step-3", [], ["m"]))
    history = must(store.history("m"))
    assert [entry.revision for entry in history] == list(range(1, 8))
    reasons = ["stored", "stored", "deleted", "stored", "cleared", "stored", "replaced"]
    assert [entry.reason for entry in history] == reasons
    content = [None if entry.memory is None else entry.memory.content for entry in history]
    assert content == ["one", "two", None, "three", None, "four", None]
    assert [entry.by for entry in history] == [None, "worker", None, None, None, None, None]
    times = [entry.at for entry in history]
    assert times == sorted(set(times))
    assert all(entry.memory is None or entry.memory.revision == entry.revision for entry in history)


def test_a_namespace_is_a_path_that_no_other_spelling_reaches(storage: Storage) -> None:
    """Parts are compared whole, so joining, splitting or quoting makes another namespace."""
    store = storage.open()
    paths = [("a", "b"), ("a/b",), ("a", "b", " "), ('a","b',), ("a.b",), ("A", "b"), ("ab",), ("%",), ("_",)]
    for path in paths:
        must(store.within(*path).store(Memory(repr(path), id="m")))
    for path in paths:
        assert contents(store.within(*path)) == {"m": repr(path)}
    assert contents(store.within("a").within("b")) == {"m": repr(("a", "b"))}
    for wrong in [("",), ("a", ""), ("x" * 1_100,), tuple("abcdefghijklmnop"), ("a\x00",), ("\ud800",)]:
        with pytest.raises(ValueError):
            store.within(*wrong)
    with pytest.raises(TypeError):
        store.within(1)  # type: ignore[arg-type]  # the wrong type is the point


@needs("persistence")
def test_everything_is_there_after_a_restart(storage: Storage) -> None:
    """Memories, history, ledger and log, as they were."""
    store = storage.open()
    written(store.writer("run", 1), "step-1", "a", "b")
    must(store.writer("run", 1).replace("step-2", [Memory("c", id="c", metadata={"k": "v"})], ["a"]))
    seen = must(store.recall()), must(store.history("a")), must(store.keys("run"))
    log, before = storage.events(), storage.digest()
    store.close()
    store = storage.open()
    assert (must(store.recall()), must(store.history("a")), must(store.keys("run"))) == seen
    assert storage.events() == log
    assert storage.digest() == before


def test_handles_share_the_store_and_a_second_store_sees_what_the_first_did(
    storage: Storage,
) -> None:
    """Read your writes, at once, from any handle and any store on the same place."""
    one, two = storage.open(), storage.open()
    for turn in range(20):
        must(one.within("x").store(Memory(f"{turn}", id="m")))
        found = must(two.within("x").get("m"))
        assert found is not None
        assert (found.content, found.revision) == (f"{turn}", turn + 1)
