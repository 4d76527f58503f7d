"""Guarantees 3 to 5 and 10: an older holder can neither write, nor look, nor forget, and tokens outlive all else."""

from datetime import timedelta
from functools import partial

import pytest

from txmemory import Fence, Fenced, FenceRequired, Memory, Receipt, Sealed, StaleRevision, either, must
from txmemory.testing.aio.asking import OPERATIONS, contents, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.racing import race_async

LARGEST = 2**63 - 1


async def test_an_older_token_is_refused_and_changes_nothing(storage: AsyncStorage) -> None:
    """F1: tokens 5, 5, 4, 7, 6, 7, for every operation: ok, ok, fenced, ok, fenced, ok."""
    store = await storage.open()
    for place, operation in enumerate(OPERATIONS):
        newest = 0
        for step, token in enumerate((5, 5, 4, 7, 6, 7)):
            before = await storage.digest()
            answer = await operation(store.writer(f"run-{place}", token), f"step-{step}")
            if token < newest:
                assert answer == Fenced(Fence(0, token), Fence(0, newest))
                assert await storage.digest() == before
            else:
                assert not isinstance(answer, Fenced)
                newest = token


async def test_any_operation_of_a_successor_fences_every_operation_of_its_predecessor(
    storage: AsyncStorage,
) -> None:
    """R3, guarantee 3: a mere look-up, a replay or a forget of an absent key is enough."""
    store = await storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"
        await written(store.writer(scope, 1), "done", f"m-{place}")
        await operation(store.writer(scope, 2), "done" if place < 4 else "absent")
        before = await storage.digest()
        for late in OPERATIONS:
            for key in ("done", "new"):
                assert await late(store.writer(scope, 1), key) == Fenced(Fence(0, 1), Fence(0, 2))
        assert await storage.digest() == before


async def test_the_fence_is_of_one_scope_and_one_tenant(storage: AsyncStorage) -> None:
    """A newer token on one scope says nothing about another."""
    store = await storage.open()
    await written(store.writer("run", 9), "step", "a")
    for writer in (store.writer("Run", 1), store.writer("run ", 1), store.tenant("acme").writer("run", 1)):
        assert must(await writer.applied("step")) is None
    assert must(await store.within("deep").writer("run", 9).applied("step")) is not None


async def test_a_stalled_writer_is_fenced_and_never_told_what_was_applied(storage: AsyncStorage) -> None:
    """R6: a step stalls, a successor does it, the stalled one returns and writes and asks."""
    store = await storage.open()
    stalled = store.writer("run", 1, holder="a")
    assert must(await stalled.applied("step")) is None
    await written(store.writer("run", 2, holder="b"), "step", "m", content="tea")
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(await stalled.write("step", [Memory("coffee", id="m")])) == fenced
    assert either(await stalled.applied("step")) == fenced
    assert either(await stalled.write("step", [], on_mismatch="refuse")) == fenced
    assert await contents(store) == {"m": "tea"}
    assert must(await store.applied_count()) == 1


async def test_a_fenced_worker_is_told_so_before_anything_else(storage: AsyncStorage) -> None:
    """R17: whatever is missing, stale, in the way or sealed, it is `Fenced`."""
    store = await storage.open()
    await written(store.writer("run", 2), "step", "a")
    late = store.writer("run", 1)
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(await late.replace("new", [], ["gone"])) == fenced
    assert either(await late.write("new", [], expect={"a": 7})) == fenced
    assert either(await late.write("new", [], expect={"a": None})) == fenced
    must(await store.writer("run", 2).seal())
    assert either(await late.write("new", [])) == fenced
    assert either(await late.applied("step")) == fenced


async def test_racing_first_operations_of_a_scope_leave_the_newest_token(storage: AsyncStorage) -> None:
    """F2: eight tokens on a brand-new scope: it ends at 8, and nobody meets anything but `Fenced`."""
    stores = [await storage.open() for _ in range(4)]
    for turn in range(15):
        scope = f"run-{turn}"
        calls = (
            partial(stores[token % 4].writer(scope, token).write, f"step-{token}", [Memory("tea")])
            for token in range(1, 9)
        )
        answers = [either(result) for result in await race_async(*calls)]
        assert all(isinstance(answer, Fenced | Receipt) for answer in answers)
        assert isinstance(answers[-1], Receipt)
        assert either(await stores[0].writer(scope, 7).applied("x")) == Fenced(Fence(0, 7), Fence(0, 8))
        done = sum(isinstance(answer, Receipt) for answer in answers)
        assert must(await stores[0].applied_count(scope)) == done


