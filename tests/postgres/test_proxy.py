"""What a client and a server see of each other through a proxy that cuts, stalls, delays and counts."""

import os
import socket
import struct
import threading
import time
import warnings
from collections.abc import Iterator
from typing import get_args

import psycopg
import pytest

from tests.postgres.watching import PATIENCE, until
from txmemory.testing.faults import Where
from txmemory.testing.proxy import Cut, Message, Proxy, Stall
from txmemory.testing.server import PostgresServer

QUERY, PARSE, BIND, EXECUTE, SYNC = (
    Message("frontend", kind) for kind in ("Query", "Parse", "Bind", "Execute", "Sync")
)
ROW, COMPLETE, READY = (Message("backend", kind) for kind in ("DataRow", "CommandComplete", "ReadyForQuery"))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    name = server.create_database()
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE counter (n int)")
        connection.execute("INSERT INTO counter VALUES (0)")
    yield name
    server.drop_database(name)


@pytest.fixture
def proxy(server: PostgresServer) -> Iterator[Proxy]:
    with psycopg.connect(server.superuser_url) as connection:
        host, port = connection.info.host, connection.info.port
    with Proxy.started(host, port) as proxy:
        yield proxy


def connect(server: PostgresServer, database: str, proxy: Proxy) -> psycopg.Connection:
    """An autocommitting connection through the proxy, with nothing prepared behind anybody's back."""
    return psycopg.connect(
        server.url(database, port=proxy.port), autocommit=True, prepare_threshold=None, connect_timeout=30
    )


def counter(server: PostgresServer, database: str) -> int:
    with psycopg.connect(server.url(database)) as connection:
        row = connection.execute("SELECT n FROM counter").fetchone()
    assert row is not None
    return int(row[0])


def sleeping(server: PostgresServer, pid: int) -> bool:
    with psycopg.connect(server.superuser_url) as connection:
        row = connection.execute(
            "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s", [pid]
        ).fetchone()
    return row == (True,)


def raise_counter(connection: psycopg.Connection) -> None:
    connection.execute("UPDATE counter SET n = n + %s RETURNING n", [1])


CUTS = [
    *(
        (Cut(on, where), "untouched")
        for on in (PARSE, BIND, EXECUTE)
        for where in ("before", "inside", "after")
    ),
    (Cut(SYNC, "before"), "untouched"),
    (Cut(SYNC, "inside"), "untouched"),
    (Cut(SYNC, "after"), "either"),
    *((Cut(on, "reply"), "raised") for on in (PARSE, BIND, EXECUTE, SYNC)),
    *((Cut(on, where), "raised") for on in (ROW, COMPLETE, READY) for where in ("before", "inside")),
    *((Cut(on, "after"), "raised") for on in (ROW, COMPLETE)),
]


@pytest.mark.parametrize(("cut", "outcome"), CUTS, ids=lambda value: getattr(value, "where", value))
def test_a_cut_is_an_error_to_the_client_and_a_gone_client_to_the_server(
    server: PostgresServer, database: str, proxy: Proxy, cut: Cut, outcome: str
) -> None:
    with connect(server, database, proxy) as connection:
        pid = connection.info.backend_pid
        assert pid in server.backend_pids(database)
        planned = proxy.plan(cut)
        with pytest.raises(psycopg.OperationalError):
            raise_counter(connection)
        planned.wait()
        assert connection.closed
    until(lambda: pid not in server.backend_pids(database))
    # What was cut off before the Sync that commits it cannot have happened; what was answered has.
    assert counter(server, database) in {"untouched": {0}, "raised": {1}, "either": {0, 1}}[outcome]


