"""The guard itself: transactions built by hand, for what no face reaches yet."""

from datetime import UTC, datetime, timedelta
from functools import partial

from txmemory import AsyncStore, Memory, either
from txmemory.model.address import Address, Fence, Namespace, Presenter
from txmemory.model.commit import (
    Bound,
    Commit,
    Done,
    Entry,
    Finished,
    Forgot,
    Found,
    Guard,
    Overtaken,
    Put,
    Recorded,
    Remove,
    RemoveWhere,
)
from txmemory.model.filter import Everything, KindIn, Nothing
from txmemory.model.item import Item, microseconds
from txmemory.model.outcome import Outcome
from txmemory.model.query import Count, Get, Revisions, Select
from txmemory.rules.fold import fold
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.racing import race_async

TENANT = "default"
HERE: Namespace = ("memories",)
THERE: Namespace = ("records", "app")
SOON = timedelta(minutes=10)


def at(id: str, namespace: Namespace = HERE) -> Address:
    """Where an item is."""
    return Address(namespace, id)


def put(id: str, minute: int | None = None, *, expires: datetime | None = None, kind: str = "note") -> Put:
    """A put into the first namespace, created at a minute of its own."""
    created = None if minute is None else microseconds(datetime(2030, 1, 1, 0, minute, tzinfo=UTC), "minute")
    return Put(
        at(id), Item(kind, id, created_at=created, expires_at=None if expires is None else _us(expires))
    )


def plain(*changes: Put | Remove | RemoveWhere, bounds: tuple[Bound, ...] = ()) -> Commit:
    """A commit without a presenter."""
    return Commit(TENANT, None, (Entry(changes=changes),), bounds)


def keyed(*entries: Entry, token: int = 1, bounds: tuple[Bound, ...] = ()) -> Commit:
    """A commit of a run."""
    return Commit(TENANT, Presenter("run", token), entries, bounds)


def record(
    key: str, *changes: Put | Remove, guards: tuple[Guard, ...] = (), sources: tuple[Guard, ...] = ()
) -> Entry:
    """An entry that records a key."""
    return Entry(key, "record", key.encode(), guards, sources, changes)


async def done(storage: AsyncStorage, commit: Commit) -> Outcome:
    """The outcome of a commit of one entry that was carried out."""
    reply = await storage.commit(commit)
    assert isinstance(reply, tuple)
    (met,) = reply
    assert isinstance(met, Done)
    return met.outcome


async def live(storage: AsyncStorage, namespace: Namespace = HERE) -> list[str]:
    """Ids that a recall answers, newest first; a get and a count agree."""
    page = await storage.read(Select(TENANT, namespace, Everything()))
    ids = [stored.address.id for stored in page.rows]
    counted = await storage.read(Count(TENANT, namespace, Everything()))
    assert counted.rows == (len(ids),)
    got = await storage.read(Get(TENANT, tuple(at(id, namespace) for id in ids)))
    assert [stored.address.id for stored in got.rows] == ids
    return ids


async def test_an_item_is_gone_from_the_instant_it_expires(storage: AsyncStorage) -> None:
    """D3: in every read, before any sweep: expired long ago, now, in a microsecond, far away."""
    now = storage.clock()
    microsecond = timedelta(microseconds=1)
    times = {"past": now - SOON, "now": now, "next": now + microsecond, "far": now + SOON}
    await done(storage, plain(*(put(id, 1, expires=time) for id, time in times.items())))
    assert await live(storage) == ["next", "far"]
    storage.clock.advance(microsecond)
    assert await live(storage) == ["far"]
    storage.clock.set(datetime(9998, 12, 30, tzinfo=UTC))
    assert await live(storage) == []


