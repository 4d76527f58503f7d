"""A deadline bounds a call whose answer never comes, and the connection on which it is awaited is not used again."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from returns.result import Failure

import txmemory
from tests.postgres.aio.operations import OPERATIONS, SCOPE, TOKEN, AsyncOperation, Run, prepare, told, write
from tests.postgres.worlds import World
from txmemory import AsyncStore, Contended, Memory, OutcomeUnknown, Unavailable, must
from txmemory.model.refusal import Refusal
from txmemory.testing.clock import FakeClock
from txmemory.testing.faults import Stall
from txmemory.testing.wire import Message

DEADLINE = 0.5
AT_MOST = 1.0
TRANSACTION_TIMEOUT = 170_000
SOME = [each for each in OPERATIONS if each.name in {"write", "write many", "replay", "forget", "store"}]
SYNC = Message("frontend", "Sync")


@asynccontextmanager
async def stalling(world: World, tenant: str, run: Run) -> AsyncIterator[tuple[AsyncStore, AsyncStore]]:
    """A prepared tenant through the proxy, on a connection that has made such a call before, and directly."""
    clock = FakeClock()
    async with (
        txmemory.open_async(world.direct, clock=clock) as direct,
        txmemory.open_async(world.through, clock=clock, deadline=DEADLINE) as store,
    ):
        for each in (f"{tenant}, before", tenant):
            await prepare(direct.tenant(each))
        await run(store.tenant(f"{tenant}, before"))
        yield store.tenant(tenant), direct.tenant(tenant)
        world.proxy.release()


def binding(world: World) -> set[int]:
    """The connections on which something was asked."""
    return {seen.connection for seen in world.proxy.messages if seen.message.kind == "Bind"}


@pytest.mark.parametrize(
    "stall", [Stall(Message("frontend", "Bind")), Stall(SYNC, "reply")], ids=["it", "its answer"]
)
@pytest.mark.parametrize("operation", SOME, ids=str)
async def test_a_call_that_never_arrives_or_is_never_answered_ends_soon_after_its_deadline(
    world: World, operation: AsyncOperation, stall: Stall
) -> None:
    """C1: and whoever asks again, on another connection, is told the truth."""
    tenant = f"aio {operation} {stall.where}"
    async with stalling(world, tenant, operation.run) as (store, direct):
        before = world.picture(tenant)
        world.proxy.forget()
        planned = world.proxy.plan(stall)
        began = time.monotonic()
        answer = await operation.run(store)
        took = time.monotonic() - began
        planned.wait()
        assert DEADLINE <= took <= AT_MOST
        if operation.resent:
            assert isinstance(answer, Contended | Unavailable)
            assert answer.outcome_unknown
        else:
            assert answer == OutcomeUnknown()
        made = world.picture(tenant)
        assert (made == before) is (stall.where == "before" or operation.name == "replay")
        stalled = binding(world)
        world.proxy.forget()
        again = await operation.run(store)
        assert len(stalled) == len(binding(world)) == 1
        assert stalled != binding(world)
        assert not isinstance(again, Refusal)
        if operation.resent and made != before:
            assert world.picture(tenant) == made
        assert told(again) == told(await operation.run(direct)) or not operation.resent


async def test_a_call_half_of_which_arrives_is_ended_by_the_server_and_changes_nothing(world: World) -> None:
    """C7: the server waits for the rest of the message inside the transaction, and holds its scope."""
    if world.version < TRANSACTION_TIMEOUT:
        pytest.skip("this server does not bound a transaction")
    tenant = "aio half"
    async with stalling(world, tenant, write) as (store, direct):
        before = world.picture(tenant)
        planned = world.proxy.plan(Stall(SYNC, "before"))
        answer = await write(store)
        planned.wait()
        assert isinstance(answer, Contended | Unavailable)
        assert answer.outcome_unknown
        assert world.picture(tenant) == before
        assert must(await direct.writer(SCOPE, TOKEN).applied("key")) is None
        assert {row[1:] for row in world.picture(tenant).ledger} == {("before", 1)}


async def test_a_stalled_read_ends_soon_after_its_deadline_and_leaves_its_connection(world: World) -> None:
    """C1: a read has no outcome to be unknown."""
    async with stalling(world, "aio read", lambda store: store.count()) as (store, _):
        planned = world.proxy.plan(Stall(SYNC, "reply"))
        began = time.monotonic()
        answer = await store.count()
        assert DEADLINE <= time.monotonic() - began <= AT_MOST
        planned.wait()
        assert isinstance(answer.failure(), Contended | Unavailable)
        assert not answer.failure().outcome_unknown
        assert must(await store.count()) == 3


async def test_a_server_that_takes_connections_and_says_nothing_is_unavailable_at_the_deadline(
    world: World,
) -> None:
    """C10: whatever the call, though the driver itself waits for whole seconds."""
    async with stalling(world, "aio silent", write) as (store, direct):
        world.proxy.stall()
        world.proxy.cut()
        for call in (store.count, partial(store.store, Memory("tea")), partial(write, store)):
            began = time.monotonic()
            answer: Any = await call()
            assert DEADLINE <= time.monotonic() - began <= AT_MOST
            assert (answer.failure() if isinstance(answer, Failure) else answer) == Unavailable("CONNECTION")
        world.proxy.release()
        assert not isinstance(await write(store), Refusal)
        assert must(await direct.count()) == 4


async def test_a_new_connection_that_is_greeted_and_then_left_alone_ends_its_call_at_the_deadline(
    world: World,
) -> None:
    """C10: before anything of the call was sent."""
    async with stalling(world, "aio greeted", write) as (store, _):
        world.proxy.cut()
        planned = world.proxy.plan(Stall(Message("frontend", "Query"), "reply"))
        began = time.monotonic()
        answer = await write(store)
        assert DEADLINE <= time.monotonic() - began <= AT_MOST
        planned.wait()
        assert isinstance(answer, Unavailable | Contended)
        assert not answer.outcome_unknown
        world.proxy.release()
        assert not isinstance(await write(store), Refusal)
