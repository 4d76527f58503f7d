# Generated from ../aio/batches.py by scripts/generate. Do not edit.
"""`store_all` and `swap`: several memories without a key, all of them or none, in one transaction."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from txmemory import (
    Bounds,
    Contended,
    FenceRequired,
    Memory,
    Outcome,
    OutcomeUnknown,
    StaleRevision,
    Store,
    TooManyToEvict,
    Unavailable,
    either,
    must,
)
from txmemory.model.item import moment
from txmemory.port import Busy, Down
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import contents
from txmemory.testing.sync.faults import Losing
from txmemory.testing.sync.storage import Storage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def named(*ids: str, content: str = "tea") -> list[Memory]:
    """Memories with these ids."""
    return [Memory(content, id=id) for id in ids]


def done(call: Any) -> Outcome:
    """The outcome of a call that had something to do."""
    outcome = must(call)
    assert isinstance(outcome, Outcome)
    return outcome


def test_a_batch_is_one_event_at_one_time(storage: Storage) -> None:
    """Fifteen memories are one commit, and so is one; added in the order given, as `store` would have them."""
    store = storage.open()
    ids = [f"m-{n:02}" for n in reversed(range(15))]
    outcome = done(store.store_all(memory for memory in named(*ids)))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [(id, 1) for id in ids]
    assert (outcome.status, outcome.removed, outcome.evicted) == ("stored", (), ())
    assert (outcome.seq, outcome.token) == (None, None)
    one = done(store.store_all(named("one")))
    events = [event for _, event in storage.events()]
    assert [(event.kind, event.key, len(event.effects)) for event in events] == [
        ("change", None, 15),
        ("change", None, 1),
    ]
    assert [moment(event.at) for event in events] == [outcome.at, one.at]
    times = {entry.at for id in ids for entry in must(store.history(id))}
    assert len(times) == 1
    assert {memory.timestamp for memory in must(store.recall())} == {storage.clock()}
    assert must(store.keys("run")) == []


def test_an_id_twice_in_a_batch_counts_as_its_last(storage: Storage) -> None:
    """At its place, once: one revision."""
    store = storage.open()
    batch = [*named("a", "b", content="first"), *named("a", content="last"), *named("c")]
    outcome = done(store.store_all(batch))
    assert [ref.id for ref in outcome.added] == ["b", "a", "c"]
    assert contents(store) == {"a": "last", "b": "first", "c": "tea"}
    assert [entry.revision for entry in must(store.history("a"))] == [1]


def test_a_batch_that_cannot_be_stored_leaves_everything_as_it_was(storage: Storage) -> None:
    """Too much to evict, a database that is away, an argument that raises, what is no memory; then it goes on."""
    backend = Losing(storage.backend())
    store = backend.store()
    must(store.store_all(named("a", "b", content="before")))
    must(store.store_all(named(*(f"m-{n:04}" for n in range(1_000)))))
    before = storage.digest()

    def raising() -> Iterator[Memory]:
        yield from named("a", "new")
        raise LookupError("the caller's own")

    mixed: Any = [*named("a", "new"), "no memory"]
    assert isinstance(either(store.store_all(named("a", "new"), bounds=Bounds(1))), TooManyToEvict)
    assert isinstance(either(store.swap(named("new"), ["a"], bounds=Bounds(0))), TooManyToEvict)
    for call in (partial(store.store_all, named("a", "new")), partial(store.swap, named("new"), ["a"])):
        backend.faults = [Down("FULL")]
        assert either(call()) == Unavailable("FULL")
    with pytest.raises(LookupError):
        store.store_all(raising())
    with pytest.raises(LookupError):
        store.swap(raising(), ["b"])
    with pytest.raises(TypeError):
        store.store_all(mixed)
    assert storage.digest() == before
    must(store.swap(named("a", content="after"), ["b"]))
    other = storage.open()
    found = must(other.get("a"))
    assert found is not None
    assert (found.content, found.revision) == ("after", 2)
    assert not must(other.exists("b"))


def test_nothing_to_do_opens_no_transaction(storage: Storage) -> None:
    """An empty batch is answered with None even while the database is away."""
    backend = Losing(storage.backend())
    store = backend.store()
    before = storage.digest()
    backend.faults = [Down("AWAY")]
    assert must(store.store_all([])) is None
    assert must(store.swap([], [])) is None
    assert must(store.swap(iter(()), iter(()), bounds=Bounds(0))) is None
    assert len(backend.faults) == 1
    assert storage.digest() == before
    assert either(store.store_all(named("a"))) == Unavailable("AWAY")


def test_a_batch_names_at_most_a_thousand_ids(storage: Storage) -> None:
    """Counted once each, what is added and what is removed together; one more is refused before any transaction."""
    store = storage.open()
    ids = [f"m-{n:04}" for n in range(1_001)]
    for wrong in (ids, ids[::-1]):
        with pytest.raises(ValueError):
            store.store_all(named(*wrong))
    with pytest.raises(ValueError):
        store.swap(named(*ids[:600]), ids[600:])
    assert storage.events() == []
    assert len(done(store.store_all(named(*ids[:1_000], *ids[:10]))).added) == 1_000
    outcome = done(store.swap(named(*ids[1_000:]), [*ids[:999], *ids[:999]]))
    assert (len(outcome.added), len(outcome.removed)) == (1, 999)
    assert set(contents(store)) == {"m-0999", "m-1000"}


def test_an_id_both_added_and_removed_by_a_swap_is_refused(storage: Storage) -> None:
    """The order would silently drop it; nothing is stored."""
    store = storage.open()
    must(store.store_all(named("a", "b")))
    before = storage.digest()
    for remove in (["b", "a"], named("a")):
        with pytest.raises(ValueError):
            store.swap(named("c", "a"), remove)
    assert storage.digest() == before


def test_a_swap_skips_what_is_gone(storage: Storage) -> None:
    """Unlike `replace` it is lenient: an id is ended if it is there, at whatever revision, and once."""
    store = storage.open()
    must(store.store_all(named("a", "b", "c")))
    (read,) = [memory for memory in must(store.recall()) if memory.id == "a"]
    must(store.store(Memory("changed", id="a")))
    outcome = done(store.swap(named("sum"), [read, "gone", "b", "b"]))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("sum", 1)]
    assert [(ref.id, ref.revision) for ref in outcome.removed] == [("a", 3), ("b", 2)]
    assert [entry.reason for entry in must(store.history("b"))] == ["stored", "replaced"]
    assert set(contents(store)) == {"c", "sum"}
    assert must(store.history("gone")) == []
    written = len(storage.events())
    nothing = done(store.swap([], ["gone", "a"]))
    assert (nothing.added, nothing.removed) == ((), ())
    assert len(storage.events()) == written


def test_a_swap_removes_memories_and_ids_of_its_own_namespace(storage: Storage) -> None:
    """One that was made here is named by its id; one that was read elsewhere is refused, as is a text."""
    store = storage.open()
    must(store.store_all(named("a", "b")))
    must(store.within("else").store_all(named("a")))
    (elsewhere,) = must(store.within("else").recall())
    text, alone, ids, nothing = "a", Memory("x", id="a"), ["a"], [None]
    wrong: Any
    for wrong, error in (
        ([elsewhere], ValueError),
        (text, TypeError),
        (alone, TypeError),
        (nothing, TypeError),
    ):
        with pytest.raises(error):
            store.swap([], wrong)
    for wrong in (text, alone, ids, nothing):
        with pytest.raises(TypeError):
            store.store_all(wrong)
    assert [ref.id for ref in done(store.swap([], [Memory("made", id="a"), "b"])).removed] == [
        "a",
        "b",
    ]
    assert must(store.within("else").count()) == 1


def test_a_batch_over_an_id_is_noticed_by_a_guard(storage: Storage) -> None:
    """It bumps the revision, keeps an age that is not given, and replaces one that is."""
    store = storage.open()
    must(store.store_all([Memory("tea", id="a", timestamp=NOON), Memory("tea", id="b", timestamp=NOON)]))
    must(store.store_all([Memory("new", id="a"), Memory("new", id="b", timestamp=NOON + timedelta(1))]))
    found = {memory.id: memory for memory in must(store.recall())}
    assert {id: (each.revision, each.timestamp) for id, each in found.items()} == {
        "a": (2, NOON),
        "b": (2, NOON + timedelta(1)),
    }
    late = store.writer("run", 1).write("step", named("a"), expect={"a": 1})
    assert either(late) == StaleRevision(1, 2)


def test_batches_of_the_same_ids_in_opposite_orders_all_succeed(
    storage: Storage,
) -> None:
    """Whoever comes second waits, and each batch is whole."""
    one, two = storage.open(), storage.open()
    ids = [f"m-{n}" for n in range(6)]
    rounds = 20
    must(one.store_all(named(*ids)))

    def batches(store: Store, order: list[str]) -> None:
        for turn in range(rounds):
            if turn % 2:
                must(store.store_all(named(*order)))
            else:
                must(store.swap(named(*order[:3]), order[3:]))

    race(partial(batches, one, ids), partial(batches, two, ids[::-1]))
    histories = [must(one.history(id)) for id in ids]
    assert all(
        [entry.revision for entry in history] == list(range(1, len(history) + 1)) for history in histories
    )
    for history in histories:
        assert 1 + rounds <= sum(entry.reason == "stored" for entry in history) <= 1 + 2 * rounds
    changed = [event for _, event in storage.events()]
    assert len(changed) == 1 + 2 * rounds
    assert {len(event.effects) for event in changed} <= {3, 4, 5, 6}


def test_a_bound_holds_for_a_batch_as_a_whole(storage: Storage) -> None:
    """Counted once, after all that is added and removed; one event says what came and what went."""
    store = storage.open()
    ages = [Memory("tea", id=f"m-{n}", timestamp=NOON + timedelta(minutes=n)) for n in range(9)]
    must(store.store_all(ages[:4]))
    outcome = done(store.store_all(ages[4:7], bounds=Bounds(5)))
    assert [ref.id for ref in outcome.evicted] == ["m-0", "m-1"]
    swapped = done(store.swap(ages[7:], ["m-5", "m-6"], bounds=Bounds(5)))
    assert ([ref.id for ref in swapped.removed], swapped.evicted) == (["m-5", "m-6"], ())
    ends = done(store.swap([], ["m-7"], bounds=Bounds(1)))
    assert ends.evicted == ()
    assert len(storage.events()) == 4
    assert sorted(contents(store)) == ["m-2", "m-3", "m-4", "m-8"]


def test_what_a_batch_commits_others_see(storage: Storage) -> None:
    """Whole, at once, also right behind a batch that failed."""
    one, two = storage.open(), storage.open()
    must(one.store_all(named(*(f"m-{n:04}" for n in range(1_000)))))
    must(one.store_all(named("a", "b")))
    assert isinstance(either(one.store_all(named("c"), bounds=Bounds(1))), TooManyToEvict)
    for turn in range(5):
        must(one.swap(named(f"s-{turn}", "c", content=f"{turn}"), [f"s-{turn - 1}"]))
        seen = [memory.id for memory in must(two.recall(limit=10_000)) if memory.content == f"{turn}"]
        assert sorted(seen) == ["c", f"s-{turn}"]


def test_a_lost_batch_is_unknown_and_one_that_met_locks_alone_is_contended(
    storage: Storage,
) -> None:
    """As any call without a key: made once or not at all, and never again by itself."""
    backend = Losing(storage.backend())
    store = backend.store()
    backend.losses = 1
    assert either(store.store_all(named("a", "b"))) == OutcomeUnknown()
    backend.losses = 1
    assert either(store.swap(named("c"), ["a"])) == OutcomeUnknown()
    assert [entry.revision for entry in must(store.history("a"))] == [1, 2]
    assert set(contents(store)) == {"b", "c"}
    before = storage.digest()
    for call in (partial(store.store_all, named("b", "d")), partial(store.swap, named("d"), ["b"])):
        backend.faults = [Busy("LOCKED") for _ in range(8)]
        assert either(call()) == Contended()
        assert storage.digest() == before
    backend.faults = [Busy("LOCKED"), Busy("LOCKED")]
    assert [ref.id for ref in done(store.store_all(named("d"))).added] == ["d"]


def test_a_store_that_requires_a_fence_takes_no_plain_batch(storage: Storage) -> None:
    """Nor an update, nor a trim, nor a store: only what a writer brings."""
    store = storage.open(require_fence=True)
    must(store.writer("run", 1).write("step", named("a", "b")))
    before = storage.digest()
    for call in (
        store.store_all(named("c")),
        store.swap(named("c"), ["a"]),
        store.swap([], ["a"]),
        store.store(Memory("tea", id="c")),
        store.update("a", lambda memory: memory.with_content("changed")),
        store.trim(Bounds(1)),
    ):
        assert either(call) == FenceRequired()
    assert storage.digest() == before