async def test_an_expired_item_counts_as_gone_for_guards_and_sources(storage: AsyncStorage) -> None:
    """Judged by the locked row and by the clock as it is after the locks."""
    await done(storage, plain(put("a", 1, expires=storage.clock() + SOON)))
    storage.clock.advance(SOON)
    there, here, gone = Guard(at("a")), Guard(at("a"), 1), Guard(at("a"), 0)
    for unmet in (there, here):
        reply = await storage.commit(keyed(record("k", guards=(unmet,))))
        assert reply == (Found({at("a"): 0}),)
    for source in (there, here):
        outcome = await done(storage, keyed(record(f"s-{source.revision}", sources=(source,))))
        assert outcome.status == "superseded"
    outcome = await done(storage, keyed(record("new", put("a"), guards=(gone,))))
    assert [ref.revision for ref in outcome.added] == [2]
    stored = (await storage.read(Get(TENANT, (at("a"),)))).rows[0]
    assert stored.created_at == _us(storage.clock())


async def test_ending_an_expired_item_does_nothing(storage: AsyncStorage) -> None:
    """It is not there: no revision, no event."""
    await done(storage, plain(put("a", 1, expires=storage.clock())))
    outcome = await done(storage, plain(Remove(at("a"), "deleted"), Remove(at("never"), "deleted")))
    assert (outcome.added, outcome.removed, outcome.evicted) == ((), (), ())
    assert len(await storage.events()) == 1


async def test_what_has_expired_is_evicted_first(storage: AsyncStorage) -> None:
    """Expired items count, go first by (expires_at, id), and say so."""
    now = storage.clock()
    await done(
        storage,
        plain(
            put("oldest", 1),
            put("expired-2", 9, expires=now - SOON),
            put("expired-1", 8, expires=now - SOON),
            put("expired-0", 7, expires=now - 2 * SOON),
            put("later", 2, expires=now + SOON),
        ),
    )
    outcome = await done(storage, plain(put("new", 3), bounds=(Bound(HERE, 4),)))
    assert [(ref.id, ref.revision) for ref in outcome.evicted] == [("expired-0", 2), ("expired-1", 2)]
    outcome = await done(storage, plain(put("newer", 4), bounds=(Bound(HERE, 3),)))
    assert [ref.id for ref in outcome.evicted] == ["expired-2", "oldest"]
    reasons = {effect.id: effect.reason for _, event in await storage.events() for effect in event.effects}
    assert (reasons["expired-2"], reasons["oldest"]) == ("expired", "evicted")
    assert await live(storage) == ["newer", "new", "later"]


async def test_what_expires_now_is_evicted_before_what_is_older(storage: AsyncStorage) -> None:
    """At its very instant it has expired, for the choice and for the reason."""
    await done(storage, plain(put("old", 1), put("expires", 9, expires=storage.clock())))
    outcome = await done(storage, plain(put("new", 5), bounds=(Bound(HERE, 2),)))
    assert [ref.id for ref in outcome.evicted] == ["expires"]
    page = await storage.read(Revisions(TENANT, at("expires")))
    assert page.rows[-1].reason == "expired"


async def test_a_guard_is_judged_before_a_source(storage: AsyncStorage) -> None:
    """A failed guard is reported and nothing is recorded, although a source is gone too."""
    unmet, missing = Guard(at("a"), 1), Guard(at("b"))
    assert await storage.commit(keyed(record("k", guards=(unmet,), sources=(missing,)))) == (
        Found({at("a"): 0}),
    )
    assert (await done(storage, keyed(record("k", sources=(missing,))))).status == "superseded"


