# Generated from ../aio/test_stalls.py by scripts/generate. Do not edit.
"""A deadline bounds a call whose answer never comes, and the connection on which it is awaited is not used again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from returns.result import Failure

import txmemory
from tests.postgres.sync.operations import OPERATIONS, SCOPE, TOKEN, Operation, Run, prepare, told, write
from tests.postgres.worlds import World
from txmemory import Contended, Memory, OutcomeUnknown, Store, Unavailable, must
from txmemory.model.refusal import Refusal
from txmemory.testing.clock import FakeClock
from txmemory.testing.faults import Stall
from txmemory.testing.wire import Message

DEADLINE = 0.5
AT_MOST = 1.0
TRANSACTION_TIMEOUT = 170_000
SOME = [each for each in OPERATIONS if each.name in {"write", "write many", "replay", "forget", "store"}]
SYNC = Message("frontend", "Sync")


@contextmanager
def stalling(world: World, tenant: str, run: Run) -> Iterator[tuple[Store, Store]]:
    """A prepared tenant through the proxy, on a connection that has made such a call before, and directly."""
    clock = FakeClock()
    with (
        txmemory.open(world.direct, clock=clock) as direct,
        txmemory.open(world.through, clock=clock, deadline=DEADLINE) as store,
    ):
        for each in (f"{tenant}, before", tenant):
            prepare(direct.tenant(each))
        run(store.tenant(f"{tenant}, before"))
        yield store.tenant(tenant), direct.tenant(tenant)
        world.proxy.release()


def binding(world: World) -> set[int]:
    """The connections on which something was asked."""
    return {seen.connection for seen in world.proxy.messages if seen.message.kind == "Bind"}


@pytest.mark.parametrize(
    "stall", [Stall(Message("frontend", "Bind")), Stall(SYNC, "reply")], ids=["it", "its answer"]
)
@pytest.mark.parametrize("operation", SOME, ids=str)
def test_a_call_that_never_arrives_or_is_never_answered_ends_soon_after_its_deadline(
    world: World, operation: Operation, stall: Stall
) -> None:
    """C1: and whoever asks again, on another connection, is told the truth."""
    tenant = f"sync {operation} {stall.where}"
    with stalling(world, tenant, operation.run) as (store, direct):
        before = world.picture(tenant)
        world.proxy.forget()
        planned = world.proxy.plan(stall)
        began = time.monotonic()
        answer = operation.run(store)
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
        again = operation.run(store)
        assert len(stalled) == len(binding(world)) == 1
        assert stalled != binding(world)
        assert not isinstance(again, Refusal)
        if operation.resent and made != before:
            assert world.picture(tenant) == made
        assert told(again) == told(operation.run(direct)) or not operation.resent


def test_a_call_half_of_which_arrives_is_ended_by_the_server_and_changes_nothing(world: World) -> None:
    """C7: the server waits for the rest of the message inside the transaction, and holds its scope."""
    if world.version < TRANSACTION_TIMEOUT:
        pytest.skip("this server does not bound a transaction")
    tenant = "sync half"
    with stalling(world, tenant, write) as (store, direct):
        before = world.picture(tenant)
        planned = world.proxy.plan(Stall(SYNC, "before"))
        answer = write(store)
        planned.wait()
        assert isinstance(answer, Contended | Unavailable)
        assert answer.outcome_unknown
        assert world.picture(tenant) == before
        assert must(direct.writer(SCOPE, TOKEN).applied("key")) is None
        assert {row[1:] for row in world.picture(tenant).ledger} == {("before", 1)}


def test_a_stalled_read_ends_soon_after_its_deadline_and_leaves_its_connection(world: World) -> None:
    """C1: a read has no outcome to be unknown."""
    with stalling(world, "sync read", lambda store: store.count()) as (store, _):
        planned = world.proxy.plan(Stall(SYNC, "reply"))
        began = time.monotonic()
        answer = store.count()
        assert DEADLINE <= time.monotonic() - began <= AT_MOST
        planned.wait()
        assert isinstance(answer.failure(), Contended | Unavailable)
        assert not answer.failure().outcome_unknown
        assert must(store.count()) == 3


def test_a_server_that_takes_connections_and_says_nothing_is_unavailable_at_the_deadline(
    world: World,
) -> None:
    """C10: whatever the call, though the driver itself waits for whole seconds."""
    with stalling(world, "sync silent", write) as (store, direct):
        world.proxy.stall()
        world.proxy.cut()
        for call in (store.count, partial(store.store, Memory("tea")), partial(write, store)):
            began = time.monotonic()
            answer: Any = call()
            assert DEADLINE <= time.monotonic() - began <= AT_MOST
            assert (answer.failure() if isinstance(answer, Failure) else answer) == Unavailable("CONNECTION")
        world.proxy.release()
        assert not isinstance(write(store), Refusal)
        assert must(direct.count()) == 4


def test_a_new_connection_that_is_greeted_and_then_left_alone_ends_its_call_at_the_deadline(
    world: World,
) -> None:
    """C10: before anything of the call was sent."""
    with stalling(world, "sync greeted", write) as (store, _):
        world.proxy.cut()
        planned = world.proxy.plan(Stall(Message("frontend", "Query"), "reply"))
        began = time.monotonic()
        answer = write(store)
        assert DEADLINE <= time.monotonic() - began <= AT_MOST
        planned.wait()
        assert isinstance(answer, Unavailable | Contended)
        assert not answer.outcome_unknown
        world.proxy.release()
        assert not isinstance(write(store), Refusal)
