"""C5: everything through a transaction-pooling proxy, in which many clients share two connections to the server."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest

import txmemory
from tests.postgres.aio.clients import check_async, work_async
from tests.postgres.loads import FULL, SMALL, Load
from tests.postgres.sync.clients import check, work
from tests.postgres.trouble import beside
from tests.postgres.watching import until
from txmemory import Bounds, Fenced, Memory, Receipt, either, must
from txmemory.testing.pgbouncer import PgBouncer
from txmemory.testing.pooled import LEFT_BEHIND
from txmemory.testing.pooler import Pooler
from txmemory.testing.roles import with_options
from txmemory.testing.server import PostgresServer

SERVERS = 2
SECONDS = 30.0
WORK: dict[str, Callable[[str, Load], None]] = {
    "one event loop": lambda url, load: asyncio.run(work_async(url, load)),
    "threads": work,
}
CHECKS: dict[str, Callable[[str, Load], None]] = {
    "one event loop": lambda url, load: asyncio.run(check_async(url, load)),
    "threads": check,
}

# Writes inside a transaction of its own, says so, and never ends it.
CLIENT = """
import sys, time, psycopg, txmemory
from txmemory import Memory, must
with txmemory.open(sys.argv[1]) as store, psycopg.connect(sys.argv[2], prepare_threshold=None) as connection:
    joined = store.joined(connection)
    connection.execute("SET LOCAL work_mem = '5MB'")
    must(joined.writer("run", 1).write("key", [Memory("tea", id="tea")]))
    print(connection.execute("SELECT pg_backend_pid()").fetchone()[0], flush=True)
    time.sleep(600)
"""


class Pooled:
    """A database with our tables behind a pooler."""

    def __init__(self, server: PostgresServer, database: str, pooler: Pooler | PgBouncer) -> None:
        self.server, self.database, self.pooler = server, database, pooler
        self.driver = server.url(database, port=pooler.port)
        """The URL through the pooler, of the driver."""
        self.direct = server.url(database)
        self.through = with_options(self.driver, prepare="off")
        """That of a store."""

    def look(self, query: str) -> list[tuple[Any, ...]]:
        """What is there, without the pooler."""
        with psycopg.connect(self.direct) as connection:
            return connection.execute(query).fetchall()

    def left_behind(self) -> set[str]:
        """What the server sessions keep, seen by clients that have all of them at once; and saw before."""
        found: set[str] = set(self.pooler.left_behind) if isinstance(self.pooler, Pooler) else set()
        pids = set()
        with ExitStack() as clients:
            for _ in range(SERVERS):
                client = clients.enter_context(psycopg.connect(self.driver, prepare_threshold=None))
                found |= {left for (left,) in client.execute(LEFT_BEHIND).fetchall()}
                pids |= set(client.execute("SELECT pg_backend_pid()").fetchall())
        assert len(pids) == SERVERS
        return found


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture(params=["ours", "PgBouncer"])
def pooled(request: pytest.FixtureRequest, server: PostgresServer) -> Iterator[Pooled]:
    if request.param == "PgBouncer" and (reason := PgBouncer.missing()):
        pytest.skip(reason)
    database = server.create_database()
    txmemory.migrate(server.url(database))
    kind = Pooler if request.param == "ours" else PgBouncer
    with kind.started(server.url(database), SERVERS) as pooler:
        yield Pooled(server, database, pooler)
    server.drop_database(database)


@pytest.mark.parametrize(
    ("way", "prepare"), [("one event loop", "off"), ("threads", "off"), ("threads", "on")]
)
def test_twenty_clients_share_two_server_connections_and_leave_nothing_on_them(
    pooled: Pooled, way: str, prepare: str
) -> None:
    """C5: every key once, no refusal, right counts; no session state after any transaction.

    Without `prepare=off`, too: where a pooler stands between, the store prepares nothing.
    """
    WORK[way](with_options(pooled.driver, prepare=prepare), FULL)
    CHECKS[way](pooled.direct, FULL)
    numbered = "SELECT scope, array_agg(seq ORDER BY seq) FROM txmemory.event GROUP BY scope"
    for _, numbers in pooled.look(numbered):
        assert numbers == list(range(1, len(numbers) + 1))
    if isinstance(pooled.pooler, Pooler):
        assert pooled.pooler.handed_on > pooled.pooler.transactions / 2
        assert len(pooled.pooler.pids) == SERVERS
    assert pooled.left_behind() == set()


def test_two_stores_that_the_pooler_mixes_up_never_read_or_write_each_other_s_tables(
    pooled: Pooled,
) -> None:
    """C5: as soon as each has a statement under the same name on another server connection."""
    kinds = ("one", "two")
    for kind in kinds:
        txmemory.migrate(with_options(pooled.direct, schema=kind))
    with ExitStack() as opened:
        stores = {
            kind: opened.enter_context(
                txmemory.open(with_options(pooled.driver, schema=kind, pool_size="1"), deadline=SECONDS)
            )
            for kind in kinds
        }
        for number in range(20):
            for kind in kinds if number % 3 else kinds[::-1]:
                writer = stores[kind].writer(kind, token=1)
                must(writer.write(f"{kind} {number}", [Memory(kind, id=f"{kind} {number}")]))
                assert {memory.content for memory in must(stores[kind].recall())} == {kind}
    for kind in kinds:
        found = pooled.look(f"SELECT scope, count(*) FROM {kind}.ledger GROUP BY scope")  # noqa: S608 - a constant
        assert found == [(kind, 20)]
    assert pooled.left_behind() == set()


def test_migrating_through_the_pooler_leaves_nothing_behind(pooled: Pooled) -> None:
    """C5: nor does opening."""
    for _ in range(3):
        txmemory.migrate(with_options(pooled.through, schema="another"))
        with txmemory.open(with_options(pooled.through, schema="another")) as store:
            must(store.store(Memory("tea")))
    assert pooled.left_behind() == set()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_database_with_another_isolation_level_is_the_same_behind_the_pooler(
    pooled: Pooled, level: str
) -> None:
    """C5, C11: the level is the database's, and of no session."""
    with psycopg.connect(pooled.direct, autocommit=True) as connection:
        connection.execute(
            f'ALTER DATABASE "{pooled.database}" SET default_transaction_isolation = "{level}"'
        )
    with txmemory.open(pooled.through, deadline=SECONDS) as store:
        for number in range(10):
            add = [Memory("tea", id=f"{number}")]
            must(store.writer("run", 1).write(f"{number}", add, bounds=Bounds(max_memories=3)))
        assert must(store.count()) == 3
    assert pooled.left_behind() == set()