async def test_a_predecessor_cannot_land_after_its_successor_has_looked(storage: AsyncStorage) -> None:
    """Guarantees 4 and 5: whatever the race, "not applied" stays true and "applied" was true."""
    old, new = await storage.open(), await storage.open()
    for turn in range(50):
        scope = f"run-{turn}"

        async def look(scope: str = scope) -> object:
            return either(await new.writer(scope, 2).applied("step"))

        async def write(scope: str = scope) -> object:
            return either(await old.writer(scope, 1).write("step", [Memory("tea", id=scope)]))

        wrote, seen = await race_async(write, look)
        if seen is None:
            assert isinstance(wrote, Fenced)
        else:
            assert isinstance(wrote, Receipt)
            assert seen == wrote.outcome
        assert must(await new.exists(scope)) is (seen is not None)


async def test_a_holder_s_own_token_passes_however_often(storage: AsyncStorage) -> None:
    """F6: a thousand ordinary writes do not wear a token out, and seq counts them without gaps."""
    writer = (await storage.open()).writer("run", 3, holder="ada")
    for turn in range(1, 1_001):
        receipt = await written(writer, f"step-{turn}", f"m-{turn}")
        assert (receipt.replayed, receipt.outcome.seq, receipt.outcome.token) == (False, turn, 3)


async def test_refused_and_failed_operations_burn_no_number(storage: AsyncStorage) -> None:
    """F9: after fenced, stale, malformed and sealed-elsewhere calls the next seq is the next."""
    store = await storage.open()
    writer = store.writer("run", 2)
    await written(writer, "step-1", "a")
    assert isinstance(either(await store.writer("run", 1).write("x", [])), Fenced)
    assert either(await writer.write("x", [], expect={"a": 9})) == StaleRevision(9, 1)
    with pytest.raises(TypeError):
        await writer.write("x", ["no memory"])  # type: ignore[list-item]  # the wrong type is the point
    assert must(await writer.applied("x")) is None
    assert not must(await writer.forget_applied("x"))
    assert (await written(writer, "step-2", "b")).outcome.seq == 2
    assert [event.seq for _, event in await storage.events()] == [1, 2]


async def test_the_largest_token_passes_and_a_larger_one_is_refused_when_built(storage: AsyncStorage) -> None:
    """F9: 2^63-1 is stored exactly; 2^63, -1, a bool and a float never reach the store."""
    store = await storage.open()
    before = await storage.digest()
    for token in (2**63, -1):
        with pytest.raises(ValueError):
            store.writer("run", token)
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(TypeError):
            store.writer("run", wrong)  # type: ignore[arg-type]  # the wrong type is the point
    assert await storage.digest() == before
    assert (await written(store.writer("run", LARGEST), "step", "a")).outcome.token == LARGEST
    refused = either(await store.writer("run", LARGEST - 1).applied("step"))
    assert refused == Fenced(Fence(0, LARGEST - 1), Fence(0, LARGEST))
    assert must(await store.writer("zero", 0).applied("step")) is None


async def test_holders_share_a_token_only_if_one_of_them_is_nameless(storage: AsyncStorage) -> None:
    """F11: (5, X), (5, nameless), (5, Y), (6, Y), (6, X): ok, ok and X stays, fenced, ok, fenced."""
    store = await storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"

        async def ask(token: int, holder: str | None, step: int) -> object:
            return await operation(store.writer(scope, token, holder=holder), f"step-{step}")  # noqa: B023  # awaited in its own turn

        assert not isinstance(await ask(5, "X", 1), Fenced)
        assert not isinstance(await ask(5, None, 2), Fenced)
        before = await storage.digest()
        assert await ask(5, "Y", 3) == Fenced(Fence(0, 5), Fence(0, 5))
        assert await storage.digest() == before
        assert not isinstance(await ask(5, "X", 4), Fenced)
        assert not isinstance(await ask(6, "Y", 5), Fenced)
        assert isinstance(await ask(6, "X", 6), Fenced)
        assert not isinstance(await ask(6, "Y", 7), Fenced)


async def test_the_first_name_sticks_and_a_newer_token_may_be_nameless(storage: AsyncStorage) -> None:
    """F11: a nameless token takes the first name; a newer nameless one takes the old name away."""
    store = await storage.open()
    assert must(await store.writer("run", 5).applied("x")) is None
    assert must(await store.writer("run", 5, holder="X").applied("x")) is None
    assert isinstance(either(await store.writer("run", 5, holder="x").applied("x")), Fenced)
    assert must(await store.writer("run", 6).applied("x")) is None
    assert must(await store.writer("run", 6, holder="Y").applied("x")) is None
    assert isinstance(either(await store.writer("run", 6, holder="X").applied("x")), Fenced)


async def test_a_replay_names_the_first_holder_of_a_token(storage: AsyncStorage) -> None:
    """F11: the name sticks also where the first named call only replays what a nameless one did."""
    store = await storage.open()
    first = await written(store.writer("run", 5), "step", "a")
    assert await written(store.writer("run", 5, holder="X"), "step", "a") == Receipt(
        first.outcome, replayed=True
    )
    assert isinstance(either(await store.writer("run", 5, holder="Y").applied("step")), Fenced)


