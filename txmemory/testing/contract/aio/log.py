"""The log: what it says, in which order, and that the state follows from it."""

import zlib
from datetime import timedelta
from functools import partial

from txmemory import AsyncStore, Bounds, Ended, Memory, Outcome, Receipt, either, must
from txmemory.model.address import Address
from txmemory.model.event import Event
from txmemory.model.item import commitment, moment
from txmemory.model.query import Events, Keys, Revisions
from txmemory.rules.fold import fold
from txmemory.rules.recording import outcome_of
from txmemory.testing.aio.asking import OPERATIONS, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.racing import race_async

CLIENTS = 8
STEPS = 25


async def test_the_log_tells_what_happened_and_why(storage: AsyncStorage) -> None:
    """Guarantee 11: kind, key, token, holder, status and effects; a look and a call that did nothing are no event."""
    store = await storage.open()
    writer = store.writer("run", 4, holder="worker")
    await written(writer, "step", "a")
    must(await writer.replace("lost", [], ["gone"]))
    must(await writer.applied("step"))
    must(await store.delete("gone"))
    must(await store.delete("a"))
    must(await writer.forget_applied("absent"))
    must(await writer.forget_applied("step"))
    must(await writer.seal())
    events = [event for _, event in await storage.events()]
    told = [(event.kind, event.key, event.seq, event.token, event.actor, event.status) for event in events]
    assert told == [
        ("record", "step", 1, 4, "worker", "stored"),
        ("record", "lost", 2, 4, "worker", "superseded"),
        ("change", None, None, None, None, "stored"),
        ("forget", "step", 3, 4, "worker", None),
        ("seal", None, 4, 4, "worker", None),
    ]
    effects = [[(e.id, e.revision, e.operation, e.reason) for e in event.effects] for event in events]
    assert effects == [[("a", 1, "put", "stored")], [], [("a", 2, "remove", "deleted")], [], []]


async def test_an_outcome_is_a_function_of_its_event(storage: AsyncStorage) -> None:
    """Guarantee 11: what its call answered follows from the event alone; the ledger copies nothing."""
    store = await storage.open()
    outcomes = await _busy(store, 0, 30)
    events = [event for _, event in await storage.events() if event.kind == "record"]
    assert [outcome_of(event) for event in events] == outcomes


async def test_an_event_commits_to_content_that_it_does_not_hold(storage: AsyncStorage) -> None:
    """Guarantee 11: salt and content of a revision give the event's commitment; equal contents give unequal ones."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a", "b", content="a secret between us")
    effects = [effect for _, event in await storage.events() for effect in event.effects]
    assert len({effect.commitment for effect in effects}) == 2
    for effect in effects:
        page = await storage.read(Revisions("default", Address(effect.namespace, effect.id)))
        (revision,) = page.rows
        assert revision.item is not None
        assert effect.commitment == commitment(revision.salt, revision.item, revision.created_at)
    assert "secret" not in repr(await storage.events())


async def test_the_time_of_record_only_moves_forward(storage: AsyncStorage) -> None:
    """Later than the scope's last event and than every item that it changes, whatever the clock does."""
    store = await storage.open()
    first = (await written(store.writer("run", 1), "step-1", "a")).outcome
    assert first.at == storage.clock()
    storage.clock.advance(-timedelta(days=400))
    second = (await written(store.writer("run", 1), "step-2", "b")).outcome
    assert second.at == first.at + timedelta(microseconds=1)
    third = (await written(store.writer("other", 1), "step-1", "b")).outcome
    assert third.at == second.at + timedelta(microseconds=1)
    assert must(await store.delete("b"))
    assert must(await store.history("b"))[-1].at == third.at + timedelta(microseconds=1)
    unrelated = (await written(store.writer("elsewhere", 1), "step-1", "c")).outcome
    assert unrelated.at == storage.clock()


