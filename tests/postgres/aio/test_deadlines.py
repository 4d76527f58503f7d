"""A deadline bounds all waits of a call together, and what it gave up is not done later."""

import time
from contextlib import ExitStack

import pytest

import txmemory
from tests.postgres.trouble import beside
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Bounds, Contended, Memory, either, must

DEADLINE = 1.0
SPENT = 0.7
"""Seconds of it that the first wait takes."""

WAITS = {
    "scope, head": ("scope WHERE scope = 'run'", "item WHERE id = 'b'"),
    "scope, namespace": ("scope WHERE scope = 'run'", "namespace WHERE namespace <> ''"),
    "head, victim": ("item WHERE id = 'b'", "item WHERE id = 'a'"),
    "head, head": ("item WHERE id = 'b'", "item WHERE id = 'c'"),
}


@pytest.mark.parametrize("waits", WAITS)
async def test_a_call_that_waits_twice_ends_at_its_deadline_and_is_not_done_later(
    world: World, waits: str
) -> None:
    """C6: it says that nothing was done, as it was."""
    tenant = f"aio waits {waits}"
    async with (
        txmemory.open_async(world.direct) as direct,
        txmemory.open_async(world.direct, deadline=DEADLINE) as hasty,
    ):
        store = hasty.tenant(tenant)
        old = [Memory("old", id=id) for id in ("a", "b", "c", "d")]
        must(await direct.tenant(tenant).writer("run", 1).write("setup", old, bounds=Bounds(4)))
        must(await store.count())
        first, second = (
            f"SELECT 1 FROM txmemory.{rows} AND tenant = '{tenant}' FOR UPDATE"  # noqa: S608  # constants
            for rows in WAITS[waits]
        )
        began = time.monotonic()
        with world.holding(second), ExitStack() as held:
            held.enter_context(world.holding(first))

            def release() -> None:
                until(lambda: bool(world.waiting("transactionid")) and time.monotonic() > began + SPENT)
                held.close()

            with beside(release):
                new = [Memory("new", id=id) for id in ("b", "c", "e")]
                answer = await store.writer("run", 1).write("key", new, bounds=Bounds(4))
            assert either(answer) == Contended()
            assert time.monotonic() - began < 2 * DEADLINE
        assert must(await direct.tenant(tenant).writer("run", 1).applied("key")) is None
        assert {memory.content for memory in must(await direct.tenant(tenant).recall())} == {"old"}
