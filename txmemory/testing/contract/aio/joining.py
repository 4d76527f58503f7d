"""A store inside a caller's own transaction: both commit together, or neither does."""

import pytest

from txmemory import (
    AlreadyExists,
    Bounds,
    Closed,
    Contended,
    Fence,
    Fenced,
    FenceRequired,
    Memory,
    StaleRevision,
    either,
    must,
)
from txmemory.testing.aio.asking import OPERATIONS, contents, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs

SHORT = 1.0
"""The deadline of a store whose call is to wait in vain."""


@needs("joining")
async def test_a_joined_write_is_there_for_others_once_its_caller_commits(storage: AsyncStorage) -> None:
    """Nobody sees a part of it before; the transaction itself sees all of it."""
    store, caller = await storage.open(), await storage.caller()
    await caller.begin()
    await caller.note("step-1")
    joined = store.joined(caller.connection)
    receipt = await written(joined.writer("run", 1), "step-1", "a", "b")
    assert (receipt.outcome.seq, receipt.replayed) == (1, False)
    assert await contents(joined) == {"a": "tea", "b": "tea"}
    assert must(await joined.keys("run")) == ["step-1"]
    assert must(await joined.count()) == 2
    assert [entry.revision for entry in must(await joined.history("a"))] == [1]
    assert await contents(store) == {}
    assert must(await store.keys("run")) == []
    assert await storage.events() == []
    await caller.commit()
    assert await contents(store) == {"a": "tea", "b": "tea"}
    assert must(await store.writer("run", 1).applied("step-1")) == receipt.outcome
    assert await caller.notes() == ["step-1"]


@needs("joining")
async def test_of_a_joined_transaction_that_is_rolled_back_nothing_remains(storage: AsyncStorage) -> None:
    """No key, no memory, no event, no place in the scope's order, and the fence stands where it stood."""
    store, caller = await storage.open(), await storage.caller()
    await written(store.writer("run", 3), "before", "a")
    for operation in OPERATIONS:
        before = await storage.digest()
        await caller.begin()
        await caller.note("step")
        joined = store.joined(caller.connection)
        await operation(joined.writer("run", 8), "step")
        await operation(joined.writer("another run", 8), "step")
        must(await joined.store(Memory("coffee", id="a")))
        must(await joined.clear())
        await caller.roll_back()
        assert await storage.digest() == before, operation.__name__
    after = await written(store.writer("run", 3), "after", "b")
    assert after.outcome.seq == 2
    assert (await written(store.writer("another run", 1), "first", "c")).outcome.seq == 1


@needs("joining")
async def test_a_token_that_was_raised_is_raised_for_others_only_by_the_caller_s_commit(
    storage: AsyncStorage,
) -> None:
    """Rolled back, the older one still passes; committed, it is fenced, though all that happened was a look."""
    store, caller = await storage.open(), await storage.caller()
    await caller.begin()
    assert must(await store.joined(caller.connection).writer("run", 9).applied("step")) is None
    await caller.roll_back()
    await written(store.writer("run", 4), "step", "a")
    await caller.begin()
    assert must(await store.joined(caller.connection).writer("run", 9).applied("step")) is not None
    await caller.commit()
    assert either(await store.writer("run", 4).applied("step")) == Fenced(Fence(0, 4), Fence(0, 9))


@needs("joining")
async def test_a_replay_in_a_joined_transaction_answers_the_recorded_outcome(storage: AsyncStorage) -> None:
    """Recorded outside, in an earlier transaction or in this one; it writes nothing."""
    store, caller = await storage.open(), await storage.caller()
    outside = await written(store.writer("run", 1), "outside", "a")
    await caller.begin()
    joined = store.joined(caller.connection)
    inside = await written(joined.writer("run", 1), "inside", "b")
    await caller.commit()
    before = await storage.digest()
    await caller.begin()
    for key, first in (("outside", outside), ("inside", inside)):
        again = must(await joined.writer("run", 1).write(key, [Memory("coffee", id="a")]))
        assert (again.replayed, again.diverged, again.outcome) == (True, True, first.outcome)
    await caller.commit()
    assert await storage.digest() == before
    await caller.begin()
    here = await written(joined.writer("run", 1), "here", "c")
    assert (await written(joined.writer("run", 1), "here", "c")).outcome == here.outcome
    await caller.commit()
    assert len(await storage.events()) == 3


@needs("joining")
async def test_a_refusal_leaves_the_caller_s_transaction_to_the_caller(storage: AsyncStorage) -> None:
    """Fenced, a stale revision: what the caller did itself commits, and so does a raised fence."""
    store, caller = await storage.open(), await storage.caller()
    await written(store.writer("run", 5), "step", "a")
    before = await storage.events()
    await caller.begin()
    await caller.note("mine")
    joined = store.joined(caller.connection)
    late = await joined.writer("run", 4).write("late", [Memory("coffee", id="b")])
    assert either(late) == Fenced(Fence(0, 4), Fence(0, 5))
    stale = await joined.writer("run", 6).write("stale", [Memory("coffee", id="a")], expect={"a": 7})
    assert either(stale) == StaleRevision(7, 1, "a")
    await caller.note("and mine")
    await caller.commit()
    assert await caller.notes() == ["and mine", "mine"]
    assert await contents(store) == {"a": "tea"}
    assert await storage.events() == before
    assert either(await store.writer("run", 5).applied("step")) == Fenced(Fence(0, 5), Fence(0, 6))


