# Generated from ../aio/deleting.py by scripts/generate. Do not edit.
"""What `delete_matching` ends: exactly what matches, in one transaction, as it was when that was decided."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from txmemory import (
    Contended,
    FenceRequired,
    Filter,
    Memory,
    OutcomeUnknown,
    Store,
    Unavailable,
    either,
    must,
)
from txmemory.port import Down
from txmemory.testing.cases import needs
from txmemory.testing.corpus import FILTERS, MEMORIES
from txmemory.testing.meanings import newest_first
from txmemory.testing.racing import elsewhere, race
from txmemory.testing.sync.asking import contents, written
from txmemory.testing.sync.faults import Losing
from txmemory.testing.sync.storage import Storage

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


def numbered(store: Store, number: int) -> None:
    """Stores memories, every other one even."""
    for start in range(0, number, 1_000):
        parities = [(n, "odd" if n % 2 else "even") for n in range(start, min(start + 1_000, number))]
        must(
            store.store_all(
                Memory(parity, id=f"m-{n:04}", timestamp=NOON, metadata={"parity": parity})
                for n, parity in parities
            )
        )


def test_deleting_what_a_filter_means_leaves_exactly_the_rest(storage: Storage) -> None:
    """S2, S3: every filter, in a namespace of its own; the answer is the number."""
    store = storage.open()
    for place, each in enumerate(FILTERS):
        here = store.within(f"{place}")
        must(here.store_all(MEMORIES))
        expected = each.of(MEMORIES)
        assert must(here.delete_matching(each.filter)) == len(expected), each
        left = [memory for memory in newest_first(MEMORIES) if memory.id not in expected]
        assert must(here.recall()) == left, each
        assert must(here.delete_matching(each.filter)) == 0, each
    assert must(store.count()) == 0


def test_a_filter_without_a_clause_ends_no_more_than_it_means(storage: Storage) -> None:
    """A predicate leaves nothing for a database to compare, which is not everything; `all` is."""
    store = storage.open()
    must(store.store_all(MEMORIES))
    nobody, everybody = Filter.custom(lambda _: False), Filter.custom(lambda _: True)
    odd_name, beyond_ascii = Filter.has_metadata('"'), Filter.content_contains("\u4f60")
    for none in (nobody, ~everybody, Filter.all(nobody), Filter.any(nobody), odd_name, beyond_ascii):
        for filter in (none, none & Filter.all(), none | Filter.none(), ~(~none | Filter.none())):
            assert must(store.delete_matching(filter)) == 0
    for empty in (Filter.any(), Filter.none(), ~Filter.all(), Filter.by_types([])):
        assert must(store.delete_matching(empty)) == 0
    assert must(store.recall()) == newest_first(MEMORIES)
    for whole in (Filter.all(), ~Filter.none(), everybody, ~odd_name, Filter.by_time_range()):
        assert must(store.delete_matching(whole)) == len(MEMORIES)
        assert must(store.count()) == 0
        must(store.store_all(MEMORIES))


def test_more_than_a_page_is_ended_in_one_transaction(storage: Storage) -> None:
    """A reader beside it finds all of it or none; the log has it at one time, whichever way it was decided."""
    store, other = storage.open(), storage.open()
    for way in ("decided by heads", "decided by both"):
        here, beside, filter = store.within(way), other.within(way), EVEN[way]
        numbered(here, MANY)

        def watch(beside: Store) -> list[int]:
            return [must(beside.count()) for _ in range(20)]

        def end(here: Store, filter: Filter) -> list[int]:
            return [must(here.delete_matching(filter))]

        (ended,), counts = race(partial(end, here, filter), partial(watch, beside))
        assert ended == MANY // 2, way
        assert set(counts) <= {MANY, MANY // 2}, way
        assert set(contents(here).values()) == {"odd"}
        ends = [
            (event.at, effect.reason)
            for _, event in storage.events()
            for effect in event.effects
            if effect.namespace[-1] == way and effect.operation == "remove"
        ]
        assert len(ends) == MANY // 2
        assert set(ends) == {(ends[0][0], "deleted")}
        storage.clock.advance(timedelta(seconds=1))


def test_while_it_is_decided_nothing_is_gone_yet(storage: Storage) -> None:
    """The predicate is asked about page after page, and behind each everything is still there."""
    store = storage.open()
    numbered(store, 1_100)
    seen: list[int] = []

    def count() -> int:
        return must(storage.open().count())

    def counting(memory: Memory) -> bool:
        if memory.id in ("m-1099", "m-0100", "m-0000"):
            seen.append(elsewhere(count))
        return True

    assert must(store.delete_matching(Filter.custom(counting))) == 1_100
    assert seen == [1_100] * 3


def test_what_is_ended_is_in_the_history_and_its_key_stays_applied(storage: Storage) -> None:
    """As deleted; a replay of what stored it answers as before and stores nothing."""
    store = storage.open()
    for way, filter in EVEN.items():
        here = store.within(way)
        memory = Memory("even", id="m", metadata={"parity": "even"})
        receipt = must(here.writer("run", 1).write(way, [memory]))
        assert must(here.delete_matching(filter)) == 1
        history = must(here.history("m"))
        assert [(entry.revision, entry.reason) for entry in history] == [(1, "stored"), (2, "deleted")]
        again = must(here.writer("run", 1).write(way, [memory]))
        assert again.replayed
        assert again.outcome == receipt.outcome
        assert must(here.count()) == 0
    assert must(store.applied_count("run")) == len(EVEN)


def test_a_change_since_it_was_read_is_decided_anew(storage: Storage) -> None:
    """What no longer matches stays, what matches by now goes too, what is gone is not counted."""
    store = storage.open()
    ids = ("kept", "gone", "late", "plain")
    must(store.store_all(Memory("old" if id != "late" else "new", id=id, timestamp=NOON) for id in ids))
    asked: list[str] = []

    def change() -> None:
        other = storage.open()
        must(other.store(Memory("new", id="kept")))
        must(other.store(Memory("old", id="late")))
        must(other.delete("gone"))

    def is_old(memory: Memory) -> bool:
        asked.append(memory.id)
        if len(asked) == len(ids):
            elsewhere(change)
        return memory.content == "old"

    assert must(store.delete_matching(Filter.custom(is_old))) == 2
    assert contents(store) == {"kept": "new"}
    assert asked == ["plain", "late", "kept", "gone", "plain", "late", "kept"]
    assert [entry.reason for entry in must(store.history("gone"))] == ["stored", "deleted"]


def test_after_five_decisions_it_is_contended_and_nothing_is_ended(storage: Storage) -> None:
    """Somebody is quicker every time, with one of the memories; one time less, and all of them are ended."""
    store = storage.open()
    for quicker in (DECISIONS, DECISIONS - 1):
        here = store.within(f"{quicker}")
        must(here.store_all(Memory("old", id=id, timestamp=NOON) for id in "abc"))
        times: list[int] = []

        def touch(namespace: str, turn: int) -> None:
            other = storage.open().within(namespace)
            must(other.store(Memory(f"touched {turn}", id="b", timestamp=NOON)))

        def touched(memory: Memory, times: list[int] = times, quicker: int = quicker) -> bool:
            if memory.id == "a":
                times.append(len(times))
                if len(times) <= quicker:
                    elsewhere(partial(touch, f"{quicker}", len(times)))
            return True

        answer = either(here.delete_matching(Filter.custom(touched)))
        assert len(times) == DECISIONS
        if quicker == DECISIONS:
            assert answer == Contended()
            assert contents(here) == {"a": "old", "b": f"touched {DECISIONS}", "c": "old"}
            assert [entry.reason for entry in must(here.history("a"))] == ["stored"]
        else:
            assert answer == len("abc")
            assert contents(here) == {}


def test_what_a_predicate_raises_comes_out_and_nothing_is_ended(storage: Storage) -> None:
    """The caller's own error, of every call that takes a filter; the store goes on."""
    store = storage.open()
    numbered(store, 10)
    before = storage.digest()

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
            call()
    assert storage.digest() == before
    assert must(store.delete_matching(Filter.content_contains("o"))) == 5