async def test_what_one_entry_meets_stops_no_other(storage: AsyncStorage) -> None:
    """Done, found, superseded and recorded side by side; seq counts what was done."""
    await done(storage, keyed(record("old", put("old", 1))))
    reply = await storage.commit(
        keyed(
            record("a", put("a", 1)),
            record("b", put("b", 1), guards=(Guard(at("b"), 3),)),
            record("old", put("x", 1)),
            record("c", put("c", 1), sources=(Guard(at("gone")),)),
            record("d", put("d", 1), guards=(Guard(at("old"), 1),)),
        )
    )
    assert isinstance(reply, tuple)
    a, b, old, c, d = reply
    assert b == Found({at("b"): 0})
    assert isinstance(old, Recorded)
    assert old.outcome.seq == 1
    assert isinstance(a, Done)
    assert isinstance(c, Done)
    assert isinstance(d, Done)
    assert [met.outcome.seq for met in (a, c, d)] == [2, 3, 4]
    assert [met.outcome.status for met in (a, c, d)] == ["stored", "superseded", "stored"]
    assert len({met.outcome.at for met in (a, c, d)}) == 1
    assert await live(storage) == ["old", "d", "a"]


async def test_of_two_writes_that_each_expect_the_other_s_memory_not_to_be_there_one_is_made(
    storage: AsyncStorage,
) -> None:
    """Whoever is second finds what the first has put."""
    stores = await storage.open(), await storage.open()

    async def write(store: AsyncStore, turn: int, mine: str, other: str) -> object:
        writer = store.writer(f"writing {mine}", 1)
        answer = await writer.write(
            f"{turn}", [Memory("tea", id=f"{mine}-{turn}")], expect={f"{other}-{turn}": None}
        )
        return either(answer)

    for turn in range(20):
        one, two = partial(write, stores[0], turn, "a", "b"), partial(write, stores[1], turn, "b", "a")
        answers = await race_async(one, two)
        assert sorted(type(each).__name__ for each in answers) == ["AlreadyExists", "Receipt"]


async def test_a_look_with_guards_says_what_is_there_and_changes_nothing(storage: AsyncStorage) -> None:
    """A look moves the fence; a known key is `Recorded` before its guards are judged."""
    await done(storage, keyed(record("k", put("a", 1))))
    guards = (Guard(at("a"), 1), Guard(at("b"), 0))
    look = Entry("new", "look", guards=guards)
    assert await storage.commit(keyed(look)) == (Found({at("a"): 1, at("b"): 0}),)
    before = await storage.events()
    reply = await storage.commit(keyed(look, Entry("k", "look", guards=guards), token=2))
    assert isinstance(reply, tuple)
    assert reply[0] == Found({at("a"): 1, at("b"): 0})
    assert isinstance(reply[1], Recorded)
    assert await storage.events() == before
    assert await storage.commit(keyed(look, token=1)) == Overtaken(Fence(0, 2))


async def test_several_namespaces_change_in_one_commit(storage: AsyncStorage) -> None:
    """One event, one time of record; evictions belong to the last entry that stores, by namespace."""
    item = Item("note", created_at=0)
    fill = [Put(at(f"{n}", namespace), item) for namespace in (HERE, THERE) for n in range(3)]
    await done(storage, plain(*fill))
    reply = await storage.commit(
        keyed(
            record("a", Put(at("new", THERE), item)),
            record("b", Put(at("new", HERE), item), Remove(at("2", THERE), "replaced")),
            record("c", Remove(at("2", HERE), "replaced")),
            bounds=(Bound(THERE, 2), Bound(HERE, 1)),
        )
    )
    assert isinstance(reply, tuple)
    outcomes = [met.outcome for met in reply if isinstance(met, Done)]
    assert [len(outcome.evicted) for outcome in outcomes] == [0, 3, 0]
    evicted = [(ref.namespace, ref.id) for ref in outcomes[1].evicted]
    assert evicted == [(HERE, "0"), (HERE, "1"), (THERE, "0")]
    assert await live(storage, HERE) == ["new"]
    assert await live(storage, THERE) == ["new", "1"]
    folded = fold(event for _, event in await storage.events())
    assert set(folded.live) == {at("new"), at("new", THERE), at("1", THERE)}


