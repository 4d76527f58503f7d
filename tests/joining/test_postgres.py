"""Connections to PostgreSQL as callers have them, and transactions that end otherwise than they hoped."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import txmemory
from txmemory import Contended, Memory, Store, Unavailable, either, must
from txmemory.testing import binaries
from txmemory.testing.server import OwnServer, PostgresServer
from txmemory.testing.shared import new_schema
from txmemory.testing.supervision import patiently

TEA = [Memory("tea", id="a")]
Connection = psycopg.Connection[Any]


@pytest.fixture
def store(database: str, schema: str) -> Iterator[Store]:
    with txmemory.open(f"{database}?schema={schema}") as opened:
        yield opened


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    """As the driver makes one: it begins a transaction by itself."""
    with closing(psycopg.connect(database)) as connected:
        yield connected


def shown(connection: Connection, setting: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", [setting]).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize(
    "options",
    [
        {"row_factory": dict_row},
        {"prepare_threshold": None},
        {"prepare_threshold": 0},
        {"cursor_factory": psycopg.ClientCursor},
        {"cursor_factory": psycopg.RawCursor},
    ],
    ids=["rows as maps", "never prepared", "always prepared", "client cursor", "raw cursor"],
)
def test_the_caller_s_factories_and_preparing_make_no_difference(
    database: str, store: Store, options: dict[str, Any]
) -> None:
    first = must(store.writer("run", 1).write("step", TEA))
    with psycopg.connect(database, **options) as connection:
        joined = store.joined(connection)
        for _ in range(7):
            assert must(joined.writer("run", 1).write("step", TEA)).outcome == first.outcome
        must(joined.writer("run", 2).replace("next", [Memory("coffee", id="b")], ["a"]))
        assert [(each.id, each.content) for each in must(joined.recall())] == [("b", "coffee")]
        found = connection.execute("SELECT statement FROM pg_prepared_statements").fetchall()
        assert bool(found) is (options.get("prepare_threshold", 5) is not None)
    assert must(store.keys("run")) == ["next", "step"]


def test_a_connection_that_begins_by_itself_is_joined_as_it_is(connection: Connection, store: Store) -> None:
    must(store.joined(connection).writer("run", 1).write("step", TEA))
    assert must(store.keys("run")) == []
    connection.commit()
    assert must(store.keys("run")) == ["step"]


def test_a_transaction_block_on_an_autocommit_connection_is_joined(
    connection: Connection, store: Store
) -> None:
    connection.autocommit = True
    with pytest.raises(ValueError, match="begin one"):
        store.joined(connection)
    with connection.transaction():
        must(store.joined(connection).writer("run", 1).write("step", TEA))
        assert must(store.keys("run")) == []
    assert must(store.keys("run")) == ["step"]


def test_what_cannot_be_joined_as_it_stands_is_refused(connection: Connection, store: Store) -> None:
    joined = store.joined(connection)
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1 / 0")
    with pytest.raises(ValueError, match="roll it back"):
        store.joined(connection)
    with pytest.raises(ValueError, match="roll it back"):
        joined.writer("run", 1).write("step", TEA)
    connection.rollback()
    with connection.pipeline(), pytest.raises(ValueError, match="pipeline"):
        store.joined(connection)
    with connection.cursor().copy("COPY (SELECT 1) TO STDOUT") as copy:
        with pytest.raises(ValueError, match="busy"):
            store.joined(connection)
        assert [bytes(row) for row in copy] == [b"1\n"]
    must(joined.writer("run", 1).write("step", TEA))


@pytest.mark.parametrize("level", list(psycopg.IsolationLevel), ids=lambda level: level.name)
def test_only_read_committed_is_joined(
    connection: Connection, store: Store, level: psycopg.IsolationLevel
) -> None:
    """At the others a bound would count what was there when the transaction began."""
    connection.isolation_level = level
    joined = store.joined(connection)
    if level.name in ("READ_UNCOMMITTED", "READ_COMMITTED"):  # which are one to the server
        must(joined.writer("run", 1).write("step", TEA))
        return
    with pytest.raises(ValueError, match="READ COMMITTED"):
        joined.writer("run", 1).write("step", TEA)
    assert must(joined.count()) == 0
    connection.commit()
    assert must(store.keys("run")) == []


def test_another_database_is_refused_though_it_holds_the_same_schema(
    server: PostgresServer, store: Store, schema: str
) -> None:
    other = server.url(database=server.create_database())
    named = new_schema(other)
    with psycopg.connect(other) as connection:
        connection.execute(f"ALTER SCHEMA {named} RENAME TO {schema}")
        joined = store.joined(connection)
        with pytest.raises(ValueError, match="another database"):
            joined.writer("run", 1).write("step", TEA)
        with pytest.raises(ValueError, match="another database"):
            joined.count()
        connection.commit()
    with txmemory.open(f"{other}?schema={schema}") as beside:
        assert must(beside.keys("run")) == []


@pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))
def test_the_store_knows_its_database_again_after_a_restart_of_the_server() -> None:
    with OwnServer(durable=False, settings={}) as server:
        url = server.url(database=server.create_database())
        txmemory.migrate(url)
        with txmemory.open(url) as store:
            for key in ("before", "after"):
                with psycopg.connect(url) as connection:
                    must(store.joined(connection).writer("run", 1).write(key, TEA))
                server.restart()
            assert must(store.keys("run")) == ["after", "before"]


def test_the_limits_of_the_caller_s_session_are_its_own(connection: Connection, store: Store) -> None:
    """The limit on locks is as before; the one on idleness is the caller's, else the store's until the end."""
    joined = store.joined(connection)
    connection.execute("SET lock_timeout = '700ms'")
    connection.commit()
    must(joined.writer("run", 1).write("step", TEA))
    assert shown(connection, "lock_timeout") == "700ms"
    assert shown(connection, "idle_in_transaction_session_timeout") == "10s"
    connection.commit()
    assert shown(connection, "lock_timeout") == "700ms"
    assert shown(connection, "idle_in_transaction_session_timeout") == "0"
    connection.execute("SET LOCAL idle_in_transaction_session_timeout = '1h'")
    must(joined.writer("run", 1).write("next", TEA))
    assert shown(connection, "idle_in_transaction_session_timeout") == "1h"


def test_the_caller_s_shorter_limit_on_locks_holds(
    database: str, connection: Connection, store: Store
) -> None:
    connection.execute("SET lock_timeout = '50ms'")
    connection.commit()
    with psycopg.connect(database) as holder:
        must(store.joined(holder).writer("run", 1).write("step", TEA))
        assert either(store.joined(connection).writer("run", 1).write("step", TEA)) == Contended()
        connection.rollback()


def test_after_an_accident_commit_is_a_rollback_and_a_savepoint_is_enough_to_go_on(
    database: str, connection: Connection, store: Store
) -> None:
    connection.execute("CREATE TEMP TABLE step (name text)")
    connection.execute("SET lock_timeout = '50ms'")
    connection.commit()
    joined = store.joined(connection)
    with psycopg.connect(database) as holder:
        must(store.joined(holder).writer("run", 1).write("step", TEA))
        connection.execute("INSERT INTO step VALUES ('lost')")
        assert either(joined.writer("run", 1).write("other", TEA)) == Contended()
        assert connection.execute("COMMIT").statusmessage == "ROLLBACK"
        connection.execute("INSERT INTO step VALUES ('kept')")
        with connection.transaction(force_rollback=True):
            assert either(joined.writer("run", 1).write("other", TEA)) == Contended()
        connection.commit()
    assert connection.execute("SELECT name FROM step").fetchall() == [("kept",)]
    assert must(store.keys("run")) == ["step"]
    must(joined.writer("run", 1).write("other", []))


def test_a_connection_that_is_lost_is_unavailable_and_nothing_was_done(
    server: PostgresServer, connection: Connection, store: Store
) -> None:
    """Before a call, and between a call and COMMIT."""
    joined = store.joined(connection)
    must(joined.writer("run", 1).write("step", TEA))
    server.terminate(connection.info.backend_pid)
    met = either(joined.writer("run", 1).write("other", TEA))
    assert met == Unavailable("57P01")
    assert isinstance(either(joined.store(Memory("tea"))), Unavailable)
    assert isinstance(either(joined.count()), Unavailable)
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
    assert must(store.keys("run")) == []
    assert must(store.count()) == 0


def test_a_caller_that_stands_still_loses_its_transaction_and_not_its_successor(
    database: str, schema: str, connection: Connection
) -> None:
    """The server ends it after the store's deadline, here a second: its successor need not wait for ever."""
    with (
        txmemory.open(f"{database}?schema={schema}", deadline=1) as frozen,
        txmemory.open(f"{database}?schema={schema}", deadline=60) as successor,
    ):
        joined = frozen.joined(connection)
        must(joined.writer("run", 1).write("step", TEA))
        assert must(successor.writer("run", 2).applied("step")) is None
        assert either(joined.writer("run", 1).write("late", TEA)) == Contended()


def test_a_second_joined_transaction_waits_for_the_first(
    server: PostgresServer, database: str, connection: Connection, store: Store
) -> None:
    """It is let in by the first one's end, whichever: it sees the first one's place, or takes it."""
    ends: tuple[tuple[Callable[[], object], int], ...] = ((connection.rollback, 1), (connection.commit, 2))
    for end, seq in ends:
        must(store.joined(connection).writer("run", 1).write(f"first, {seq}", TEA))
        with psycopg.connect(database) as other, ThreadPoolExecutor(1) as thread:

            def write(other: Connection = other, seq: int = seq) -> int | None:
                return must(store.joined(other).writer("run", 1).write(f"{seq}", [])).outcome.seq

            waiting = thread.submit(write)
            for _ in patiently("it never waited"):
                if blocked(server, other.info.backend_pid):
                    break
            assert not waiting.done()
            end()
            assert waiting.result(60) == seq
            other.rollback()


def blocked(server: PostgresServer, pid: int) -> bool:
    """Whether this session waits for a lock that another one holds."""
    with psycopg.connect(server.superuser_url) as watcher:
        row = watcher.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [pid]).fetchone()
    return row == (True,)
