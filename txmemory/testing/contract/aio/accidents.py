"""Guarantees 6 and 8, and what happens to a call while its store is closed or its arguments take long."""

from collections.abc import Iterator
from functools import partial

import pytest

from txmemory import (
    AsyncStore,
    AsyncWriter,
    Closed,
    Fence,
    Fenced,
    Memory,
    OutcomeUnknown,
    Receipt,
    Sealed,
    Unavailable,
    either,
    must,
)
from txmemory.port import Busy, Down
from txmemory.testing.aio.asking import OPERATIONS, contents, written
from txmemory.testing.aio.faults import AsyncLosing
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.racing import elsewhere_async, race_async


async def test_the_answer_after_a_lost_commit_is_the_one_that_was_lost(storage: AsyncStorage) -> None:
    """R9, C2: up to three losses; the outcome is that of the first attempt, of a replace too."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    writer = store.writer("run", 1)
    for losses in range(4):
        id = f"m-{losses}"
        backend.losses = losses
        first = await written(writer, f"write-{losses}", id)
        assert first.replayed is (losses > 0)
        assert not first.diverged
        backend.losses = losses
        second = must(await writer.replace(f"replace-{losses}", [], [id]))
        assert second.outcome.status == "stored"
        assert must(await writer.applied(f"write-{losses}")) == first.outcome
        assert must(await writer.applied(f"replace-{losses}")) == second.outcome
        assert [entry.revision for entry in must(await store.history(id))] == [1, 2]
        backend.losses = losses
        many = must(await writer.write_many([(f"many-{losses}", [Memory("tea")]), (f"more-{losses}", [])]))
        assert [must(receipt).replayed for receipt in many] == [losses > 0, losses > 0]
    assert len(await storage.events()) == 16


async def test_after_a_lost_commit_a_lock_changes_nothing_about_its_outcome(storage: AsyncStorage) -> None:
    """C2: an attempt commits unseen, the next ones meet locks and a server that is away; of a replacement too."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    writer = store.writer("run", 1)
    await written(writer, "setup", "a", "b")
    calls = (
        partial(writer.write, "write", [Memory("tea", id="c")]),
        partial(writer.replace, "replace", [], ["a", "b"]),
    )
    for call in calls:
        backend.losses, backend.faults = 1, [Busy("40001"), Down("AWAY", passing=True), Busy("40P01")]
        receipt = must(await call())
        assert not backend.faults
        assert receipt.replayed
        assert receipt.outcome.status == "stored"
    assert [event.key for _, event in await storage.events()] == ["setup", "write", "replace"]
    assert set(await contents(store)) == {"c"}


async def test_only_a_database_that_will_soon_be_back_is_asked_again(storage: AsyncStorage) -> None:
    """Guarantee 6: calls without a key too, since nothing was done; after a loss the refusal says that too."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    backend.faults = [Down("AWAY", passing=True), Down("AWAY", passing=True)]
    assert must(await store.store(Memory("tea", id="a"))).status == "stored"
    backend.faults = [Down("FULL"), Down("FULL")]
    assert either(await store.store(Memory("tea", id="a"))) == Unavailable("FULL")
    assert len(backend.faults) == 1
    backend.losses, backend.faults = 1, [Down("AWAY", passing=True), Down("FULL")]
    lost = either(await store.writer("run", 1).write("key", [Memory("tea", id="b")]))
    assert lost == Unavailable("FULL", outcome_unknown=True)
    assert must(await store.writer("run", 1).write("key", [Memory("tea", id="b")])).replayed
    assert [entry.revision for entry in must(await store.history("a"))] == [1]


async def test_a_lost_commit_without_a_key_is_unknown_and_made_once(storage: AsyncStorage) -> None:
    """Guarantee 6: never retried by us; forget and seal neither."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    writer = store.writer("run", 1)
    await written(writer, "step", "a", "b", "c")
    for call in (
        partial(store.store, Memory("tea", id="new")),
        partial(store.delete, "a"),
        partial(writer.forget_applied, "step"),
        writer.seal,
        store.clear,
    ):
        backend.losses = 1
        assert either(await call()) == OutcomeUnknown()
    assert [entry.revision for entry in must(await store.history("new"))] == [1, 2]
    assert [event.kind for _, event in await storage.events()] == [
        "record",
        "change",
        "change",
        "forget",
        "seal",
        "change",
    ]


async def test_a_lost_commit_whose_retry_is_fenced_says_that_it_is_unknown(storage: AsyncStorage) -> None:
    """R18: a successor takes over between the attempts: not "not applied"."""

    async def take_over() -> object:
        return must(await successor.applied("step"))

    backend = AsyncLosing(await storage.backend(), take_over)
    successor = (await storage.open()).writer("run", 2)
    backend.losses = 1
    answer = either(await backend.store().writer("run", 1).write("step", [Memory("tea", id="a")]))
    assert answer == Fenced(Fence(0, 1), Fence(0, 2), outcome_unknown=True)
    assert must(await successor.applied("step")) is not None
    late = either(await backend.store().writer("run", 1).write("step", [Memory("tea", id="a")]))
    assert late == Fenced(Fence(0, 1), Fence(0, 2))


