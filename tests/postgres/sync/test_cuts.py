# Generated from ../aio/test_cuts.py by scripts/generate. Do not edit.
"""Guarantee 6 on the wire: each message of each operation, cut at each point."""

import time
from dataclasses import dataclass

import pytest

import txmemory
from tests.postgres.cutting import Fate, cuts
from tests.postgres.sync.operations import OPERATIONS, Operation, prepare, told
from tests.postgres.worlds import Picture, World
from txmemory import OutcomeUnknown, Receipt, Store, must
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


def connected(store: Store) -> None:
    """Lets the store have a connection on which no commit was prepared yet."""
    must(store.tenant("nobody").count())


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_whatever_is_cut_nothing_is_lost_or_doubled_and_only_a_call_without_a_key_is_unknown(
    world: World, operation: Operation
) -> None:
    """C1, R9: the answer, the rows, and the same call again."""
    clock, tried = FakeClock(), 0
    with (
        txmemory.open(world.direct, clock=clock) as direct,
        txmemory.open(world.through, clock=clock, deadline=SECONDS) as store,
    ):
        calm = undisturbed(world, operation, direct, store)
        for cut, fate in cuts(calm.seen):
            tried += 1
            tenant = f"sync {operation} {tried}"
            prepare(direct.tenant(tenant))
            try:
                check(world, operation, store, (tenant, cut, fate), calm)
            except BaseException as error:
                error.add_note(f"{cut}, {fate}")
                raise
    assert tried >= LEAST


def undisturbed(world: World, operation: Operation, direct: Store, store: Store) -> Calm:
    """How the call goes on a fresh connection when nothing happens to it."""
    tenant = f"sync {operation} calm"
    prepare(direct.tenant(tenant))
    call = operation.ready(store.tenant(tenant))
    before = world.picture(tenant)
    world.proxy.cut()
    connected(store)
    world.proxy.forget()
    answer = call()
    assert not isinstance(answer, Refusal)
    return Calm(answer, before, world.picture(tenant), world.proxy.messages)


def check(world: World, operation: Operation, store: Store, case: tuple[str, Cut, Fate], calm: Calm) -> None:
    tenant, cut, fate = case
    call = operation.ready(store.tenant(tenant))
    world.proxy.cut()  # so that each case has the same messages: those of a fresh connection
    connected(store)
    planned = world.proxy.plan(cut)
    began = time.monotonic()
    answer = call()
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
    again = call()
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
