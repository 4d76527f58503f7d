# Generated from ../aio/updating.py by scripts/generate. Do not edit.
"""`update`: a change of what is there, decided outside every transaction, that loses nobody else's change."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from txmemory import (
    Bounds,
    Contended,
    IdChanged,
    Memory,
    NotFound,
    Outcome,
    OutcomeUnknown,
    StaleRevision,
    Store,
    TooManyToEvict,
    either,
    must,
)
from txmemory.testing.racing import elsewhere, race
from txmemory.testing.sync.asking import contents
from txmemory.testing.sync.faults import Losing
from txmemory.testing.sync.storage import Storage

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


def the(store: Store, id: str) -> Memory:
    """The memory, which is there."""
    found = must(store.get(id))
    assert found is not None
    return found


def test_an_update_stores_what_its_function_makes_of_what_is_there(storage: Storage) -> None:
    """It is given the memory as `get` answers it, once; metadata are merged, and the time stays."""
    store = storage.open()
    first = Memory(
        "tea", id="m", memory_type="task", metadata={"a": "1", "b": "2"}, importance=0.5, timestamp=NOON
    )
    must(store.store(first))
    read = the(store, "m")
    change = Seen(lambda memory: memory.with_metadata({"b": "3", "": ""}).with_importance(7))
    storage.clock.advance(timedelta(minutes=1))
    outcome = must(store.update("m", change))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("m", 2)]
    assert (outcome.removed, outcome.evicted, outcome.seq, outcome.token) == ((), (), None, None)
    assert change.given == [read]
    assert (change.given[0].revision, change.given[0].namespace) == (1, read.namespace)
    found = the(store, "m")
    assert (found.content, found.memory_type, found.timestamp) == ("tea", first.memory_type, NOON)
    assert (dict(found.metadata), found.importance) == ({"a": "1", "b": "3", "": ""}, 1.0)
    assert [entry.reason for entry in must(store.history("m"))] == ["stored", "stored"]
    assert [event.kind for _, event in storage.events()] == ["change", "change"]


def test_an_update_keeps_the_time_unless_it_is_changed(storage: Storage) -> None:
    """One that the store filled in as well, and with a memory that was made anew and names none."""
    store = storage.open()
    must(store.store(Memory("tea", id="m")))
    filled = storage.clock()
    storage.clock.advance(timedelta(hours=1))
    must(store.update("m", lambda memory: memory.with_content("green tea")))
    assert the(store, "m").timestamp == filled
    must(store.update("m", lambda memory: Memory("black tea", id=memory.id)))
    assert the(store, "m").timestamp == filled
    must(store.update("m", lambda memory: Memory("white tea", id=memory.id, timestamp=NOON)))
    assert the(store, "m").timestamp == NOON


def test_every_store_over_an_id_is_noticed_by_a_guard(storage: Storage) -> None:
    """An update, a store and a batch each bump the revision that an expectation names."""
    store = storage.open()
    writer = store.writer("run", 1)
    must(store.store(Memory("tea", id="m")))
    calls: list[Callable[[], Any]] = [
        partial(store.update, "m", counted),
        partial(store.store, Memory("told anew", id="m")),
        partial(store.store_all, [Memory("told anew", id="m")]),
    ]
    for turn, call in enumerate(calls):
        read = the(store, "m")
        assert read.revision is not None
        must(call())
        stale = writer.write(f"{turn}", [Memory("late", id="m")], expect={"m": read.revision})
        assert either(stale) == StaleRevision(read.revision, read.revision + 1)
        lost = must(writer.replace(f"sum {turn}", [], [read])).outcome
        assert lost.status == "superseded"


def test_of_two_that_count_at_the_same_time_no_step_is_lost(storage: Storage) -> None:
    """A hundred increments of one counter, by two stores; one that was told `Contended` did nothing."""
    stores = [storage.open() for _ in range(2)]
    must(stores[0].store(Memory("tea", id="m", metadata={"count": "0"})))

    def count(store: Store) -> int:
        contended = done = 0
        while done < 50:
            answer = either(store.update("m", counted))
            if isinstance(answer, Outcome):
                done += 1
            else:
                assert answer == Contended()
                contended += 1
        return contended

    race(*(partial(count, store) for store in stores))
    found = the(stores[0], "m")
    assert (found.metadata["count"], found.revision) == ("100", 101)


def test_many_that_count_at_once_all_get_their_turn(storage: Storage) -> None:
    """Who loses a race waits a random moment before it decides again, so that losers do not lose together."""
    store = storage.open()
    must(store.store(Memory("0", id="counter")))

    def count() -> bool:
        counted = store.update("counter", lambda memory: memory.with_content(f"{int(memory.content) + 1}"))
        return not isinstance(either(counted), Contended)

    done = race(*[count] * 8)
    found = must(store.get("counter"))
    assert found is not None
    assert int(found.content) == sum(done)
    assert sum(done) >= 6


def test_a_change_in_between_is_read_and_decided_again(storage: Storage) -> None:
    """By a store, an update or a delete and a store: four times somebody was quicker, and the fifth holds."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", metadata={"count": "0"})))
    left = 4

    def other() -> None:
        nonlocal left
        if left:
            left -= 1
            quicker = storage.open()
            if left == 1:
                must(quicker.delete("m"))
                must(quicker.store(Memory("anew", id="m", metadata={"count": "10"})))
            else:
                must(quicker.update("m", counted))

    change = Seen(counted, lambda: elsewhere(other))
    outcome = must(store.update("m", change))
    assert [memory.metadata["count"] for memory in change.given] == ["0", "1", "2", "10", "11"]
    assert [ref.revision for ref in outcome.added] == [7]
    assert the(store, "m").metadata["count"] == "12"


