"""What befalls a transaction of plain statements: cut and stalled commits, an exhausted pool, a frozen client."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

import txmemory
from txmemory import Contended, Memory, OutcomeUnknown, Receipt, Store, Unavailable, either, must
from txmemory.backends.portable.faults import fault_of
from txmemory.backends.portable.ground import ground_of
from txmemory.backends.portable.tables import PortableTables
from txmemory.model.address import Presenter
from txmemory.port import Busy, Down, Lost
from txmemory.testing.faults import Cut, Stall, Where
from txmemory.testing.proxy import Proxy
from txmemory.testing.server import PostgresServer
from txmemory.testing.wire import Message

PATIENCE = 30.0
COMMIT = Message("frontend", "Query")
"""The driver sends BEGIN and COMMIT, and nothing else, as plain queries: the second of a connection is the COMMIT."""

LANDED: dict[Where, set[bool]] = {
    "before": {False},
    "inside": {False},
    "after": {False, True},
    "reply": {True},
}
"""Whether a commit that is cut there is made. One that the server's side has just got may still be thrown away by the
reset, unread; where the answer has come, it is made."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> str:
    name = server.create_database()
    txmemory.migrate(f"portable+{server.url(name)}")
    return name


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    with psycopg.connect(server.superuser_url) as connection:
        host, port = connection.info.host, connection.info.port
    with Proxy.started(host, port) as proxy:
        yield proxy


def dialect(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture
def engine(server: PostgresServer, database: str, proxy: Proxy) -> Iterator[Engine]:
    """Through the proxy."""
    engine = create_engine(dialect(server.url(database, port=proxy.port)), hide_parameters=True)
    yield engine
    engine.dispose()


@pytest.fixture
def direct(server: PostgresServer, database: str) -> Iterator[Store]:
    """A store that sees what is there, whatever happens to the proxy."""
    with txmemory.open(f"portable+{server.url(database)}") as store:
        yield store


def warmed(engine: Engine) -> Store:
    """A store whose one connection is there: what comes next is a transaction's own."""
    store = txmemory.open(engine=engine)
    must(store.writer("warm", 1).write("warm", [Memory("warm")]))
    return store


@pytest.mark.parametrize("where", LANDED)
def test_a_keyed_write_whose_commit_is_cut_is_there_once(
    engine: Engine, direct: Store, proxy: Proxy, where: Where
) -> None:
    """C1: committed or not, the call answers with what is recorded."""
    store = warmed(engine)
    cut = proxy.plan(Cut(COMMIT, where, skip=1))
    receipt = must(store.writer("run", 1).write("step-1", [Memory("once", id="a")]))
    assert cut.reached
    assert receipt.replayed in LANDED[where]
    assert must(direct.count()) == 2
    assert [entry.revision for entry in must(direct.history("a"))] == [1]
    assert must(direct.writer("run", 1).applied("step-1")) == receipt.outcome


@pytest.mark.parametrize("where", LANDED)
def test_an_unkeyed_store_whose_commit_is_cut_says_that_nobody_knows(
    engine: Engine, direct: Store, proxy: Proxy, where: Where
) -> None:
    """C1: it is not tried again, so it is there once or not at all."""
    store = warmed(engine)
    cut = proxy.plan(Cut(COMMIT, where, skip=1))
    assert either(store.store(Memory("perhaps", id="a"))) == OutcomeUnknown()
    assert cut.reached
    assert (len(must(direct.history("a"))) == 1) in LANDED[where]


@pytest.mark.parametrize("kind", ["Parse", "Bind", "Execute", "Sync"])
def test_a_write_that_is_cut_before_its_commit_is_made_anew(
    engine: Engine, direct: Store, proxy: Proxy, kind: str
) -> None:
    """Nothing was committed, so a call without a key is tried again, too."""
    store = warmed(engine)
    cut = proxy.plan(Cut(Message("frontend", kind), "after", skip=2 if kind != "Parse" else 0))
    must(store.store(Memory("once", id="a")))
    assert cut.reached
    assert [entry.revision for entry in must(direct.history("a"))] == [1]


@pytest.mark.parametrize("keyed", [True, False])
def test_an_awaited_call_whose_commit_is_never_answered_ends_at_its_deadline(
    server: PostgresServer, database: str, proxy: Proxy, *, keyed: bool
) -> None:
    async def call() -> tuple[object, float]:
        engine = create_async_engine(dialect(server.url(database, port=proxy.port)))
        store = await txmemory.open_async(engine=engine, deadline=0.5)
        must(await store.writer("warm", 1).write("warm", [Memory("warm")]))
        stall = proxy.plan(Stall(COMMIT, "reply", skip=1))
        writer = store.writer("run", 1)
        began = time.monotonic()
        if keyed:
            answer: object = either(await writer.write("step-1", [Memory("once", id="a")]))
        else:
            answer = either(await store.store(Memory("once", id="a")))
        elapsed = time.monotonic() - began
        assert stall.reached
        proxy.release()
        await engine.dispose()
        return answer, elapsed

    answer, elapsed = asyncio.run(call())
    unknown = Unavailable("DEADLINE", outcome_unknown=True)
    assert answer == (unknown if keyed else OutcomeUnknown())
    assert elapsed < 1.0


def waiting(server: PostgresServer) -> bool:
    with psycopg.connect(server.superuser_url) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return connection.execute(query).fetchone() != (0,)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.01)