@needs("joining")
async def test_two_joined_transactions_on_one_scope_are_serial(storage: AsyncStorage) -> None:
    """The second cannot pass the first; told that it is contended, it has changed nothing, and comes again."""
    store, hasty = await storage.open(), await storage.open(deadline=SHORT)
    first, second = await storage.caller(), await storage.caller()
    await first.begin()
    await written(store.joined(first.connection).writer("run", 1), "first", "a")
    await second.begin()
    met = await hasty.joined(second.connection).writer("run", 1).write("second", [Memory("tea", id="b")])
    assert either(met) == Contended()
    await second.roll_back()
    await first.commit()
    await second.begin()
    await second.note("second")
    receipt = await written(hasty.joined(second.connection).writer("run", 1), "second", "b")
    await second.commit()
    assert receipt.outcome.seq == 2
    assert [event.key for _, event in await storage.events()] == ["first", "second"]


@needs("joining")
async def test_of_two_writes_that_each_expect_the_other_s_not_to_be_there_one_is_made(
    storage: AsyncStorage,
) -> None:
    """What a guard found missing stays so until its transaction ends; nothing is left of having looked."""
    store, hasty = await storage.open(), await storage.open(deadline=SHORT)
    caller = await storage.caller()
    await caller.begin()
    joined = store.joined(caller.connection).writer("run", 1)
    must(await joined.write("step", [Memory("tea", id="b")], expect={"a": None}))
    other = hasty.writer("another run", 1)
    late = await other.write("step", [Memory("tea", id="a")], expect={"b": None})
    assert either(late) == Contended()
    await caller.commit()
    late = await other.write("step", [Memory("tea", id="a")], expect={"b": None})
    assert either(late) == AlreadyExists(1, "b")
    assert await contents(store) == {"b": "tea"}
    await written(other, "next", "a")
    assert [entry.revision for entry in must(await store.history("a"))] == [1]


@needs("joining")
async def test_a_store_beside_a_joined_transaction_neither_sees_nor_passes_it(storage: AsyncStorage) -> None:
    """It waits in vain, and finds its key applied once the caller has committed."""
    store, hasty = await storage.open(), await storage.open(deadline=SHORT)
    caller = await storage.caller()
    await caller.begin()
    await written(store.joined(caller.connection).writer("run", 1), "step", "a")
    late = await hasty.writer("run", 1).write("step", [Memory("coffee", id="b")])
    assert either(late) == Contended()
    await caller.commit()
    again = must(await hasty.writer("run", 1).write("step", [Memory("coffee", id="b")]))
    assert (again.replayed, again.diverged) == (True, True)
    assert await contents(store) == {"a": "tea"}


@needs("joining")
async def test_a_joined_handle_stands_where_its_store_stands(storage: AsyncStorage) -> None:
    """Tenant, namespace, bounds and the need for a fence are those of the handle that it was made from."""
    store, caller = await storage.open(require_fence=True), await storage.caller()
    ada = store.tenant("acme").within("users", "ada", bounds=Bounds(max_memories=2))
    await caller.begin()
    joined = ada.joined(caller.connection)
    assert either(await joined.store(Memory("tea"))) == FenceRequired()
    for key in ("a", "b", "c"):
        await written(joined.writer("run", 1), key, key)
    await written(joined.within("deeper").writer("run", 1), "d", "d")
    await caller.commit()
    assert sorted(await contents(ada)) == ["b", "c"]
    assert sorted(await contents(ada.within("deeper"))) == ["d"]
    assert await contents(store) == {}
    assert must(await store.keys("run")) == []


@needs("joining")
async def test_closing_a_joined_handle_closes_nothing_of_the_caller_s(storage: AsyncStorage) -> None:
    """Neither the connection nor the transaction nor the store; the handle itself is closed."""
    store, caller = await storage.open(), await storage.caller()
    await caller.begin()
    async with store.joined(caller.connection) as joined:
        await written(joined.writer("run", 1), "step", "a")
    with pytest.raises(Closed):
        await joined.count()
    with pytest.raises(Closed):
        await joined.writer("run", 1).write("other", [])
    await caller.note("still here")
    await caller.commit()
    assert await contents(store) == {"a": "tea"}
    assert await caller.notes() == ["still here"]


@needs("joining")
async def test_a_joined_write_never_begins_a_transaction_of_its_own(storage: AsyncStorage) -> None:
    """Before one, behind one and on something else it is refused, and nothing happens."""
    store, caller = await storage.open(), await storage.caller()
    before = await storage.digest()
    with pytest.raises(ValueError, match="begin one"):
        store.joined(caller.connection)
    await caller.begin()
    joined = store.joined(caller.connection)
    await caller.roll_back()
    with pytest.raises(ValueError, match="begin one"):
        await joined.writer("run", 1).write("step", [Memory("tea")])
    with pytest.raises(ValueError, match="begin one"):
        await joined.count()
    with pytest.raises(TypeError, match="joins a"):
        store.joined(object())
    assert await storage.digest() == before
    await store.close()
    with pytest.raises(Closed):
        store.joined(caller.connection)
