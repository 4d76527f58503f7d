"""The pooler of the tests hands server connections on as they are, and sees what is left on them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.postgres.trouble import beside
from tests.postgres.watching import PATIENCE, until
from txmemory.testing.pooled import LEFT_BEHIND
from txmemory.testing.pooler import Pooler
from txmemory.testing.roles import with_options
from txmemory.testing.server import PostgresServer

PID = "SELECT pg_backend_pid()"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def database(server: PostgresServer) -> str:
    name = server.create_database()
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE counter (n int)")
        connection.execute("CREATE ROLE other")
    return name


@pytest.fixture
def pooler(server: PostgresServer, database: str) -> Iterator[Pooler]:
    with Pooler.started(server.url(database)) as pooler:
        yield pooler


@pytest.fixture
def url(server: PostgresServer, database: str, pooler: Pooler) -> str:
    return server.url(database, port=pooler.port)


def connect(url: str) -> psycopg.Connection[Any]:
    """An autocommitting client."""
    return psycopg.connect(url, autocommit=True, prepare_threshold=None)


def ask(client: psycopg.Connection[Any], query: str) -> Any:
    """The one value of its one row."""
    row = client.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("SET lock_timeout = '7s'", "setting lock_timeout"),
        ("SELECT set_config('lock_timeout', '7s', false)", "setting lock_timeout"),
        ("PREPARE one AS SELECT 1", "prepared one"),
        ("SELECT pg_advisory_lock(5)", "lock 5"),
        ("LISTEN news", "channel news"),
        ("CREATE TEMPORARY TABLE passing (n int)", "temporary passing"),
        ("DECLARE one CURSOR WITH HOLD FOR SELECT 1", "cursor one"),
        ("SET ROLE other", "role other"),
    ],
)
def test_what_a_client_leaves_behind_is_seen_and_met_by_the_next(
    pooler: Pooler, url: str, statement: str, left: str
) -> None:
    with connect(url) as client, connect(url) as other, psycopg.connect(url) as busy:
        busy.execute("SELECT 1")  # so that the two others have one server connection between them
        client.execute("SELECT 1")
        assert pooler.left_behind == set()
        client.execute(statement)
        assert pooler.left_behind == {left}
        assert {found for (found,) in other.execute(LEFT_BEHIND).fetchall()} == {left}


def test_what_ends_with_its_transaction_is_not_left_behind(pooler: Pooler, url: str) -> None:
    with psycopg.connect(url) as client:
        client.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        client.execute("SET LOCAL lock_timeout = '7s'")
        client.execute("SELECT pg_advisory_xact_lock(5)")
        client.execute("CREATE TEMPORARY TABLE passing (n int) ON COMMIT DROP")
        client.execute("SET LOCAL ROLE other")
        client.commit()
    assert pooler.transactions == 1
    assert pooler.left_behind == set()


def test_a_client_has_a_server_connection_for_a_transaction_and_the_next_has_it_then(
    pooler: Pooler, url: str
) -> None:
    with psycopg.connect(url) as first, psycopg.connect(url) as second, connect(url) as third:
        pids = {ask(client, PID) for client in (first, second)}
        assert len(pids) == 2
        assert {ask(client, PID) for client in (first, second)} == pids
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.append(ask(third, PID)))
        waiting.start()
        until(lambda: len(pooler._waiting) == 1)
        mine = ask(first, PID)
        assert found == []
        first.commit()
        waiting.join(PATIENCE)
        assert found == [mine]
    assert pooler.handed_on == 1
    assert pooler.pids == pids


def test_several_questions_at_once_are_one_client_s_until_all_are_answered(pooler: Pooler, url: str) -> None:
    with connect(url) as client, connect(url) as other:
        with client.pipeline():
            cursors = [client.execute("SELECT pg_backend_pid(), %s", [number]) for number in range(5)]
        assert [row[1] for cursor in cursors for row in cursor.fetchall()] == list(range(5))
        text = "x" * 3_000_000
        row = other.execute("SELECT %s::text", [text]).fetchone()
        assert row == (text,)
        with other.cursor() as cursor, cursor.copy("COPY counter FROM STDIN") as copy:
            copy.write_row([1])
        assert ask(client, "SELECT count(*) FROM counter") == 1
        client.execute("TRUNCATE counter")
    assert pooler.left_behind == set()


def test_a_client_that_breaks_off_inside_a_transaction_ends_its_server_connection(
    server: PostgresServer, database: str, pooler: Pooler, url: str
) -> None:
    with connect(url) as other, psycopg.connect(url) as client:
        client.execute("SELECT pg_advisory_lock(5)")
        client.execute("INSERT INTO counter VALUES (1)")
        pid = ask(client, PID)
        with socket.socket(fileno=client.fileno()) as held:
            held.shutdown(socket.SHUT_RDWR)
            held.detach()
        until(lambda: pid not in server.backend_pids(database))
        for _ in range(4):
            assert ask(other, PID) != pid
            assert ask(other, "SELECT count(*) FROM counter") == 0
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    assert pooler.left_behind == set()
    assert len(pooler.pids) == 3


def test_a_client_that_leaves_while_it_waits_has_asked_nothing(pooler: Pooler, url: str) -> None:
    with ExitStack() as busy:
        holders = [busy.enter_context(psycopg.connect(url)) for _ in range(2)]
        for holder in holders:
            holder.execute("SELECT 1")
        client = connect(url)
        client.pgconn.send_query(b"INSERT INTO counter VALUES (1)")
        client.pgconn.flush()
        until(lambda: len(pooler._waiting) == 1)
        client.close()
        until(lambda: not pooler._waiting)
    with connect(url) as client:
        assert ask(client, "SELECT count(*) FROM counter") == 0


def test_a_cancel_request_ends_what_its_sender_is_having_done_and_nothing_else(
    server: PostgresServer, pooler: Pooler, url: str
) -> None:
    def asleep() -> bool:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        with psycopg.connect(server.superuser_url) as look:
            return bool(ask(look, query) == 1)

    def cancel() -> None:
        until(asleep)
        other.cancel_safe()  # has nothing done
        client.cancel_safe()

    with connect(url) as client, connect(url) as other:
        with beside(cancel), pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("SELECT pg_sleep(%s)", [PATIENCE])
        assert {ask(each, "SELECT 1") for each in (client, other) * 2} == {1}
    assert len(pooler.pids) == 2


def test_a_client_whose_server_connection_is_lost_is_told_so_and_the_others_go_on(
    server: PostgresServer, pooler: Pooler, url: str
) -> None:
    with psycopg.connect(url) as client, connect(url) as other:
        pid = ask(client, PID)
        server.terminate(pid)
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
        assert {ask(other, "SELECT 1") for _ in range(4)} == {1}
    until(lambda: len(pooler.pids) == 3)


@pytest.mark.parametrize(
    "options",
    [{"options": "-c lock_timeout=7s"}, {"client_encoding": "LATIN1"}, {"dbname": "postgres"}],
    ids=str,
)
def test_what_would_be_a_session_s_own_is_refused_at_startup(url: str, options: dict[str, str]) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"unsupported|no such"):
        connect(with_options(url, **options))


def test_a_closed_pooler_has_no_connection_and_no_thread(server: PostgresServer, database: str) -> None:
    with Pooler.started(server.url(database)) as pooler:
        client = connect(server.url(database, port=pooler.port))
        assert "pooler" in {thread.name for thread in threading.enumerate()}
    with client, pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    assert "pooler" not in {thread.name for thread in threading.enumerate()}
    until(lambda: not pooler.pids & server.backend_pids(database))
