"""What a call costs, counted: round trips by a proxy, flushes and records of the write-ahead log by the server.

The server is quiet: nothing vacuums, checkpoints or writes the log but the one backend that is watched, whose own
counters (`pg_stat_get_backend_io`, `pg_stat_get_backend_wal`) are read after it was asked to publish them.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import psycopg
import pytest

import txmemory
from txmemory import Bounds, Filter, Memory, must
from txmemory.testing import binaries
from txmemory.testing.proxy import Proxy
from txmemory.testing.roles import with_options
from txmemory.testing.server import OwnServer, PostgresServer

QUIET = {
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1d",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "wal_writer_delay": "10s",
}
WARM = 3
"""Calls of each kind before those that are counted: connections, statements and plans are there."""
COUNTED = 4

FLUSHES = "SELECT sum(fsyncs)::int FROM pg_stat_get_backend_io(%s) WHERE object = 'wal'"
RECORDS = "SELECT wal_records::int FROM pg_stat_get_backend_wal(%s)"

pytestmark = pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))


class Cost(NamedTuple):
    """Of one call."""

    round_trips: int
    flushes: int
    recorded: bool
    """Whether it put anything into the write-ahead log."""


FRESH = Cost(1, 1, recorded=True)
READ = Cost(1, 0, recorded=False)


class Watched:
    """A store on one connection behind a proxy, blocking or awaited, whose calls are counted."""

    def __init__(self, url: str, way: str, proxy: Proxy, observer: psycopg.Connection) -> None:
        self._proxy, self._observer = proxy, observer
        self._runner = asyncio.Runner()

        async def opened() -> Any:
            return await txmemory.open_async(url)

        self.store: Any = self.run(opened()) if way == "aio" else txmemory.open(url)
        self._awaited = way == "aio"

    def close(self) -> None:
        self.run(self.store.close())
        self._runner.close()

    def run(self, answer: Any) -> Any:
        return self._runner.run(answer) if asyncio.iscoroutine(answer) else answer

    def cost(self, call: Callable[[], Any]) -> Cost:
        """What the call has cost, and that it was done."""
        flushes, records = self._counters()
        self._proxy.forget()
        must(self.run(call()))
        trips = self._proxy.round_trips
        after_flushes, after_records = self._counters()
        return Cost(trips, after_flushes - flushes, after_records > records)

    def _counters(self) -> tuple[int, int]:
        pid = self.run(self._published_async()) if self._awaited else self._published()
        found = [self._observer.execute(query, [pid]).fetchone() for query in (FLUSHES, RECORDS)]
        flushes, records = (row[0] if row else 0 for row in found)
        return flushes, records

    def _published(self) -> int:
        """The backend of the connection, once its counters are everybody's to read."""
        with self.store._handle.backend._connections.taken(5.0) as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            pid: int = connection.info.backend_pid
        return pid

    async def _published_async(self) -> int:
        async with self.store._handle.backend._connections.taken(5.0) as connection:
            await connection.execute("SELECT pg_stat_force_next_flush()")
            pid: int = connection.info.backend_pid
        return pid


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with OwnServer(settings=QUIET) as server:
        yield server


@pytest.fixture(params=["aio", "sync"])
def watched(request: pytest.FixtureRequest, server: OwnServer) -> Iterator[Watched]:
    database = server.create_database()
    txmemory.migrate(server.url(database))
    with (
        psycopg.connect(server.superuser_url, autocommit=True) as observer,
        Proxy.started(observer.info.host, observer.info.port) as proxy,
    ):
        # The end of a file of the log costs a flush of its own: each test begins a new one, and does not fill it.
        observer.execute("SELECT pg_switch_wal()")
        url = with_options(server.url(database, port=proxy.port), pool_size="1")
        watched = Watched(url, request.param, proxy, observer)
        yield watched
        watched.close()


def memories(count: int) -> list[Memory]:
    return [Memory("y" * 400) for _ in range(count)]


def _writer(store: Any) -> Any:
    return store.writer("run", token=1)