async def test_too_many_victims_refuse_only_the_entries_that_would_store(storage: AsyncStorage) -> None:
    """What only removes, or is superseded, is carried out all the same."""
    for batch in range(2):
        await done(storage, plain(*(put(f"{batch}-{n}", 1) for n in range(900))))
    reply = await storage.commit(
        keyed(
            record("a", put("a")),
            record("b", Remove(at("0-1"), "replaced")),
            record("c", put("c"), sources=(Guard(at("gone")),)),
            bounds=(Bound(HERE, 10),),
        )
    )
    assert isinstance(reply, tuple)
    a, b, c = reply
    assert isinstance(a, Found)
    assert a.excess > 1_000
    assert isinstance(b, Done)
    assert [ref.id for ref in b.outcome.removed] == ["0-1"]
    assert isinstance(c, Done)
    assert (c.outcome.status, c.outcome.seq) == ("superseded", 2)
    counted = await storage.read(Count(TENANT, HERE, Everything()))
    assert counted.rows == (1_799,)


async def test_remove_where_ends_what_the_condition_accepts(storage: AsyncStorage) -> None:
    """By kind, in one namespace; nothing that matches is no event."""
    await done(
        storage, plain(put("a", 1, kind="x"), put("b", 2, kind="y"), put("c", 3, kind="X"), put("d", 4))
    )
    await done(storage, plain(Put(at("a", THERE), Item("x"))))
    outcome = await done(storage, plain(RemoveWhere(HERE, KindIn(frozenset({"x", "y", "z"})), "cleared")))
    assert [(ref.id, ref.revision) for ref in outcome.removed] == [("a", 2), ("b", 2)]
    assert await live(storage) == ["d", "c"]
    assert await live(storage, THERE) == ["a"]
    for nothing in (Nothing(), KindIn(frozenset()), KindIn(frozenset({"x"}))):
        assert (await done(storage, plain(RemoveWhere(HERE, nothing, "cleared")))).removed == ()
    assert len(await storage.events()) == 3


async def test_remove_where_takes_expired_items_without_counting_them(storage: AsyncStorage) -> None:
    """They are no longer there, so they are not among what was removed."""
    await done(storage, plain(put("a", 1), put("gone", 1, expires=storage.clock())))
    outcome = await done(storage, plain(RemoveWhere(HERE, Everything(), "cleared")))
    assert [ref.id for ref in outcome.removed] == ["a"]
    folded = fold(event for _, event in await storage.events())
    assert folded.live == {}
    page = await storage.read(Revisions(TENANT, at("gone")))
    assert [revision.reason for revision in page.rows] == ["stored", "expired"]


async def test_a_fenced_commit_leaves_no_trace(storage: AsyncStorage) -> None:
    """Only `Overtaken` answers for all entries and changes nothing at all."""
    await done(storage, keyed(record("k", put("a", 1)), token=2))
    before = await storage.digest()
    entries = (record("l", put("b", 1)), Entry("k", "forget"), Entry("k", "look"))
    for entry in entries:
        assert await storage.commit(keyed(entry, token=1)) == Overtaken(Fence(0, 2))
    assert await storage.commit(keyed(*entries[:2], token=1)) == Overtaken(Fence(0, 2))
    assert await storage.digest() == before


async def test_a_sealed_scope_answers_every_entry(storage: AsyncStorage) -> None:
    """`Finished` for each, 0 for another seal, and the fence advance commits."""
    await done(storage, keyed(record("k")))
    assert await storage.commit(keyed(Entry(ledger="seal"))) == (Forgot(1),)
    entries = (record("k"), Entry("k", "look"), Entry("k", "forget"))
    assert await storage.commit(keyed(*entries, token=2)) == (Finished(), Finished(), Finished())
    assert await storage.commit(keyed(Entry(ledger="seal"), token=2)) == (Forgot(0),)
    assert await storage.commit(keyed(entries[1])) == Overtaken(Fence(0, 2))


def _us(moment: datetime) -> int:
    return microseconds(moment, "moment")