async def test_a_history_says_when_by_whom_and_why_each_revision_ended(storage: AsyncStorage) -> None:
    """By the next one, a removal by what is stored anew; the newest has not ended."""
    store = await storage.open()
    times = []
    for number, holder in enumerate(["ann", "ben"]):
        storage.clock.advance(timedelta(seconds=1))
        await written(store.writer("run", number, holder=holder), f"step-{number}", "a")
        times.append(storage.clock())
    storage.clock.advance(timedelta(seconds=1))
    assert must(await store.delete("a"))
    times.append(storage.clock())
    storage.clock.advance(timedelta(seconds=1))
    await written(store.writer("run", 1, holder="ben"), "step-3", "a")
    times.append(storage.clock())
    history = must(await store.history("a"))
    assert [entry.at for entry in history] == times
    assert [entry.ended for entry in history] == [
        Ended(times[1], "ben", "stored"),
        Ended(times[2], None, "deleted"),
        Ended(times[3], "ben", "stored"),
        None,
    ]
    assert "ben" not in repr(history)


async def test_delete_and_create_again_go_on_counting(storage: AsyncStorage) -> None:
    """L6: of one id, over deletes, clears, evictions and namespaces of its own."""
    store = await storage.open()
    for turn in range(4):
        assert must(await store.store(Memory("tea", id="a"))).added[0].revision == 2 * turn + 1
        if turn % 2:
            must(await store.delete("a"))
        else:
            must(await store.clear())
    assert must(await store.within("x").store(Memory("tea", id="a"))).added[0].revision == 1


async def test_a_number_is_never_given_twice(storage: AsyncStorage) -> None:
    """L7: neither seq nor a row of the log, also when the newest is gone from ledger and items."""
    store = await storage.open()
    writer = store.writer("run", 1)
    rows: list[int] = []
    for turn in range(1, 6):
        assert (await written(writer, f"step-{turn}", "a")).outcome.seq == 2 * turn - 1
        must(await writer.forget_applied(f"step-{turn}"))
        must(await store.clear())
        log = await storage.events()
        assert [row for row, _ in log[: len(rows)]] == rows
        rows = [row for row, _ in log]
        assert rows == sorted(set(rows))
    must(await writer.seal())
    assert [event.seq for _, event in await storage.events() if event.scope] == list(range(1, 12))


async def test_a_number_is_not_given_again_when_the_newest_event_is_lost(storage: AsyncStorage) -> None:
    """L7: its row is taken away behind the store's back: the next one follows it all the same."""
    store = await storage.open()
    writer = store.writer("run", 1)
    given: list[tuple[int, int | None]] = []
    for turn in range(1, 6):
        await written(writer, f"step-{turn}", "a")
        row, event = (await storage.events())[-1]
        given.append((row, event.seq))
        await storage.lose_newest_event()
        assert await storage.events() == []
    assert [seq for _, seq in given] == [1, 2, 3, 4, 5]
    assert [row for row, _ in given] == sorted({row for row, _ in given})


async def test_a_clear_beside_a_write_ends_it_or_comes_before_it(storage: AsyncStorage) -> None:
    """L11: fold equals state, whichever won."""
    one, two = await storage.open(), await storage.open()

    async def clear() -> object:
        return either(await two.clear())

    for turn in range(40):
        write = partial(written, one.writer("run", 1), f"step-{turn}", f"a-{turn}", "shared")
        receipt, _ = await race_async(write, clear)
        assert isinstance(receipt, Receipt)
        await _check_fold(storage, one)


async def test_every_query_goes_on_behind_its_last_row(storage: AsyncStorage) -> None:
    """Keyset pages of two: no row is left out and none comes twice."""
    store = await storage.open()
    for turn in range(5):
        await written(store.writer("run", 1), f"step-{turn}", "a")
    here = Address(("memories",), "a")
    revisions, rows, keys = [0], [0], [""]
    for _ in range(3):
        history = await storage.read(Revisions("default", here, revisions[-1], 2))
        revisions += (revision.revision for revision in history.rows)
        log = await storage.read(Events("default", rows[-1], 2))
        rows += (row for row, _ in log.rows)
        ledger = await storage.read(Keys("default", "run", keys[-1], 2))
        keys += ledger.rows
        assert {len(page.rows) for page in (history, log, ledger)} == {2 if history.more else 1}
        assert history.more is log.more is ledger.more
    assert revisions == [0, 1, 2, 3, 4, 5]
    assert rows[1:] == [row for row, _ in await storage.events()]
    assert keys == ["", *(f"step-{turn}" for turn in range(5))]


