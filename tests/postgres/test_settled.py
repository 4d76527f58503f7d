"""On a server an answer as of a time is settled once nobody who writes there is as old as that, by its own clock."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

import psycopg
import pytest

import txmemory
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Bounds, Filter, Memory, Store, must
from txmemory.testing.roles import acting_as, roles_of, with_options
from txmemory.testing.server import OwnServer, PostgresServer

SECONDS = 30.0
NOW = "SELECT clock_timestamp()"
WAITS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def store(world: World, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A tenant of its own, by the server's clock."""
    with txmemory.open(world.direct, deadline=SECONDS) as opened:
        yield opened.tenant(request.node.name[:128])


@contextmanager
def begun(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of somebody's that has begun, and is rolled back unless it is committed."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("BEGIN")
        yield connection


def now(world: World) -> datetime:
    """The server's time."""
    ((time,),) = world.look(NOW)
    assert isinstance(time, datetime)
    return time


def _write(store: Store, id: str = "new") -> object:
    return must(store.writer("run", 1).write("step", [Memory("coffee", id=id)]))


CALLS: dict[str, tuple[str, Callable[[Store], object]]] = {
    "a plain store": ("item", lambda store: must(store.store(Memory("tea", id="new")))),
    "a bounded store": ("revision", lambda store: must(store.store(Memory("tea"), bounds=Bounds(1)))),
    "a store over an id": ("revision", lambda store: must(store.store(Memory("coffee", id="there")))),
    "a keyed write": ("item", _write),
    "a keyed write over an id": ("revision", lambda store: _write(store, "there")),
    "a delete": ("revision", lambda store: must(store.delete("there"))),
    "a removal by a filter": ("revision", lambda store: must(store.delete_matching(Filter.all()))),
}


@pytest.mark.parametrize(("table", "call"), CALLS.values(), ids=CALLS)
def test_a_call_that_has_read_the_clock_is_seen_wherever_it_stands(
    world: World, store: Store, table: str, call: Callable[[Store], object]
) -> None:
    """L12: it has locked what others see before it knows its time, and though it waits with all that it writes."""
    must(store.store(Memory("tea", id="there")))
    with begun(world.direct) as other:
        other.execute(f"LOCK TABLE txmemory.{table} IN SHARE ROW EXCLUSIVE MODE")  # a row may still be locked
        thread = threading.Thread(target=call, args=(store,))
        thread.start()
        until(lambda: len(world.look(WAITS)) == 1)
        moment = now(world)
        before = must(store.recall(as_of=moment))
        other.execute("COMMIT")
    thread.join()
    after = must(store.recall(as_of=moment))
    assert (before.settled, after.settled) == (False, True)
    assert after.value == must(store.recall())
    assert rows(after.value) != rows(before.value)


def rows(memories: list[Memory]) -> set[tuple[str, int | None]]:
    return {(memory.id, memory.revision) for memory in memories}


def test_what_began_later_leaves_an_earlier_moment_settled(world: World, store: Store) -> None:
    """And what began before it does not, until it ends: what it wrote may be as old as its beginning."""
    must(store.store(Memory("tea", id="a")))
    with begun(world.direct) as connection:
        must(store.joined(connection).store(Memory("tea", id="b")))
        between = now(world)
        with begun(world.direct) as later:
            must(store.tenant("another").joined(later).store(Memory("tea", id="b")))
            assert not must(store.count(as_of=between)).settled
        assert not must(store.count(as_of=between)).settled
        connection.execute("ROLLBACK")
        assert must(store.count(as_of=between)) == txmemory.AsOf(1, settled=True, at=between)
        connection.execute("BEGIN")
        must(store.joined(connection).store(Memory("tea", id="c")))
        assert must(store.count(as_of=between)).settled
        assert not must(store.count(as_of=now(world))).settled
        connection.execute("COMMIT")
        assert must(store.count(as_of=now(world))).value == 2


OTHERS = {
    "reads": "SELECT count(*) FROM txmemory.item",
    "vacuums": "LOCK TABLE txmemory.item IN SHARE UPDATE EXCLUSIVE MODE",
    "makes an index": "LOCK TABLE txmemory.item IN SHARE MODE",
    "writes elsewhere": "CREATE TEMPORARY TABLE elsewhere (number) AS SELECT 1",
}


@pytest.mark.parametrize("statement", OTHERS.values(), ids=OTHERS)
def test_who_does_not_write_here_leaves_a_moment_settled(world: World, store: Store, statement: str) -> None:
    must(store.store(Memory("tea", id="a")))
    with begun(world.direct) as connection:
        connection.execute(statement)
        assert must(store.count(as_of=now(world))).settled


def test_when_another_role_began_is_not_told_and_so_counts_as_earlier(world: World, store: Store) -> None:
    """The run-time role sees that somebody writes; once nobody does, it is told the same as everybody."""
    role = roles_of(world.direct).runtime
    txmemory.migrate(world.direct, runtime_role=role)
    with txmemory.open(acting_as(world.direct, role), deadline=SECONDS) as plain:
        must(store.store(Memory("tea", id="a")))
        moment = now(world)
        with begun(world.direct) as connection:
            must(store.joined(connection).store(Memory("tea", id="b")))
            assert must(store.count(as_of=moment)).settled
            assert not must(plain.count(as_of=moment)).settled
        until(lambda: must(plain.count(as_of=moment)).settled)


def test_a_prepared_transaction_leaves_a_moment_unsettled_until_it_is_committed() -> None:
    """It has no session any more, and keeps its locks, also when the server is started anew."""
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with OwnServer(settings={"max_prepared_transactions": "2"}) as server:
        url = server.url(server.create_database())
        txmemory.migrate(url)
        with txmemory.open(url, deadline=SECONDS) as store, begun(url) as connection:
            made = must(store.joined(connection).store(Memory("tea", id="a")))
            connection.execute("PREPARE TRANSACTION 'memory'")
            before = must(store.recall(as_of=made.at))
        server.restart()
        with txmemory.open(url, deadline=SECONDS) as store:
            again = must(store.recall(as_of=made.at))
            with closing(psycopg.connect(url, autocommit=True)) as connection:
                connection.execute("COMMIT PREPARED 'memory'")
            after = must(store.recall(as_of=made.at))
    assert [(len(each.value), each.settled) for each in (before, again, after)] == [
        (0, False),
        (0, False),
        (1, True),
    ]


def test_another_store_of_the_database_is_another_matter(world: World, store: Store) -> None:
    """In a schema with a name that has to be quoted, and quoted within quotes."""
    url = with_options(world.direct, schema='Bob\'s "%s" {0}')
    txmemory.migrate(url)
    with txmemory.open(url, deadline=SECONDS) as other, begun(world.direct) as connection:
        must(store.joined(connection).store(Memory("tea", id="a")))
        must(other.store(Memory("tea", id="a")))
        moment = now(world)
        assert must(other.count(as_of=moment)) == txmemory.AsOf(1, settled=True, at=moment)
        assert not must(store.count(as_of=moment)).settled


def test_a_clock_of_the_caller_s_is_believed_and_any_writer_may_be_as_old_as_it_says(world: World) -> None:
    clock = [datetime.fromisoformat("2001-05-17T12:00:00+00:00")]
    with (
        txmemory.open(world.direct, clock=lambda: clock[0], deadline=SECONDS) as store,
        begun(world.direct) as connection,
    ):
        here = store.tenant("by its own clock")
        made = must(here.store(Memory("tea", id="a")))
        assert not must(here.count(as_of=made.at)).settled
        clock[0] = clock[0].replace(hour=13)
        assert must(here.count(as_of=made.at)).settled
        must(here.joined(connection).store(Memory("tea", id="b")))
        assert not must(here.count(as_of=made.at)).settled
