# async only
"""Calls that are cancelled while any of their messages is on its way: all or nothing, and nothing stays behind."""

import asyncio
import time
from typing import Any

import pytest
from psycopg.pq import TransactionStatus

import txmemory
from tests.postgres.aio.operations import OPERATIONS, SCOPE, TOKEN, AsyncOperation, prepare, told
from tests.postgres.aio.test_cuts import Calm, undisturbed
from tests.postgres.cutting import cuts
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import AsyncStore, either
from txmemory.testing.clock import FakeClock
from txmemory.testing.faults import Cut, Stall
from txmemory.testing.wire import Message

SECONDS = 30.0
AT_MOST = 2.5
SOME = [each for each in OPERATIONS if each.name in {"write", "replace", "forget", "store"}]


@pytest.mark.parametrize("operation", SOME, ids=str)
async def test_a_call_that_is_cancelled_at_any_message_is_made_or_not_and_leaves_its_connection_clean(
    world: World, operation: AsyncOperation
) -> None:
    """C13: also while the commit is under way; the next call has a connection, and keys answer the truth."""
    clock = FakeClock()
    async with (
        txmemory.open_async(world.direct, clock=clock) as direct,
        txmemory.open_async(world.through, clock=clock, deadline=SECONDS) as store,
    ):
        calm = await undisturbed(world, operation, direct, store)
        points = [cut for cut, _ in cuts(calm.seen) if cut.where in {"before", "reply"}]
        assert len(points) >= 15
        for n, cut in enumerate(points):
            tenant = f"cancelled {operation} {n}"
            await prepare(direct.tenant(tenant))
            try:
                await check(world, operation, (store, direct, tenant), cut, calm)
            except BaseException as error:
                error.add_note(f"{cut}")
                raise
        assert backend(store)._turns._free._value == 1


async def check(
    world: World, operation: AsyncOperation, case: tuple[AsyncStore, AsyncStore, str], cut: Cut, calm: Calm
) -> None:
    store, direct, tenant = case
    world.proxy.cut()
    await store.tenant("nobody").count()
    planned = world.proxy.plan(Stall(cut.on, cut.where, cut.skip))
    task = asyncio.ensure_future(operation.run(store.tenant(tenant)))
    await asyncio.to_thread(planned.wait)
    task.cancel()
    await asyncio.sleep(0)  # it is interrupted now, and the message goes on
    world.proxy.release()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(each.pgconn.transaction_status == TransactionStatus.IDLE for each in backend(store)._idle)
    picture = world.picture(tenant)
    assert picture.items in (calm.before.items, calm.after.items)
    assert picture.ledger in (calm.before.ledger, calm.after.ledger)
    truth = either(await direct.tenant(tenant).writer(SCOPE, TOKEN).applied("key"))
    assert (truth is not None) is ("key" in {key for _, key, _ in picture.ledger})
    assert world.picture(tenant).items == picture.items, "what was cancelled has landed later"
    if operation.resent:
        again = await operation.run(store.tenant(tenant))
        assert told(again) == told(calm.answer)
        assert world.picture(tenant).items == calm.after.items
        assert world.picture(tenant).ledger == calm.after.ledger


async def test_a_cancelled_call_ends_soon_though_the_network_stands_still(world: World) -> None:
    """C13: the server cannot be told either."""
    async with txmemory.open_async(world.through, deadline=SECONDS) as store:
        await store.count()
        planned = world.proxy.plan(Stall(Message("frontend", "Sync"), "reply"))
        task = asyncio.ensure_future(store.count())
        await asyncio.to_thread(planned.wait)
        world.proxy.stall()
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - began
        world.proxy.release()
        assert took <= AT_MOST
        assert not backend(store)._idle
        await store.count()


async def test_a_call_that_is_cancelled_while_it_waits_for_a_lock_frees_what_it_held(world: World) -> None:
    """C13: at once, and not when its own time is up."""
    async with (
        txmemory.open_async(world.direct, deadline=SECONDS) as store,
        txmemory.open_async(world.direct, deadline=SECONDS) as other,
    ):
        tenant = "cancelled waiting"
        await prepare(store.tenant(tenant))
        with world.holding("SELECT 1 FROM txmemory.item WHERE tenant = 'cancelled waiting' FOR UPDATE"):
            task = asyncio.ensure_future(
                store.tenant(tenant).writer("run", 2).write("key", [txmemory.Memory("tea", id="first")])
            )
            await asyncio.to_thread(until, lambda: bool(world.waiting("transactionid")))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            began = time.monotonic()
            assert txmemory.must(await other.tenant(tenant).writer("run", 3).applied("key")) is None
            assert time.monotonic() - began < SECONDS / 2


def backend(store: AsyncStore) -> Any:
    """What keeps the connections."""
    opened: Any = store._handle.backend
    return opened._connections


# end async only