@needs("sharing")
async def test_all_orders_agree_whatever_the_clocks_say(storage: AsyncStorage) -> None:
    """L5: eight clients, clocks an hour apart, replaces, evictions, clears, deletes and re-creates."""
    clocks = [storage.clock.behind(timedelta(hours=client)) for client in range(CLIENTS)]
    stores = [await storage.open(clock=clock) for clock in clocks]
    await race_async(*(partial(_busy, store, client, STEPS) for client, store in enumerate(stores)))
    events = [event for _, event in await storage.events()]
    assert len(events) > CLIENTS * STEPS // 2
    revisions: dict[str, tuple[int, int]] = {}
    scopes: dict[str, tuple[int, int]] = {}
    for event in events:
        for effect in event.effects:
            number, time = revisions.get(effect.id, (0, 0))
            assert effect.revision == number + 1
            assert event.at > time or (event.at == time and event.effects.count(effect) == 1)
            revisions[effect.id] = (effect.revision, event.at)
        if event.scope is not None and event.seq is not None:
            number, time = scopes.get(event.scope, (0, 0))
            assert event.seq == number + 1
            assert event.at > time
            scopes[event.scope] = (event.seq, event.at)
    await _check_fold(storage, stores[0])
    for id in revisions:
        history = must(await stores[0].history(id))
        told = [
            (e.revision, moment(event.at), e.reason) for event in events for e in event.effects if e.id == id
        ]
        assert [(entry.revision, entry.at, entry.reason) for entry in history] == told


async def test_every_operation_of_every_scope_is_in_its_order(storage: AsyncStorage) -> None:
    """Guarantee 12: of racing scopes each one's events stand in the order of its seq."""
    store = await storage.open()

    async def work(scope: int) -> None:
        for turn in range(6):
            for operation in OPERATIONS[:-1]:
                await operation(store.writer(f"run-{scope}", 1), f"{operation.__name__}-{turn}")

    await race_async(*(partial(work, scope) for scope in range(4)))
    seqs: dict[str | None, list[int | None]] = {}
    for _, event in await storage.events():
        seqs.setdefault(event.scope, []).append(event.seq)
    assert seqs == {f"run-{scope}": list(range(1, 25)) for scope in range(4)}


async def _busy(store: AsyncStore, client: int, steps: int) -> list[Outcome]:
    """Replaces, bounded writes, deletes, clears and stores over few ids, in an order fixed by the client's number."""
    writer = store.writer(f"run-{client % 3}", 1)
    outcomes = []
    for step in range(steps):
        chance = zlib.crc32(f"{client} {step}".encode())
        ids = [f"m-{(chance >> shift) % 12}" for shift in (3, 9, 15)]
        key = f"{client}-{step}"
        match chance % 6:
            case 0 | 1:
                receipt = must(await writer.write(key, [Memory(key, id=id) for id in ids]))
                outcomes.append(receipt.outcome)
            case 2:
                known = [memory.id for memory in must(await store.recall(limit=3)) if memory.id != ids[0]]
                receipt = must(await writer.replace(key, [Memory(key, id=ids[0])], known))
                outcomes.append(receipt.outcome)
            case 3:
                receipt = must(await writer.write(key, [Memory(key, id=ids[0])], bounds=Bounds(4)))
                outcomes.append(receipt.outcome)
            case 4:
                must(await store.delete(ids[0]))
            case _ if chance % 5 == 0:
                must(await store.clear())
            case _:
                must(await store.store(Memory(key, id=ids[1])))
    return outcomes


async def _check_fold(storage: AsyncStorage, store: AsyncStore) -> None:
    """What the log implies is what a recall and the ledger answer."""
    events: list[Event] = [event for _, event in await storage.events()]
    folded = fold(events)
    found = {memory.id: memory.revision for memory in must(await store.recall(limit=10_000))}
    assert {address.id: revision for address, revision in folded.live.items()} == found
    for scope, outcomes in folded.applied.items():
        assert must(await store.keys(scope)) == sorted(outcomes)
        for key, outcome in outcomes.items():
            assert must(await store.writer(scope, 1).applied(key)) == outcome
