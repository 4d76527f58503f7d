"""What befalls servers and connections: a store recovers unaided, and keeps what it has acknowledged."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import txmemory
from tests.postgres.aio.operations import prepare
from tests.postgres.trouble import TROUBLES, Trouble, beside
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import (
    AsyncStore,
    Contended,
    Memory,
    Outcome,
    OutcomeUnknown,
    Receipt,
    Unavailable,
    either,
    must,
)
from txmemory.testing.racing import race_async

SECONDS = 30.0
AT_ONCE = SECONDS / 2
"""What is answered before this has not waited for the deadline."""
WORKERS = 4


@pytest.fixture
def writable(world: World) -> Iterator[World]:
    """A database that is writable again afterwards."""
    yield world
    world.do(f"ALTER DATABASE {world.database} RESET default_transaction_read_only")


def lose_connections(world: World) -> None:
    """Ends every connection to the database, as a failover does."""
    for pid in world.others():
        world.server.terminate(pid)


async def keep_writing(store: AsyncStore, worker: int, trouble: Trouble) -> list[object]:
    """A keyed write and a plain one in turn, each of a memory of its own, until the trouble is over."""
    writer = store.writer(f"run-{worker}", 1)
    answers: list[object] = []
    while not trouble.over:
        n = len(answers)
        memory = Memory("tea", id=f"{worker}-{n}")
        if n % 2:
            answers.append(either(await store.store(memory)))
        else:
            answers.append(either(await writer.write(f"{n}", [memory])))
        trouble.answers.append(answers[-1])
    return answers


@pytest.mark.parametrize("kind", TROUBLES)
async def test_whatever_happens_under_load_a_store_recovers_and_loses_and_doubles_nothing(
    own_world: World, kind: str
) -> None:
    """C10: restarted in order and at once, connections terminated and cut at random."""
    trouble = Trouble(own_world, TROUBLES[kind], seed=7)
    url = own_world.through.replace("pool_size=1", f"pool_size={WORKERS}")
    async with txmemory.open_async(url, deadline=SECONDS) as store:
        with trouble.happening():
            answers = await race_async(
                *(partial(keep_writing, store, worker, trouble) for worker in range(WORKERS))
            )
        must(await store.writer("afterwards", 1).write("key", []))
    picture = own_world.picture()
    revisions = {id: revision for _, id, _, revision in picture.items}
    assert set(revisions.values()) == {1}, "something was made twice"
    applied = {(scope, key) for scope, key, _ in picture.ledger}
    for worker, told in enumerate(answers):
        assert len(told) > 0
        for n, answer in enumerate(told):
            there = f"{worker}-{n}" in revisions
            match answer:
                case Receipt():
                    assert there
                    assert (f"run-{worker}", f"{n}") in applied
                case Outcome():
                    assert there
                case OutcomeUnknown():
                    assert n % 2, "a call with a key is told what became of it"
                case _:
                    raise AssertionError(answer)


async def test_a_server_that_is_away_is_unavailable_at_the_deadline_and_found_when_it_is_back(
    own_world: World,
) -> None:
    """C10: by the very next call."""
    async with txmemory.open_async(own_world.direct, deadline=0.5) as store:
        must(await store.store(Memory("tea", id="a")))
        own_world.server.stop()
        for call in (
            store.count,
            partial(store.store, Memory("tea", id="a")),
            partial(store.writer("run", 1).write, "key", []),
        ):
            assert isinstance(either(await call()), Unavailable)
        own_world.server.start()
        assert must(await store.count()) == 1
        assert [entry.revision for entry in must(await store.history("a"))] == [1]


async def test_a_server_that_has_become_read_only_is_unavailable_at_once_until_it_is_writable(
    writable: World,
) -> None:
    """C10: after a failover to a standby, and after the next one back, under one open store."""
    tenant = f"read-only {txmemory.open_async.__name__}"
    async with txmemory.open_async(writable.direct, deadline=SECONDS) as opened:
        store = opened.tenant(tenant)
        await prepare(store)
        before = writable.picture(tenant)
        writable.do(f"ALTER DATABASE {writable.database} SET default_transaction_read_only = on")
        lose_connections(writable)
        began = time.monotonic()
        for call in (
            partial(store.writer("run", 2).write, "key", [Memory("tea")]),
            partial(store.writer("run", 2).applied, "before"),
            partial(store.store, Memory("tea")),
            store.clear,
        ):
            assert either(await call()) == Unavailable("25006")
        assert time.monotonic() - began < AT_ONCE
        assert must(await store.count()) == 3
        assert writable.picture(tenant) == before
        writable.do(f"ALTER DATABASE {writable.database} RESET default_transaction_read_only")
        assert not must(await store.writer("run", 2).write("key", [Memory("tea")])).replayed


async def test_a_password_that_has_changed_and_a_right_that_was_taken_are_told_at_once(world: World) -> None:
    """Guarantee 6: what will not pass of itself is not asked again."""
    role = f"role_{txmemory.open_async.__name__}"
    world.do(f"CREATE ROLE {role} LOGIN PASSWORD 'first'")
    world.do(f"GRANT CONNECT ON DATABASE {world.database} TO {role}")
    txmemory.migrate(world.direct, runtime_role=role)
    url = world.server.url(world.database, user=role, password="first")  # noqa: S106 - of this test alone
    async with txmemory.open_async(url, deadline=SECONDS) as store:
        must(await store.writer(role, 1).write("key", []))
        began = time.monotonic()
        world.do(f"REVOKE ALL ON txmemory.scope FROM {role}")
        assert either(await store.writer(role, 1).write("key", [])) == Unavailable("42501")
        world.do(f"ALTER ROLE {role} PASSWORD 'second'")
        lose_connections(world)
        assert either(await store.count()) == Unavailable("CONNECTION")
        assert time.monotonic() - began < AT_ONCE
    world.do(f"DROP OWNED BY {role}")
    world.do(f"DROP ROLE {role}")


@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
async def test_a_wait_for_a_standby_that_is_cut_short_is_a_lost_answer(own_world: World, end: str) -> None:
    """C1: the server says success, with a warning that the standby may not have it."""
    ended: list[object] = []

    def cut_short() -> None:
        until(lambda: bool(own_world.waiting("SyncRep")))
        ended.extend(own_world.look(f"SELECT {end}(%s)", own_world.waiting("SyncRep")[0]))

    async with txmemory.open_async(own_world.direct, deadline=SECONDS) as store:
        own_world.do("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'")
        own_world.do("SELECT pg_reload_conf()")
        until(lambda: own_world.look("SHOW synchronous_standby_names") == [("nowhere",)])
        with beside(cut_short):
            receipt = must(await store.writer("run", 1).write("key", [Memory("tea", id="a")]))
        assert receipt.replayed, "the first answer was believed"
        with beside(cut_short):
            assert either(await store.store(Memory("tea", id="b"))) == OutcomeUnknown()
    assert len(ended) == 2
    assert {(id, revision) for _, id, _, revision in own_world.picture().items} == {("a", 1), ("b", 1)}


async def test_a_pool_that_is_exhausted_is_a_bounded_wait(world: World) -> None:
    """C12: then `Contended`, with nothing done; whoever waits long enough has a turn."""
    tenant = f"exhausted {txmemory.open_async.__name__}"
    async with txmemory.open_async(f"{world.direct}?pool_size=1", deadline=0.5) as opened:
        store = opened.tenant(tenant)
        backend: Any = opened._handle.backend
        async with backend._connections.taken(SECONDS):
            for call in (
                store.count,
                partial(store.store, Memory("tea")),
                partial(store.writer("run", 1).write, "key", []),
            ):
                assert either(await call()) == Contended()
        assert must(await store.count()) == 0
    async with txmemory.open_async(f"{world.direct}?pool_size=2", deadline=SECONDS) as opened:
        store = opened.tenant(tenant)
        calls = [partial(store.writer(f"run-{n}", 1).write, "key", [Memory("tea")]) for n in range(40)]
        assert not [must(answer) for answer in await race_async(*calls) if must(answer).replayed]
        backend = opened._handle.backend
        assert len(backend._connections._idle) == 2
        assert must(await store.count()) == 40