def test_a_pool_without_a_free_connection_is_waited_for_no_longer_than_the_deadline(
    server: PostgresServer, database: str
) -> None:
    """C12: while the one connection waits for a lock."""
    engine = create_engine(dialect(server.url(database)), pool_size=1, max_overflow=0, pool_timeout=0.1)
    patient = txmemory.open(engine=engine, deadline=PATIENCE)
    hasty = txmemory.open(engine=engine, deadline=0.5)
    must(patient.writer("run", 1).write("step-1", [Memory("first")]))
    answers: list[object] = []
    first = threading.Thread(
        target=lambda: answers.append(either(patient.writer("run", 1).write("step-2", [Memory("x")])))
    )
    with psycopg.connect(server.url(database)) as other:
        other.execute("SELECT 1 FROM txmemory.scope FOR UPDATE")
        first.start()
        until(lambda: waiting(server))
        assert either(hasty.writer("else", 1).write("step-1", [Memory("y")])) == Contended()
        other.rollback()
    first.join()
    assert [type(answer) for answer in answers] == [Receipt]
    must(hasty.writer("else", 1).write("step-1", [Memory("y")]))
    engine.dispose()


def test_a_client_that_freezes_inside_its_transaction_holds_the_scope_no_longer_than_its_deadline(
    server: PostgresServer, database: str, direct: Store
) -> None:
    """C7: the server ends it, and whoever waited goes on."""
    engine = create_engine(dialect(server.url(database)))
    ground = ground_of("postgresql")
    with engine.connect() as frozen:
        ground.begin(frozen, 1.0)
        PortableTables(frozen, ground, None).advance_fence("default", Presenter("run", 1), ["step-1"])
        receipt = must(direct.writer("run", 2).write("step-1", [Memory("taken over")]))
        assert not receipt.replayed
        frozen.invalidate()
    engine.dispose()


def test_a_connection_that_the_server_has_ended_meanwhile_is_replaced(
    server: PostgresServer, database: str, direct: Store
) -> None:
    must(direct.store(Memory("a", id="a")))
    for pid in server.backend_pids(database):
        server.terminate(pid)
    must(direct.writer("run", 1).write("step-1", [Memory("b", id="b")]))
    assert must(direct.count()) == 2


@pytest.mark.parametrize(
    ("name", "fault"), [("SQLITE_BUSY", Busy), ("SQLITE_FULL", Down), ("SQLITE_IOERR_FSYNC", Lost)]
)
def test_a_commit_that_failed_on_a_file_is_in_doubt_but_for_a_lock_or_a_full_disk(
    name: str, fault: type[Exception]
) -> None:
    cause = sqlite3.OperationalError()
    cause.sqlite_errorname = name
    error = OperationalError("COMMIT", None, cause)
    assert type(fault_of(error, sent=True)) is fault
    assert type(fault_of(error, sent=False)) is (Down if fault is Lost else fault)
