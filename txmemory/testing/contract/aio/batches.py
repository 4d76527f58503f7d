"""`store_all` and `swap`: several memories without a key, all of them or none, in one transaction."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from txmemory import (
    AsyncStore,
    Bounds,
    Contended,
    FenceRequired,
    Memory,
    Outcome,
    OutcomeUnknown,
    StaleRevision,
    TooManyToEvict,
    Unavailable,
    either,
    must,
)
from txmemory.model.item import moment
from txmemory.port import Busy, Down
from txmemory.testing.aio.asking import contents
from txmemory.testing.aio.faults import AsyncLosing
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.racing import race_async

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def named(*ids: str, content: str = "tea") -> list[Memory]:
    """Memories with these ids."""
    return [Memory(content, id=id) for id in ids]


async def done(call: Any) -> Outcome:
    """The outcome of a call that had something to do."""
    outcome = must(await call)
    assert isinstance(outcome, Outcome)
    return outcome


async def test_a_batch_is_one_event_at_one_time(storage: AsyncStorage) -> None:
    """Fifteen memories are one commit, and so is one; added in the order given, as `store` would have them."""
    store = await storage.open()
    ids = [f"m-{n:02}" for n in reversed(range(15))]
    outcome = await done(store.store_all(memory for memory in named(*ids)))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [(id, 1) for id in ids]
    assert (outcome.status, outcome.removed, outcome.evicted) == ("stored", (), ())
    assert (outcome.seq, outcome.token) == (None, None)
    one = await done(store.store_all(named("one")))
    events = [event for _, event in await storage.events()]
    assert [(event.kind, event.key, len(event.effects)) for event in events] == [
        ("change", None, 15),
        ("change", None, 1),
    ]
    assert [moment(event.at) for event in events] == [outcome.at, one.at]
    times = {entry.at for id in ids for entry in must(await store.history(id))}
    assert len(times) == 1
    assert {memory.timestamp for memory in must(await store.recall())} == {storage.clock()}
    assert must(await store.keys("run")) == []


async def test_an_id_twice_in_a_batch_counts_as_its_last(storage: AsyncStorage) -> None:
    """At its place, once: one revision."""
    store = await storage.open()
    batch = [*named("a", "b", content="first"), *named("a", content="last"), *named("c")]
    outcome = await done(store.store_all(batch))
    assert [ref.id for ref in outcome.added] == ["b", "a", "c"]
    assert await contents(store) == {"a": "last", "b": "first", "c": "tea"}
    assert [entry.revision for entry in must(await store.history("a"))] == [1]


async def test_a_batch_that_cannot_be_stored_leaves_everything_as_it_was(storage: AsyncStorage) -> None:
    """Too much to evict, a database that is away, an argument that raises, what is no memory; then it goes on."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    must(await store.store_all(named("a", "b", content="before")))
    must(await store.store_all(named(*(f"m-{n:04}" for n in range(1_000)))))
    before = await storage.digest()

    def raising() -> Iterator[Memory]:
        yield from named("a", "new")
        raise LookupError("the caller's own")

    mixed: Any = [*named("a", "new"), "no memory"]
    assert isinstance(either(await store.store_all(named("a", "new"), bounds=Bounds(1))), TooManyToEvict)
    assert isinstance(either(await store.swap(named("new"), ["a"], bounds=Bounds(0))), TooManyToEvict)
    for call in (partial(store.store_all, named("a", "new")), partial(store.swap, named("new"), ["a"])):
        backend.faults = [Down("FULL")]
        assert either(await call()) == Unavailable("FULL")
    with pytest.raises(LookupError):
        await store.store_all(raising())
    with pytest.raises(LookupError):
        await store.swap(raising(), ["b"])
    with pytest.raises(TypeError):
        await store.store_all(mixed)
    assert await storage.digest() == before
    must(await store.swap(named("a", content="after"), ["b"]))
    other = await storage.open()
    found = must(await other.get("a"))
    assert found is not None
    assert (found.content, found.revision) == ("after", 2)
    assert not must(await other.exists("b"))