async def test_a_lost_commit_whose_scope_is_sealed_before_the_retry_says_that_it_is_unknown(
    storage: AsyncStorage,
) -> None:
    """Guarantee 6: the holder itself finishes the scope between the attempts: not "not applied" either."""
    other, scopes = await storage.open(), iter(("write", "replace", "look", "many"))

    async def seal() -> object:
        return must(await other.writer(next(scopes), 1).seal())

    backend = AsyncLosing(await storage.backend(), seal)
    store = backend.store()
    unknown, tea = Sealed(outcome_unknown=True), Memory("tea", id="a")
    backend.losses = 1
    assert either(await store.writer("write", 1).write("step", [tea])) == unknown
    backend.losses = 1
    assert either(await store.writer("replace", 1).replace("step", [], ["a"])) == unknown
    backend.losses = 1
    assert either(await store.writer("look", 1).applied("step")) == unknown
    backend.losses = 1
    many = must(await store.writer("many", 1).write_many([("step", [tea]), ("more", [])]))
    assert [either(one) for one in many] == [unknown, unknown]
    assert [entry.revision for entry in must(await other.history("a"))] == [1, 2, 3]
    for scope in ("write", "replace", "look", "many"):
        late = either(await store.writer(scope, 1).write("step", [tea]))
        assert late == Sealed()
        assert late != unknown


async def test_arguments_are_consumed_before_any_transaction(storage: AsyncStorage) -> None:
    """C8: while a slow generator of memories, sources or writes is running, others commit."""
    store = await storage.open()
    writer = store.writer("run", 1)
    await written(writer, "setup", "s-0", "s-1", "s-2", "s-3")

    async def beside() -> None:
        other = await storage.open()
        must(
            await other.writer("run", 1).write(
                f"{len(must(await other.keys('run')))}", [Memory("x", id="beside")]
            )
        )

    def memories(*ids: str) -> Iterator[Memory]:
        for id in ids:
            elsewhere_async(beside)
            yield Memory("tea", id=id)

    def sources() -> Iterator[str]:
        for id in ("s-0", "s-1"):
            elsewhere_async(beside)
            yield id

    def writes() -> Iterator[tuple[str, Iterator[Memory]]]:
        for key in ("many-1", "many-2"):
            elsewhere_async(beside)
            yield key, memories(f"{key}-a")

    must(await writer.write("write", memories("a", "b")))
    must(await writer.replace("replace", memories("c"), sources()))
    must(await writer.write_many(writes()))
    expected = {"a", "b", "c", "beside", "s-2", "s-3", "many-1-a", "many-2-a"}
    assert set(await contents(store)) == expected
    keys = [event.key for _, event in await storage.events() if not (event.key or "").isdecimal()]
    assert keys == ["setup", "write", "replace", "many-1", "many-2"]
    assert len(await storage.events()) == 5 + 9


async def test_an_argument_that_raises_leaves_nothing_behind(storage: AsyncStorage) -> None:
    """What the caller's own iterable raises is the caller's; the fence is unmoved."""
    store = await storage.open()
    before = await storage.digest()

    def failing() -> Iterator[Memory]:
        yield Memory("tea")
        raise LookupError("the caller's own")

    with pytest.raises(LookupError):
        await store.writer("run", 1).write("step", failing())
    assert await storage.digest() == before


async def test_a_closed_store_refuses_every_call_by_name(storage: AsyncStorage) -> None:
    """C14: through every handle made before or after; closing again is fine."""
    store = await storage.open()
    writer = store.writer("run", 1)
    await written(writer, "step", "a")
    await store.close()
    await store.close()
    for handle in (store, store.within("x"), store.tenant("acme")):
        for call in (
            partial(handle.store, Memory("tea")),
            partial(handle.delete, "a"),
            handle.clear,
            partial(handle.get, "a"),
            partial(handle.exists, "a"),
            handle.recall,
            handle.count,
            partial(handle.history, "a"),
            partial(handle.keys, "run"),
            handle.applied_count,
        ):
            with pytest.raises(Closed):
                await call()
    for late in (writer, store.writer("run", 2)):
        for operation in OPERATIONS:
            with pytest.raises(Closed):
                await operation(late, "step")


async def test_a_store_closes_itself_when_its_block_ends(storage: AsyncStorage) -> None:
    """C14: also when the block ends by an exception."""
    store = await storage.open()

    async def block() -> None:
        async with store as entered:
            assert entered is store
            raise LookupError("the caller's own")

    with pytest.raises(LookupError):
        await block()
    with pytest.raises(Closed):
        await store.count()


async def test_closing_beside_writes_finishes_or_refuses_each(storage: AsyncStorage) -> None:
    """C14: what was answered is there, what was refused is not; nobody hangs, nobody meets another error."""

    async def write(writer: AsyncWriter, key: str) -> Receipt | None:
        try:
            return await written(writer, key, key)
        except Closed:
            return None

    ends_with_its_store = "persistence" in storage.lacks
    for turn in range(1 if ends_with_its_store else 10):
        store = (await storage.open()).within(f"{turn}")
        calls = [partial(write, store.writer(f"run-{turn}-{n % 3}", 1), f"step-{n}") for n in range(12)]
        answers = await race_async(*calls[:6], partial(_close, store), *calls[6:])
        receipts = [*answers[:6], *answers[7:]]
        for scope in range(3):
            seqs = sorted(receipt.outcome.seq or 0 for receipt in receipts[scope::3] if receipt is not None)
            assert seqs == list(range(1, len(seqs) + 1)), "a write that was refused has taken a number"
        with pytest.raises(Closed):
            await store.count()
        if not ends_with_its_store:
            stored = {f"step-{n}" for n, receipt in enumerate(receipts) if receipt is not None}
            effects = [effect for _, event in await storage.events() for effect in event.effects]
            assert {effect.id for effect in effects if effect.namespace[-1] == f"{turn}"} == stored


async def _close(store: AsyncStore) -> None:
    await store.close()