def test_a_predicate_may_use_the_store(storage: Storage) -> None:
    """C8: it is called outside every transaction and lock, so that it waits for nobody, and others do not."""
    store = storage.open()
    must(store.store_all(MEMORIES))

    def use() -> bool:
        other = storage.open()
        must(other.within("beside").store(Memory("tea", id="m")))
        return must(other.count()) == len(MEMORIES)

    filter = Filter.custom(lambda _: elsewhere(use))
    assert must(store.recall(filter)) == newest_first(MEMORIES)
    assert must(store.count(filter)) == len(MEMORIES)
    assert must(store.delete_matching(filter & Filter.by_entity("ada"))) == 2
    assert len(must(store.within("beside").history("m"))) == 2 * len(MEMORIES) + 2


def test_a_store_that_requires_fences_refuses_it_before_anything_is_asked(
    storage: Storage,
) -> None:
    """`FenceRequired`; what is no filter is refused before that."""
    store = storage.open(require_fence=True)
    written(store.writer("run", 1), "step", "a")
    before, asked = storage.digest(), list[str]()

    def ask(memory: Memory) -> bool:
        asked.append(memory.id)
        return True

    for filter in (Filter.all(), Filter.content_contains("tea"), Filter.custom(ask)):
        assert either(store.delete_matching(filter)) == FenceRequired()
    assert storage.digest() == before
    assert asked == []
    for wrong in (None, "tea", lambda _: True):
        with pytest.raises(TypeError):
            store.delete_matching(wrong)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        Filter.custom("tea")  # type: ignore[arg-type]  # the same


def test_an_accident_ends_all_of_it_or_nothing_and_is_told(storage: Storage) -> None:
    """Guarantee 6: a database that is away changes nothing; a lost answer is unknown, and not asked for again."""
    backend = Losing(storage.backend())
    store = backend.store()
    for way, filter in EVEN.items():
        here = store.within(way)
        numbered(here, 10)
        backend.faults = [Down("FULL")]
        assert either(here.delete_matching(filter)) == Unavailable("FULL"), way
        assert must(here.count()) == 10
        backend.losses = 1
        assert either(here.delete_matching(filter)) == OutcomeUnknown(), way
        assert must(here.count()) == 5
        assert must(here.delete_matching(filter)) == 0


@needs("joining")
def test_inside_a_transaction_of_the_caller_s_it_ends_with_that(storage: Storage) -> None:
    """Rolled back nothing is gone; committed all of it, whichever way it was decided."""
    store, caller = storage.open(), storage.caller()
    for way, filter in EVEN.items():
        here = store.within(way)
        numbered(here, 10)
        for commits in (False, True):
            caller.begin()
            caller.note(way)
            joined = here.joined(caller.connection)
            assert must(joined.delete_matching(filter)) == 5, way
            assert must(joined.count()) == 5
            (caller.commit() if commits else caller.roll_back())
            assert must(here.count()) == (5 if commits else 10)
    assert sorted(caller.notes()) == sorted(EVEN)