def test_after_five_changes_in_between_an_update_is_contended(storage: Storage) -> None:
    """It has stored nothing; what the others did is there."""
    store = storage.open()
    must(store.store(Memory("tea", id="m")))

    def other() -> None:
        must(storage.open().update("m", counted))

    change = Seen(lambda memory: memory.with_content("never"), lambda: elsewhere(other))
    assert either(store.update("m", change)) == Contended()
    assert [memory.revision for memory in change.given] == [1, 2, 3, 4, 5]
    assert contents(store) == {"m": "tea"}
    assert the(store, "m").metadata["count"] == "5"
    assert len(must(store.history("m"))) == 6


def test_what_is_not_there_cannot_be_updated(storage: Storage) -> None:
    """Never stored, deleted, of another namespace or tenant, or deleted while the function decides."""
    store = storage.open()
    must(store.store(Memory("tea", id="gone")))
    must(store.delete("gone"))
    must(store.store(Memory("tea", id="m")))
    before = storage.digest()
    change = Seen(counted)
    for place, id in (
        (store, "never"),
        (store, "gone"),
        (store.within("else"), "m"),
        (store.tenant("acme"), "m"),
    ):
        assert either(place.update(id, change)) == NotFound()
    assert change.given == []
    assert storage.digest() == before

    def other() -> None:
        must(storage.open().delete("m"))

    deciding = Seen(counted, lambda: elsewhere(other))
    assert either(store.update("m", deciding)) == NotFound()
    assert len(deciding.given) == 1
    assert [entry.reason for entry in must(store.history("m"))] == ["stored", "deleted"]


def test_an_update_keeps_the_id(storage: Storage) -> None:
    """Another id is refused and nothing changes: neither memory, nor a second one under the new id."""
    store = storage.open()
    must(store.store_all([Memory("tea", id="m"), Memory("coffee", id="n")]))
    before = storage.digest()
    for other in ("n", "new", "M"):
        changed = Seen(partial(answered, Memory("tea", id=other)))
        assert either(store.update("m", changed)) == IdChanged()
        assert len(changed.given) == 1
    assert either(store.update("m", lambda memory: Memory(memory.content))) == IdChanged()
    assert storage.digest() == before


def test_what_the_function_raises_comes_out_and_nothing_is_locked(storage: Storage) -> None:
    """So does a `TypeError` for an answer that is no memory; the next writer goes on at once."""
    store, other = storage.open(), storage.open()
    must(store.store(Memory("tea", id="m")))
    before = storage.digest()

    def failing(_memory: Memory) -> Memory:
        raise LookupError("the caller's own")

    with pytest.raises(LookupError, match="the caller's own"):
        store.update("m", failing)
    for answer in (None, "text", {"content": "tea"}):
        with pytest.raises(TypeError):
            store.update("m", Seen(partial(answered, answer)))
    for wrong in (None, "text"):
        given: Any = wrong
        with pytest.raises(TypeError):
            store.update("m", given)
    assert storage.digest() == before
    must(other.update("m", counted))
    must(store.update("m", counted))
    assert the(store, "m").metadata["count"] == "2"


def test_while_the_function_decides_others_write(storage: Storage) -> None:
    """C8: no transaction is open meanwhile: the same scope, the same namespace, bounded, and a clear elsewhere."""
    store = storage.open()
    must(store.store(Memory("tea", id="m")))

    def others() -> None:
        other = storage.open()
        must(other.store_all([Memory("beside", id="n")], bounds=Bounds(10)))
        must(other.writer("run", 1).write("step", [Memory("beside", id="o")]))
        must(other.within("else").clear())
        assert set(contents(other)) == {"m", "n", "o"}

    change = Seen(counted, lambda: elsewhere(others))
    must(store.update("m", change))
    assert len(change.given) == 1
    assert [entry.revision for entry in must(store.history("m"))] == [1, 2]


def test_an_update_keeps_to_the_bounds_of_its_handle(storage: Storage) -> None:
    """A bounded write like any other: it evicts, it may evict what it changed, and it may be too much."""
    store = storage.open()
    ages = [Memory("tea", id=f"m-{n}", timestamp=NOON + timedelta(minutes=n)) for n in range(4)]
    must(store.store_all(ages))
    bounded = store.within(bounds=Bounds(3))
    outcome = must(bounded.update("m-3", counted))
    assert [ref.id for ref in outcome.evicted] == ["m-0"]
    older = must(bounded.update("m-3", lambda memory: Memory("old", id=memory.id, timestamp=NOON)))
    assert older.evicted == ()
    must(store.store(ages[0]))
    gone = must(bounded.update("m-3", counted))
    assert [ref.id for ref in gone.evicted] == ["m-0"]
    must(store.store_all([Memory("tea", id=f"more-{n}") for n in range(1_000)]))
    must(store.store(Memory("tea", id="more")))
    before = storage.digest()
    assert isinstance(either(bounded.update("m-1", counted)), TooManyToEvict)
    assert storage.digest() == before


def test_a_lost_update_is_unknown_and_made_once(storage: Storage) -> None:
    """It has no key, so it is not made again; its function is called once."""
    backend = Losing(storage.backend())
    store = backend.store()
    must(store.store(Memory("tea", id="m")))
    backend.losses = 1
    change = Seen(counted)
    assert either(store.update("m", change)) == OutcomeUnknown()
    assert len(change.given) == 1
    found = the(store, "m")
    assert (found.metadata["count"], found.revision) == ("1", 2)
