"""Guarantee 6 on the wire: each message of each operation, cut at each point."""

import time
from dataclasses import dataclass

import pytest

import txmemory
from tests.postgres.aio.operations import OPERATIONS, AsyncOperation, prepare, told
from tests.postgres.cutting import Fate, cuts
from tests.postgres.worlds import Picture, World
from txmemory import AsyncStore, OutcomeUnknown, Receipt, must
from txmemory.model.refusal import Refusal
from txmemory.testing.clock import FakeClock
from txmemory.testing.faults import Cut, Seen

SECONDS = 30.0
"""How long a call may take: only a hang is ever this long."""
LEAST = 45
"""Points an operation has: 19 operations, awaited and blocking, make 1,710."""


@dataclass(frozen=True, slots=True)
class Calm:
    """An operation whose messages all went through."""

    answer: object
    before: Picture
    after: Picture
    seen: tuple[Seen, ...]


def replayed(answer: object) -> bool:
    return isinstance(answer, Receipt) and answer.replayed


async def connected(store: AsyncStore) -> None:
    """Lets the store have a connection on which no commit was prepared yet."""
    must(await store.tenant("nobody").count())


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
async def test_whatever_is_cut_nothing_is_lost_or_doubled_and_only_a_call_without_a_key_is_unknown(
    world: World, operation: AsyncOperation
) -> None:
    """C1, R9: the answer, the rows, and the same call again."""
    clock, tried = FakeClock(), 0
    async with (
        txmemory.open_async(world.direct, clock=clock) as direct,
        txmemory.open_async(world.through, clock=clock, deadline=SECONDS) as store,
    ):
        calm = await undisturbed(world, operation, direct, store)
        for cut, fate in cuts(calm.seen):
            tried += 1
            tenant = f"aio {operation} {tried}"
            await prepare(direct.tenant(tenant))
            try:
                await check(world, operation, store, (tenant, cut, fate), calm)
            except BaseException as error:
                error.add_note(f"{cut}, {fate}")
                raise
    assert tried >= LEAST


async def undisturbed(world: World, operation: AsyncOperation, direct: AsyncStore, store: AsyncStore) -> Calm:
    """How the call goes on a fresh connection when nothing happens to it."""
    tenant = f"aio {operation} calm"
    await prepare(direct.tenant(tenant))
    call = await operation.ready(store.tenant(tenant))
    before = world.picture(tenant)
    world.proxy.cut()
    await connected(store)
    world.proxy.forget()
    answer = await call()
    assert not isinstance(answer, Refusal)
    return Calm(answer, before, world.picture(tenant), world.proxy.messages)


async def check(
    world: World, operation: AsyncOperation, store: AsyncStore, case: tuple[str, Cut, Fate], calm: Calm
) -> None:
    tenant, cut, fate = case
    call = await operation.ready(store.tenant(tenant))
    world.proxy.cut()  # so that each case has the same messages: those of a fresh connection
    await connected(store)
    planned = world.proxy.plan(cut)
    began = time.monotonic()
    answer = await call()
    assert time.monotonic() - began < SECONDS / 2, "this was a hang"
    planned.wait()
    assert world.proxy.counts.messages  # asked under the proxy's lock: by now the connection is cut
    picture = world.picture(tenant)
    if operation.resent or fate == "answered":
        assert told(answer) == told(calm.answer)
        assert picture == calm.after
    else:
        assert answer == OutcomeUnknown()
        possible = {"untouched": [calm.before], "made": [calm.after], "either": [calm.before, calm.after]}
        assert picture in possible[fate]
    again = await call()
    if operation.resent:
        assert told(again) == told(calm.answer)
        assert world.picture(tenant) == calm.after
        if fate == "made":
            assert replayed(answer) or not isinstance(answer, Receipt)
    else:
        assert type(again) is type(calm.answer)
        if fate == "untouched":
            assert again == calm.answer
            assert world.picture(tenant) == calm.after
