"""What a call decides that had to wait: by what is there when the wait ends, at whatever isolation level."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

import txmemory
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Bounds, Memory, Receipt, Store, either, must
from txmemory.testing.engines import engine
from txmemory.testing.sync.portable import LEVELS

SECONDS = 30.0
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
WAITS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Waiting:
    """Calls on threads of their own, each of which waits for a lock of somebody's before the next one begins."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._threads: list[threading.Thread] = []
        self.answers: list[object] = []

    def call(self, deed: Callable[[], object]) -> None:
        """Begins a call and comes back once it waits."""
        thread = threading.Thread(target=lambda: self.answers.append(deed()))
        self._threads.append(thread)
        thread.start()
        until(lambda: len(self._world.look(WAITS)) >= len(self._threads))

    def join(self) -> list[object]:
        """The answers, once all have one."""
        for thread in self._threads:
            thread.join()
        return self.answers


@contextmanager
def held(world: World, table: str, tenant: str) -> Iterator[None]:
    """While somebody has the tenant's rows of a table locked, without writing them."""
    with world.holding(f"SELECT 1 FROM txmemory.{table} WHERE tenant = '{tenant}' FOR UPDATE"):  # noqa: S608  # constants
        yield


@contextmanager
def at_level(world: World, level: str) -> Iterator[None]:
    """While new sessions of the database begin at this isolation level."""
    name = world.database
    world.do(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = '{level.lower()}'")
    try:
        yield
    finally:
        world.do(f'ALTER DATABASE "{name}" RESET default_transaction_isolation')


@pytest.mark.parametrize("level", LEVELS)
def test_a_bound_holds_at_whatever_level_the_database_begins_transactions(world: World, level: str) -> None:
    """B4: three writers that wait for one namespace, each of which began on a state without the others' memories."""
    tenant = f"bound at {level}"
    bounds = Bounds(max_memories=1)
    with at_level(world, level), ExitStack() as opened:
        stores = [
            opened.enter_context(txmemory.open(world.direct, deadline=SECONDS)).tenant(tenant)
            for _ in range(3)
        ]
        must(stores[0].store(Memory("tea"), bounds=bounds))
        must(stores[0].clear())
        waiting = Waiting(world)
        with held(world, "namespace", tenant):
            for n, store in enumerate(stores):
                writer = store.writer(f"run-{n}", 1)
                waiting.call(lambda w=writer: either(w.write("key", [Memory("tea")], bounds=bounds)))  # type: ignore[misc]  # bound early
        answers = waiting.join()
        assert all(isinstance(answer, Receipt) for answer in answers)
        assert must(stores[0].count()) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_a_bound_holds_beside_a_portable_store_whose_snapshot_is_older(world: World, level: str) -> None:
    """B4: it waits for its scope while the other one writes."""
    tenant = f"beside portable at {level}"
    bounds = Bounds(max_memories=1)
    with portable(world, level) as beside, txmemory.open(world.direct, deadline=SECONDS) as opened:
        store, other = opened.tenant(tenant), beside.tenant(tenant)
        must(other.writer("other", 1).write("setup", [Memory("tea")], bounds=bounds))
        must(other.clear())
        waiting = Waiting(world)
        with held(world, "scope", tenant):
            writer = other.writer("other", 1)
            waiting.call(lambda: either(writer.write("key", [Memory("tea")], bounds=bounds)))
            must(store.writer("run", 1).write("key", [Memory("tea")], bounds=bounds))
        assert isinstance(waiting.join()[0], Receipt)
        assert must(store.count()) == 1


@pytest.mark.parametrize("way", ["postgresql", *LEVELS])
@pytest.mark.parametrize("removal", ["delete", "clear"])
def test_a_bounded_write_evicts_no_more_than_it_must_beside_a_removal(
    world: World, way: str, removal: str
) -> None:
    """B4: whoever made room while it waited for its victim has made room."""
    tenant = f"{removal} beside {way}"
    old = [Memory("tea", id=f"m{n}", timestamp=NOON + timedelta(minutes=n)) for n in range(3)]
    new = Memory("tea", id="new", timestamp=NOON - timedelta(minutes=1))
    with (
        opened_as(world, way) as opened,
        txmemory.open(world.direct, deadline=SECONDS) as other,
        psycopg.connect(world.direct) as connection,
    ):
        store = opened.tenant(tenant)
        must(store.writer("run", 1).write("setup", old, bounds=Bounds(3)))
        joined = other.tenant(tenant).joined(connection)
        with connection.transaction():
            must(joined.delete("m0") if removal == "delete" else joined.clear())
            waiting = Waiting(world)
            waiting.call(lambda: must(store.writer("run", 1).write("step", [new], bounds=Bounds(3))))
        (receipt,) = waiting.join()
        assert isinstance(receipt, Receipt)
        assert receipt.outcome.evicted == ()
        left = ["m1", "m2", "new"] if removal == "delete" else ["new"]
        assert sorted(memory.id for memory in must(store.recall())) == left


def test_what_is_cleared_is_judged_at_the_time_at_which_it_is_held(world: World) -> None:
    """And not when the call began to wait for it."""
    tenant = "cleared"
    with txmemory.open(world.direct, deadline=SECONDS) as opened:
        store = opened.tenant(tenant)
        must(store.store(Memory("tea", id="a")))
        waiting = Waiting(world)
        with held(world, "item", tenant):
            waiting.call(lambda: must(store.clear()))
            ((held_until,),) = world.look("SELECT clock_timestamp()")
        assert waiting.join() == [1]
        assert must(store.history("a"))[-1].at > held_until


def opened_as(world: World, way: str) -> AbstractContextManager[Store]:
    """A store of ours, or a portable one at a level."""
    return txmemory.open(world.direct, deadline=SECONDS) if way == "postgresql" else portable(world, way)


@contextmanager
def portable(world: World, level: str) -> Iterator[Store]:
    """A portable store on the same database at this level."""
    made = engine(world.direct, level, "txmemory")
    try:
        with txmemory.open(engine=made, deadline=SECONDS) as store:
            yield store
    finally:
        made.dispose()