async def test_the_fence_compares_the_generation_before_the_token(storage: AsyncStorage) -> None:
    """Guarantee 3: (1, 0) is newer than (0, 2^63-1), for every operation."""
    store = await storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"
        assert not isinstance(await operation(store.writer(scope, LARGEST), "a"), Fenced)
        assert not isinstance(await operation(store.writer(scope, 0, generation=1), "b"), Fenced)
        before = await storage.digest()
        refused = await operation(store.writer(scope, LARGEST), "c")
        assert refused == Fenced(Fence(0, LARGEST), Fence(1, 0))
        assert await storage.digest() == before


@needs("persistence")
async def test_tokens_survive_clear_a_restart_and_time(storage: AsyncStorage) -> None:
    """F4, guarantee 10: the fence only ever grows."""
    store = await storage.open()
    await written(store.writer("run", 7, holder="ada"), "step", "a")
    must(await store.clear())
    must(await store.writer("run", 7).forget_applied("step"))
    await store.close()
    storage.clock.advance(timedelta(days=4_000))
    store = await storage.open()
    assert either(await store.writer("run", 6).applied("step")) == Fenced(Fence(0, 6), Fence(0, 7))
    assert isinstance(either(await store.writer("run", 7, holder="bob").applied("step")), Fenced)
    assert must(await store.writer("run", 7, holder="ada").applied("step")) is None


@needs("persistence")
async def test_a_successor_that_only_looked_still_fences_after_a_restart(storage: AsyncStorage) -> None:
    """F5: its look-up was a commit."""
    store = await storage.open()
    must(await store.writer("run", 2).applied("step"))
    await store.close()
    store = await storage.open()
    assert isinstance(either(await store.writer("run", 1).write("step", [])), Fenced)


async def test_a_late_key_of_a_sealed_scope_is_refused_and_never_executed_again(
    storage: AsyncStorage,
) -> None:
    """Guarantee 10: its keys are gone, so every keyed call but a seal is `Sealed`."""
    store = await storage.open()
    writer = store.writer("run", 2)
    await written(writer, "step-1", "a")
    await written(writer, "step-2", "b")
    assert must(await writer.seal()) == 2
    assert must(await store.applied_count("run")) == 0
    before = await storage.digest()
    assert either(await writer.write("step-1", [Memory("tea", id="a")])) == Sealed()
    assert either(await writer.replace("step-3", [], ["a"])) == Sealed()
    assert [either(one) for one in must(await writer.write_many([("x", []), ("step-2", [])]))] == [
        Sealed(),
        Sealed(),
    ]
    assert either(await writer.applied("step-1")) == Sealed()
    assert either(await writer.forget_applied("step-1")) == Sealed()
    assert must(await writer.seal()) == 0
    assert isinstance(either(await store.writer("run", 1).seal()), Fenced)
    assert await storage.digest() == before
    assert set(await contents(store)) == {"a", "b"}
    assert [event.kind for _, event in await storage.events()] == ["record", "record", "seal"]


async def test_a_newer_token_moves_the_fence_of_a_sealed_scope(storage: AsyncStorage) -> None:
    """Guarantee 3: a refusal found behind the fence still commits the fence."""
    store = await storage.open()
    must(await store.writer("run", 1).seal())
    assert either(await store.writer("run", 3).applied("step")) == Sealed()
    assert either(await store.writer("run", 2).applied("step")) == Fenced(Fence(0, 2), Fence(0, 3))


async def test_what_is_refused_behind_the_fence_has_moved_it(storage: AsyncStorage) -> None:
    """Stale, existing, reused and superseded calls with a newer token fence older ones."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    token = 1
    for refused in (
        partial(store.writer("run", 2).write, "x", [], expect={"a": 9}),
        partial(store.writer("run", 3).write, "x", [], expect={"a": None}),
        partial(store.writer("run", 4).write, "step", [], on_mismatch="refuse"),
        partial(store.writer("run", 5).replace, "y", [], ["gone"]),
    ):
        await refused()
        token += 1
        answer = either(await store.writer("run", token - 1).applied("x"))
        assert answer == Fenced(Fence(0, token - 1), Fence(0, token))


async def test_a_store_that_requires_fences_refuses_plain_calls(storage: AsyncStorage) -> None:
    """`FenceRequired`, nothing changed; reads and writers work, and wrong arguments come first."""
    store = await storage.open(require_fence=True)
    await written(store.writer("run", 1), "step", "a")
    before = await storage.digest()
    assert either(await store.store(Memory("tea"))) == FenceRequired()
    assert either(await store.delete("a")) == FenceRequired()
    assert either(await store.within("deep").tenant("acme").clear()) == FenceRequired()
    with pytest.raises(ValueError):
        await store.delete("")
    assert await storage.digest() == before
    assert must(await store.count()) == 1