def test_a_takeover_through_the_pooler_fences(pooled: Pooled) -> None:
    """C5: whoever held the scope is out, on every server connection."""
    with (
        txmemory.open(pooled.through, deadline=SECONDS) as first,
        txmemory.open(pooled.through, deadline=SECONDS) as second,
    ):
        must(first.writer("run", 1).write("key", [Memory("tea")]))
        assert must(second.writer("run", 2).applied("key")) is not None
        for number in range(2 * SERVERS):
            assert isinstance(either(first.writer("run", 1).write(f"{number}", [Memory("late")])), Fenced)
            assert isinstance(either(first.writer("run", 1).applied("key")), Fenced)
        assert must(second.count()) == 1


@pytest.mark.parametrize("prepare", ["on", "off"])
def test_a_run_and_what_it_has_stored_go_through_the_pooler(pooled: Pooled, prepare: str) -> None:
    """C5: claims and renewals, and the memories of a step, which are read at once."""
    url = pooled.driver if prepare == "on" else pooled.through
    with txmemory.open(url, deadline=SECONDS) as store:
        for holder, replayed in (("ada", False), ("bob", True)):
            with must(store.run("run", holder)) as run:
                step = must(run.step("step", lambda: [Memory(f"turn {n}") for n in range(100)]))
                assert (len(step.memories), step.receipt.replayed) == (100, replayed)
        assert must(store.verify(scope="run")).findings == ()
    assert pooled.left_behind() == set()


def test_a_client_that_is_killed_inside_a_transaction_leaves_nothing_locked_and_nothing_dirty(
    pooled: Pooled,
) -> None:
    """C5: its server connection is nobody's after it."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, pooled.through, pooled.driver], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert pid in pooled.server.backend_pids(pooled.database)
        process.send_signal(signal.SIGKILL)
    with txmemory.open(pooled.through, deadline=SECONDS) as store:
        told = [must(store.writer("run", 1).applied("key")) for _ in range(2 * SERVERS)]
        assert told == [None] * len(told)
        again = must(store.writer("run", 1).write("key", [Memory("tea", id="tea")]))
        assert isinstance(again, Receipt)
        assert not again.replayed
    until(lambda: pid not in pooled.server.backend_pids(pooled.database))
    assert pooled.left_behind() == set()


def test_a_cancelled_call_is_cancelled_on_the_server_connection_that_serves_it(pooled: Pooled) -> None:
    """C5, C13: nobody else's call is."""

    async def wait_for_the_row() -> None:
        async with txmemory.open_async(pooled.through, deadline=SECONDS) as store:
            call = asyncio.create_task(store.writer("run", 1).write("late", [Memory("late")]))
            await asyncio.to_thread(until, lambda: len(waiting()) == 1)
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
            assert call.cancelled()

    def waiting() -> list[tuple[Any, ...]]:
        return pooled.look("SELECT pid FROM pg_stat_activity WHERE wait_event = 'transactionid'")

    def work_elsewhere() -> None:
        for number in range(20):
            must(store.writer("elsewhere", 1).write(f"{number}", [Memory("tea")]))

    with txmemory.open(pooled.through, deadline=SECONDS) as store:
        must(store.writer("run", 1).write("key", [Memory("tea")]))
        with psycopg.connect(pooled.direct) as holder:
            holder.execute("SELECT * FROM txmemory.scope WHERE scope = 'run' FOR UPDATE")
            with beside(work_elsewhere):
                asyncio.run(wait_for_the_row())
            assert waiting() == []
        assert must(store.keys("run")) == ["key"]
        assert must(store.applied_count("elsewhere")) == 20
    assert pooled.left_behind() == set()


def test_what_a_store_does_in_a_caller_s_transaction_ends_with_that(pooled: Pooled) -> None:
    """C5: the limits that a joined call sets are those of the transaction."""
    with txmemory.open(pooled.through) as store, psycopg.connect(pooled.driver) as connection:
        connection.prepare_threshold = None
        for number in range(2 * SERVERS):
            with connection.transaction():
                joined = store.joined(connection)
                must(joined.writer("run", 1).write(f"{number}", [Memory("tea")]))
                assert len(must(joined.recall())) == number + 1
        assert must(store.applied_count("run")) == 2 * SERVERS
    assert pooled.left_behind() == set()


@pytest.mark.parametrize("way", WORK)
def test_plain_statements_go_through_the_pooler_as_well(pooled: Pooled, way: str) -> None:
    """C5: of a portable store with an engine of its own."""
    WORK[way](f"portable+{pooled.driver}", SMALL)
    CHECKS[way](pooled.direct, SMALL)
    assert pooled.left_behind() == set()