CALLS: dict[str, Callable[[Any, int], Any]] = {
    "write": lambda store, n: _writer(store).write(f"new-{n}", memories(1)),
    "write five": lambda store, n: _writer(store).write(f"five-{n}", memories(5)),
    "write over": lambda store, n: _writer(store).write(f"over-{n}", [Memory(f"{n}", id="over")]),
    "write many": lambda store, n: _writer(store).write_many(
        [(f"{n}-{key}", memories(1)) for key in range(100)]
    ),
    "replace": lambda store, n: _writer(store).replace(f"replaced-{n}", memories(1), [f"plain-{n}"]),
    "replace in vain": lambda store, n: _writer(store).replace(f"lost-{n}", memories(1), ["gone"]),
    "write at a bound": lambda store, n: _writer(store.within("bounded")).write(
        f"bounded-{n}", memories(1), bounds=Bounds(max_memories=2)
    ),
    "look for what is not there": lambda store, n: _writer(store).applied(f"absent-{n}"),
    "forget": lambda store, n: _writer(store).forget_applied(f"key-{n}"),
    "seal": lambda store, n: store.writer(f"run-{n}", token=1).seal(),
    "store": lambda store, n: store.store(Memory("green tea", id=f"stored-{n}")),
    "delete": lambda store, n: store.delete(f"plain-{n}"),
    "clear": lambda store, n: store.within(f"below-{n}").clear(),
    "delete by a composed filter": lambda store, n: store.within(f"below-{n}").delete_matching(
        Filter.by_type("knowledge") & ~(Filter.by_entity("ada") | Filter.important(0.5))
    ),
    "trim": lambda store, n: store.within(f"below-{n}").trim(Bounds(max_memories=0)),
    "swap": lambda store, n: store.swap([Memory("z", embedding=[0.5] * 384)], [f"plain-{n}"]),
}
"""Each does something new for each number."""


@pytest.mark.parametrize("name", CALLS)
def test_a_fresh_call_is_one_round_trip_and_one_flush(watched: Watched, name: str) -> None:
    store, numbers = watched.store, range(WARM + COUNTED)
    for number in numbers:
        must(watched.run(_writer(store).write(f"key-{number}", memories(1))))
        for place in (store, store.within(f"below-{number}")):
            must(watched.run(place.store(Memory("plain", id=f"plain-{number}"))))
    costs = [watched.cost(partial(CALLS[name], store, number)) for number in numbers]
    assert costs[WARM:] == [FRESH] * COUNTED


def test_a_replay_by_an_equal_token_is_one_round_trip_and_writes_no_log(watched: Watched) -> None:
    writer = watched.store.writer("run", token=1)
    calls: list[Callable[[], Any]] = [
        lambda: writer.write("key", memories(1)),
        lambda: writer.replace("lost", memories(1), ["gone"]),
        lambda: writer.write_many([(f"many-{number}", memories(1)) for number in range(100)]),
        lambda: writer.applied("key"),
        lambda: watched.store.writer("run", token=1, holder=None).applied("lost"),
    ]
    for call in calls:
        must(watched.run(call()))
        for _ in range(WARM):
            watched.cost(call)
        assert [watched.cost(call) for _ in range(COUNTED)] == [READ] * COUNTED


def test_a_query_is_one_round_trip_and_writes_no_log(watched: Watched) -> None:
    store = watched.store
    must(watched.run(store.writer("run", token=1).write("key", [Memory("green tea", id="tea")])))
    queries: list[Callable[[], Any]] = [
        lambda: store.get("tea"),
        lambda: store.exists("tea"),
        store.recall,
        store.count,
        lambda: store.history("tea"),
        lambda: store.keys("run"),
        lambda: store.applied_count("run"),
    ]
    for query in queries:
        for _ in range(WARM):
            watched.cost(query)
        assert [watched.cost(query) for _ in range(COUNTED)] == [READ] * COUNTED


def test_however_many_revisions_are_asked_for_it_is_one_round_trip(watched: Watched) -> None:
    """What a scope's events tell of is read at once, as a step's memories are: behind its row and its events."""
    must(watched.run(_writer(watched.store).write("key", memories(100))))
    for _ in range(WARM):
        watched.cost(lambda: watched.store.verify(scope="run"))
    costs = [watched.cost(lambda: watched.store.verify(scope="run")) for _ in range(COUNTED)]
    assert costs == [Cost(3, 0, recorded=False)] * COUNTED