def test_a_cut_is_a_reset(proxy: Proxy) -> None:
    proxy.plan(Cut(Message("frontend", "StartupMessage")))
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.sendall(struct.pack("!ii", 8, 3 << 16))
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_cut_after_the_last_message_of_an_answer_is_found_by_the_next_call(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        planned = proxy.plan(Cut(READY, "after"))
        raise_counter(connection)
        planned.wait()
        with pytest.raises(psycopg.OperationalError):
            raise_counter(connection)
    assert counter(server, database) == 1


def test_a_commit_whose_answer_is_cut_off_has_happened_and_looks_like_a_failure(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        connection.autocommit = False
        raise_counter(connection)
        planned = proxy.plan(Cut(QUERY, "reply"))
        with pytest.raises(psycopg.OperationalError) as raised:
            connection.commit()
        assert planned.reached
        assert raised.value.sqlstate is None
    assert counter(server, database) == 1


def test_a_commit_that_is_cut_off_before_it_arrives_looks_the_same_and_has_not_happened(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        connection.autocommit = False
        raise_counter(connection)
        proxy.plan(Cut(QUERY, "before"))
        with pytest.raises(psycopg.OperationalError) as raised:
            connection.commit()
        assert raised.value.sqlstate is None
    assert counter(server, database) == 0


def test_a_fault_waits_for_its_message_and_its_connection(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as first, connect(server, database, proxy) as second:
        planned = proxy.plan(Cut(EXECUTE, "before", skip=2, connection=1))
        for _ in range(4):
            raise_counter(first)
        raise_counter(second)
        raise_counter(second)
        assert not planned.reached
        with pytest.raises(psycopg.OperationalError):
            raise_counter(second)
        raise_counter(first)
    assert counter(server, database) == 7


@pytest.mark.parametrize("where", get_args(Where))
def test_a_stalled_call_goes_on_when_it_is_released(
    server: PostgresServer, database: str, proxy: Proxy, where: Where
) -> None:
    with connect(server, database, proxy) as connection:
        planned = proxy.plan(Stall(EXECUTE, where))
        call = threading.Thread(target=raise_counter, args=(connection,))
        call.start()
        planned.wait()
        if where == "reply":
            until(lambda: counter(server, database) == 1)
        else:
            assert counter(server, database) == 0
        assert call.is_alive()
        assert proxy.round_trips == 0
        proxy.release()
        call.join(PATIENCE)
        assert not call.is_alive()
        raise_counter(connection)
    assert counter(server, database) == 2


def test_a_stall_of_answers_lets_questions_through(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        proxy.stall("backend")
        call = threading.Thread(target=raise_counter, args=(connection,))
        call.start()
        until(lambda: counter(server, database) == 1)
        assert call.is_alive()
        proxy.release()
        call.join(PATIENCE)
        assert not call.is_alive()


def test_a_stalled_connection_can_be_cut(server: PostgresServer, database: str, proxy: Proxy) -> None:
    failures: list[BaseException] = []

    def call() -> None:
        try:
            raise_counter(connection)
        except psycopg.OperationalError as error:
            failures.append(error)

    with connect(server, database, proxy) as connection:
        planned = proxy.plan(Stall(BIND))
        calling = threading.Thread(target=call)
        calling.start()
        planned.wait()
        proxy.cut()
        calling.join(PATIENCE)
    assert len(failures) == 1
    assert counter(server, database) == 0


def test_a_prepared_call_is_one_round_trip(server: PostgresServer, database: str, proxy: Proxy) -> None:
    with connect(server, database, proxy) as connection:
        assert proxy.round_trips == 0
        connection.prepare_threshold = 0
        raise_counter(connection)
        proxy.forget()
        raise_counter(connection)
        assert proxy.round_trips == 1
        asked = [seen.message.kind for seen in proxy.messages if seen.message.direction == "frontend"]
        assert asked == ["Bind", "Describe", "Execute", "Sync"]
        answered = [seen.message.kind for seen in proxy.messages if seen.message.direction == "backend"]
        assert answered == ["BindComplete", "RowDescription", "DataRow", "CommandComplete", "ReadyForQuery"]


def test_a_transaction_of_one_statement_is_three_round_trips(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        connection.autocommit = False
        raise_counter(connection)
        connection.commit()
        assert proxy.round_trips == 3


def test_a_pipeline_is_one_round_trip(server: PostgresServer, database: str, proxy: Proxy) -> None:
    with connect(server, database, proxy) as connection:
        with connection.pipeline():
            for _ in range(5):
                raise_counter(connection)
        assert [seen.message for seen in proxy.messages].count(EXECUTE) == 5
        assert proxy.round_trips == 1


def test_a_round_trip_takes_both_delays(server: PostgresServer, database: str, proxy: Proxy) -> None:
    there, back = 0.02, 0.03
    with connect(server, database, proxy) as connection:
        proxy.delay(frontend=there, backend=back)
        proxy.forget()
        began = time.perf_counter()
        for _ in range(3):
            raise_counter(connection)
        # A delay has no upper bound on a busy machine, but it is never less than what was asked for.
        assert time.perf_counter() - began >= 3 * (there + back)
        assert proxy.round_trips == 3


def test_large_messages_pass_whole_and_are_counted(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    text = "x" * 5_000_000
    with connect(server, database, proxy) as connection:
        proxy.forget()
        row = connection.execute("SELECT %s::text", [text]).fetchone()
        assert row == (text,)
        counts = proxy.counts
        assert counts.bytes["frontend"] > len(text)
        assert counts.bytes["backend"] > len(text)
        assert counts.messages["frontend"] == 5
        assert max(seen.size for seen in proxy.messages) < len(text) + 100


def test_what_is_copied_in_is_one_question_of_several_messages(
    server: PostgresServer, database: str, proxy: Proxy
) -> None:
    with connect(server, database, proxy) as connection:
        with connection.cursor() as cursor, cursor.copy("COPY counter FROM STDIN") as copy:
            copy.write_row([1])
        planned = proxy.plan(Cut(EXECUTE, "reply"))
        with pytest.raises(psycopg.OperationalError):
            raise_counter(connection)
        assert planned.reached


def test_a_cancel_request_goes_through(server: PostgresServer, database: str, proxy: Proxy) -> None:
    def cancel() -> None:
        until(lambda: sleeping(server, connection.info.backend_pid))
        connection.cancel_safe()

    with connect(server, database, proxy) as connection:
        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(%s)", [PATIENCE])
        canceller.join(PATIENCE)
    assert "CancelRequest" in {seen.message.kind for seen in proxy.messages}


def test_a_forked_copy_keeps_no_connection_open(server: PostgresServer, database: str, proxy: Proxy) -> None:
    with connect(server, database, proxy) as connection:
        pid = connection.info.backend_pid
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            # Newer Pythons warn of threads that hold locks during a fork; this copy only waits.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        os.close(reading)
        proxy.cut()
        until(lambda: pid not in server.backend_pids(database))
        os.close(writing)
        os.waitpid(child, 0)


def test_a_closed_proxy_has_no_connection_and_no_thread(server: PostgresServer, database: str) -> None:
    with psycopg.connect(server.superuser_url) as connection:
        host, port = connection.info.host, connection.info.port
    with Proxy.started(host, port) as proxy:
        through = connect(server, database, proxy)
        assert "proxy" in {thread.name for thread in threading.enumerate()}
    with through, pytest.raises(psycopg.OperationalError):
        raise_counter(through)
    assert "proxy" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(psycopg.OperationalError):
        connect(server, database, proxy)