async def test_nothing_to_do_opens_no_transaction(storage: AsyncStorage) -> None:
    """An empty batch is answered with None even while the database is away."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    before = await storage.digest()
    backend.faults = [Down("AWAY")]
    assert must(await store.store_all([])) is None
    assert must(await store.swap([], [])) is None
    assert must(await store.swap(iter(()), iter(()), bounds=Bounds(0))) is None
    assert len(backend.faults) == 1
    assert await storage.digest() == before
    assert either(await store.store_all(named("a"))) == Unavailable("AWAY")


async def test_a_batch_names_at_most_a_thousand_ids(storage: AsyncStorage) -> None:
    """Counted once each, what is added and what is removed together; one more is refused before any transaction."""
    store = await storage.open()
    ids = [f"m-{n:04}" for n in range(1_001)]
    for wrong in (ids, ids[::-1]):
        with pytest.raises(ValueError):
            await store.store_all(named(*wrong))
    with pytest.raises(ValueError):
        await store.swap(named(*ids[:600]), ids[600:])
    assert await storage.events() == []
    assert len((await done(store.store_all(named(*ids[:1_000], *ids[:10])))).added) == 1_000
    outcome = await done(store.swap(named(*ids[1_000:]), [*ids[:999], *ids[:999]]))
    assert (len(outcome.added), len(outcome.removed)) == (1, 999)
    assert set(await contents(store)) == {"m-0999", "m-1000"}


async def test_an_id_both_added_and_removed_by_a_swap_is_refused(storage: AsyncStorage) -> None:
    """The order would silently drop it; nothing is stored."""
    store = await storage.open()
    must(await store.store_all(named("a", "b")))
    before = await storage.digest()
    for remove in (["b", "a"], named("a")):
        with pytest.raises(ValueError):
            await store.swap(named("c", "a"), remove)
    assert await storage.digest() == before


async def test_a_swap_skips_what_is_gone(storage: AsyncStorage) -> None:
    """Unlike `replace` it is lenient: an id is ended if it is there, at whatever revision, and once."""
    store = await storage.open()
    must(await store.store_all(named("a", "b", "c")))
    (read,) = [memory for memory in must(await store.recall()) if memory.id == "a"]
    must(await store.store(Memory("changed", id="a")))
    outcome = await done(store.swap(named("sum"), [read, "gone", "b", "b"]))
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("sum", 1)]
    assert [(ref.id, ref.revision) for ref in outcome.removed] == [("a", 3), ("b", 2)]
    assert [entry.reason for entry in must(await store.history("b"))] == ["stored", "replaced"]
    assert set(await contents(store)) == {"c", "sum"}
    assert must(await store.history("gone")) == []
    written = len(await storage.events())
    nothing = await done(store.swap([], ["gone", "a"]))
    assert (nothing.added, nothing.removed) == ((), ())
    assert len(await storage.events()) == written


async def test_a_swap_removes_memories_and_ids_of_its_own_namespace(storage: AsyncStorage) -> None:
    """One that was made here is named by its id; one that was read elsewhere is refused, as is a text."""
    store = await storage.open()
    must(await store.store_all(named("a", "b")))
    must(await store.within("else").store_all(named("a")))
    (elsewhere,) = must(await store.within("else").recall())
    text, alone, ids, nothing = "a", Memory("x", id="a"), ["a"], [None]
    wrong: Any
    for wrong, error in (
        ([elsewhere], ValueError),
        (text, TypeError),
        (alone, TypeError),
        (nothing, TypeError),
    ):
        with pytest.raises(error):
            await store.swap([], wrong)
    for wrong in (text, alone, ids, nothing):
        with pytest.raises(TypeError):
            await store.store_all(wrong)
    assert [ref.id for ref in (await done(store.swap([], [Memory("made", id="a"), "b"]))).removed] == [
        "a",
        "b",
    ]
    assert must(await store.within("else").count()) == 1


async def test_a_batch_over_an_id_is_noticed_by_a_guard(storage: AsyncStorage) -> None:
    """It bumps the revision, keeps an age that is not given, and replaces one that is."""
    store = await storage.open()
    must(
        await store.store_all([Memory("tea", id="a", timestamp=NOON), Memory("tea", id="b", timestamp=NOON)])
    )
    must(await store.store_all([Memory("new", id="a"), Memory("new", id="b", timestamp=NOON + timedelta(1))]))
    found = {memory.id: memory for memory in must(await store.recall())}
    assert {id: (each.revision, each.timestamp) for id, each in found.items()} == {
        "a": (2, NOON),
        "b": (2, NOON + timedelta(1)),
    }
    late = await store.writer("run", 1).write("step", named("a"), expect={"a": 1})
    assert either(late) == StaleRevision(1, 2)


async def test_batches_of_the_same_ids_in_opposite_orders_all_succeed(
    storage: AsyncStorage,
) -> None:
    """Whoever comes second waits, and each batch is whole."""
    one, two = await storage.open(), await storage.open()
    ids = [f"m-{n}" for n in range(6)]
    rounds = 20
    must(await one.store_all(named(*ids)))

    async def batches(store: AsyncStore, order: list[str]) -> None:
        for turn in range(rounds):
            if turn % 2:
                must(await store.store_all(named(*order)))
            else:
                must(await store.swap(named(*order[:3]), order[3:]))

    await race_async(partial(batches, one, ids), partial(batches, two, ids[::-1]))
    histories = [must(await one.history(id)) for id in ids]
    assert all(
        [entry.revision for entry in history] == list(range(1, len(history) + 1)) for history in histories
    )
    for history in histories:
        assert 1 + rounds <= sum(entry.reason == "stored" for entry in history) <= 1 + 2 * rounds
    changed = [event for _, event in await storage.events()]
    assert len(changed) == 1 + 2 * rounds
    assert {len(event.effects) for event in changed} <= {3, 4, 5, 6}


async def test_a_bound_holds_for_a_batch_as_a_whole(storage: AsyncStorage) -> None:
    """Counted once, after all that is added and removed; one event says what came and what went."""
    store = await storage.open()
    ages = [Memory("tea", id=f"m-{n}", timestamp=NOON + timedelta(minutes=n)) for n in range(9)]
    must(await store.store_all(ages[:4]))
    outcome = await done(store.store_all(ages[4:7], bounds=Bounds(5)))
    assert [ref.id for ref in outcome.evicted] == ["m-0", "m-1"]
    swapped = await done(store.swap(ages[7:], ["m-5", "m-6"], bounds=Bounds(5)))
    assert ([ref.id for ref in swapped.removed], swapped.evicted) == (["m-5", "m-6"], ())
    ends = await done(store.swap([], ["m-7"], bounds=Bounds(1)))
    assert ends.evicted == ()
    assert len(await storage.events()) == 4
    assert sorted(await contents(store)) == ["m-2", "m-3", "m-4", "m-8"]


async def test_what_a_batch_commits_others_see(storage: AsyncStorage) -> None:
    """Whole, at once, also right behind a batch that failed."""
    one, two = await storage.open(), await storage.open()
    must(await one.store_all(named(*(f"m-{n:04}" for n in range(1_000)))))
    must(await one.store_all(named("a", "b")))
    assert isinstance(either(await one.store_all(named("c"), bounds=Bounds(1))), TooManyToEvict)
    for turn in range(5):
        must(await one.swap(named(f"s-{turn}", "c", content=f"{turn}"), [f"s-{turn - 1}"]))
        seen = [memory.id for memory in must(await two.recall(limit=10_000)) if memory.content == f"{turn}"]
        assert sorted(seen) == ["c", f"s-{turn}"]


async def test_a_lost_batch_is_unknown_and_one_that_met_locks_alone_is_contended(
    storage: AsyncStorage,
) -> None:
    """As any call without a key: made once or not at all, and never again by itself."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    backend.losses = 1
    assert either(await store.store_all(named("a", "b"))) == OutcomeUnknown()
    backend.losses = 1
    assert either(await store.swap(named("c"), ["a"])) == OutcomeUnknown()
    assert [entry.revision for entry in must(await store.history("a"))] == [1, 2]
    assert set(await contents(store)) == {"b", "c"}
    before = await storage.digest()
    for call in (partial(store.store_all, named("b", "d")), partial(store.swap, named("d"), ["b"])):
        backend.faults = [Busy("LOCKED") for _ in range(8)]
        assert either(await call()) == Contended()
        assert await storage.digest() == before
    backend.faults = [Busy("LOCKED"), Busy("LOCKED")]
    assert [ref.id for ref in (await done(store.store_all(named("d")))).added] == ["d"]


async def test_a_store_that_requires_a_fence_takes_no_plain_batch(storage: AsyncStorage) -> None:
    """Nor an update, nor a trim, nor a store: only what a writer brings."""
    store = await storage.open(require_fence=True)
    must(await store.writer("run", 1).write("step", named("a", "b")))
    before = await storage.digest()
    for call in (
        store.store_all(named("c")),
        store.swap(named("c"), ["a"]),
        store.swap([], ["a"]),
        store.store(Memory("tea", id="c")),
        store.update("a", lambda memory: memory.with_content("changed")),
        store.trim(Bounds(1)),
    ):
        assert either(await call) == FenceRequired()
    assert await storage.digest() == before
