"""A deadline bounds all waits of a call together, and what it gave up is not done later."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
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


def locking(rows: str, tenant: str) -> str:
    """What locks these rows of a tenant."""
    return f"SELECT 1 FROM txmemory.{rows} AND tenant = '{tenant}' FOR UPDATE"  # noqa: S608  # constants


@contextmanager
def one_after_the_other(world: World, first: str, second: str, moment: float) -> Iterator[None]:
    """While somebody has locked what two queries find, the first of them until a moment at which somebody waits."""
    with world.holding(second), ExitStack() as held:
        held.enter_context(world.holding(first))

        def release() -> None:
            until(lambda: bool(world.waiting("transactionid")) and time.monotonic() > moment)
            held.close()

        with beside(release):
            yield


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
        first, second = (locking(rows, tenant) for rows in WAITS[waits])
        began = time.monotonic()
        with one_after_the_other(world, first, second, began + SPENT):
            new = [Memory("new", id=id) for id in ("b", "c", "e")]
            answer = await store.writer("run", 1).write("key", new, bounds=Bounds(4))
            assert either(answer) == Contended()
            assert time.monotonic() - began < DEADLINE + SPENT / 2
        assert must(await direct.tenant(tenant).writer("run", 1).applied("key")) is None
        assert {memory.content for memory in must(await direct.tenant(tenant).recall())} == {"old"}


async def test_a_joined_call_that_waits_twice_ends_at_its_deadline(world: World) -> None:
    """C6: by the server alone: the connection is the caller's."""
    tenant = "aio joined waits"
    first, second = (locking(rows, tenant) for rows in WAITS["scope, head"])
    async with (
        txmemory.open_async(world.direct, deadline=DEADLINE) as hasty,
        await psycopg.AsyncConnection.connect(world.direct) as connection,
    ):
        store = hasty.tenant(tenant)
        must(await store.writer("run", 1).write("setup", [Memory("old", id="b")]))
        began = time.monotonic()
        with one_after_the_other(world, first, second, began + SPENT):
            answer = await store.joined(connection).writer("run", 1).write("key", [Memory("new", id="b")])
            assert either(answer) == Contended()
            assert time.monotonic() - began < DEADLINE + SPENT / 2
        await connection.rollback()
