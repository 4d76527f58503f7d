"""`migrate` makes one schema however many ask for it; opening only looks, and says what is wrong."""

import asyncio
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

import txmemory
from tests.tidy.project import ROOT
from txmemory import CannotOpen, Memory, SchemaMismatch, must
from txmemory.backends.postgres import dialect
from txmemory.backends.sql import versions
from txmemory.backends.sql.tables import KNOWN_VERSIONS
from txmemory.testing.roles import with_options
from txmemory.testing.server import PostgresServer
from txmemory.testing.shared import digest_of_schema

ODD = [
    "Upper Case",
    'quo"ted',
    '"',
    "'single'",
    "пам'ять",
    "e\u0301",
    "a.b",
    "50% %s %(x)s",
    "{} @schema@",
    "back\\slash\n",
    "$1",
    "a+b&c=d",
    "select",
    "x" * 63,
]
MIGRATING = """
import sys, txmemory
print("ready", flush=True)
sys.stdin.readline()
txmemory.migrate(sys.argv[1])
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    """Of a database without a schema of ours."""
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)


def opened(url: str, way: str, deadline: float = 10.0) -> None:
    """Opens a store and closes it, blocking or awaited."""

    async def awaited() -> None:
        async with txmemory.open_async(url, deadline=deadline):
            pass

    if way == "aio":
        asyncio.run(awaited())
    else:
        txmemory.open(url, deadline=deadline).close()


def stamp(url: str, version: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE txmemory.schema SET version_num = %s", [version])


def schemas(url: str) -> list[str]:
    """The schemas that hold tables of ours, by name."""
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'revision'").fetchall()
    return sorted(name for (name,) in found)


@pytest.mark.parametrize("way", ["aio", "sync"])
def test_opening_makes_nothing_where_nothing_is(url: str, way: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"txmemory\.migrate"):
        opened(url, way)
    assert schemas(url) == []


@pytest.mark.parametrize("way", ["aio", "sync"])
def test_another_version_is_refused_and_left_as_it_is(
    url: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    txmemory.migrate(url)
    stamp(url, "9999")
    before = digest_of_schema(url, "txmemory")
    with pytest.raises(SchemaMismatch, match="newer"):
        opened(url, way)
    with pytest.raises(SchemaMismatch, match="newer"):
        txmemory.migrate(url)
    stamp(url, "0000")
    monkeypatch.setattr(versions, "KNOWN_VERSIONS", ("0000", *KNOWN_VERSIONS))
    with pytest.raises(SchemaMismatch, match=r"older.*txmemory\.migrate"):
        opened(url, way)
    stamp(url, "9999")
    assert digest_of_schema(url, "txmemory") == before


def test_tables_without_a_version_are_refused(url: str) -> None:
    txmemory.migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM txmemory.schema")
    for refusing in (txmemory.migrate, lambda url: opened(url, "sync")):
        with pytest.raises(SchemaMismatch):
            refusing(url)


def test_tables_that_are_not_ours_are_left_alone(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA txmemory CREATE TABLE scope (theirs int)")
    with pytest.raises(CannotOpen) as refused:
        txmemory.migrate(url)
    assert refused.value.code == "42P07"
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT * FROM txmemory.scope").description is not None
    assert schemas(url) == []


def test_processes_that_migrate_at_once_make_one_schema(url: str) -> None:
    with psycopg.connect(url) as connection:  # where each statement would see what the first one saw
        default = sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'")
        connection.execute(default.format(sql.Identifier(connection.info.dbname)))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATING, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0)] * 4
    assert schemas(url) == ["txmemory"]
    opened(url, "sync")


def test_a_migration_waits_for_another_no_longer_than_its_deadline(url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [dialect.MIGRATING])
        with pytest.raises(CannotOpen) as refused:
            txmemory.migrate(url, deadline=0.5)
    assert refused.value.code == "55P03"
    assert schemas(url) == []


def test_migrating_again_keeps_all_rows_and_brings_the_function_to_the_release(url: str) -> None:
    txmemory.migrate(url)
    with txmemory.open(url) as store:
        must(store.writer("run", token=1).write("key", [Memory("green tea")]))
    before = digest_of_schema(url, "txmemory")
    with psycopg.connect(url) as connection:
        source = "SELECT prosrc FROM pg_proc WHERE proname = 'commit_v1'"
        text = connection.execute(source).fetchone()
        connection.execute(
            "DO $do$ BEGIN EXECUTE replace(pg_get_functiondef('txmemory.commit_v1'::regproc),"
            " 'v_seq + v_events', 'v_seq + 7'); END $do$"
        )
        assert connection.execute(source).fetchone() != text
    txmemory.migrate(url)
    assert digest_of_schema(url, "txmemory") == before
    with psycopg.connect(url) as connection:
        assert connection.execute(source).fetchone() == text


@pytest.mark.parametrize("name", ODD)
def test_a_schema_may_have_any_name(url: str, name: str) -> None:
    there = with_options(url, schema=name)
    txmemory.migrate(there)
    txmemory.migrate(there)
    assert schemas(url) == [name]
    for way in ("aio", "sync"):
        opened(there, way)
    with txmemory.open(there) as store:
        writer = store.writer("run", token=1)
        assert not must(writer.write("key", [Memory("green tea", id="tea")])).replayed
        assert must(writer.write("key", [Memory("green tea", id="tea")])).replayed
        assert must(store.recall())[0].content == "green tea"
        assert must(store.delete("tea"))
        assert must(store.clear()) == 0


@pytest.mark.parametrize("name", ["", "x" * 64, "\u00e9" * 32, "a\0", "$$", "a$$b"])
def test_what_cannot_be_a_schema_s_name_is_refused(url: str, name: str) -> None:
    with pytest.raises(ValueError):
        txmemory.migrate(with_options(url, schema=name))
    assert schemas(url) == []


def test_schemas_of_one_database_know_nothing_of_each_other(url: str) -> None:
    one, other = (with_options(url, schema=name) for name in ("one", "ONE"))
    for each in (one, other):
        txmemory.migrate(each)
    with txmemory.open(one) as store:
        must(store.store(Memory("green tea", id="tea")))
    with txmemory.open(other) as store:
        assert must(store.count()) == 0


@pytest.mark.parametrize("way", ["aio", "sync"])
def test_a_server_that_cannot_be_reached_is_told_without_what_the_url_holds(
    server: PostgresServer, way: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nobody = silent.getsockname()[1]
        mute = f"postgresql://kanarie:kanarie@127.0.0.1:{nobody}/kanarie"
        wrong = "kanarie"
        refusals = {
            "answer in time": mute,
            "asks for a password": server.url(user="kanarie"),
            "cannot be reached": server.url("kanarie"),
            "its password": server.url(user="postgres", password=wrong),
            "reached, or": "postgresql://kanarie:kanarie@kanarie.invalid/kanarie",
        }
        for why, place in refusals.items():
            for refusing in (partial(opened, way=way), txmemory.migrate):
                with pytest.raises(CannotOpen, match=why) as refused:
                    refusing(place, deadline=1.0)
                shown = traceback.TracebackException.from_exception(refused.value).format_exception_only()
                assert "kanarie" not in f"{refused.value!r} {''.join(shown)}"
                assert refused.value.__cause__ is None
                assert refused.value.__suppress_context__
                assert refused.value.code == "CONNECTION"


def test_an_option_that_the_driver_does_not_know_is_a_wrong_argument(url: str) -> None:
    for refusing in (txmemory.open, txmemory.migrate):
        with pytest.raises(ValueError, match="option") as refused:
            refusing(with_options(url, kanarie="kanarie"))
        assert "kanarie" not in str(refused.value)


def test_options_reach_the_driver_as_they_were_given(url: str) -> None:
    txmemory.migrate(url)
    for name, spelled in (("a+b c%20&=", quote("a+b c%20&=")), ("a+b", "a+b")):
        with txmemory.open(f"{url}?application_name={spelled}") as store, psycopg.connect(url) as other:
            must(store.count())
            found = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = %s"
            assert other.execute(found, [name]).fetchone() == (True,)


def test_opening_waits_for_others_no_longer_than_its_deadline(url: str) -> None:
    txmemory.migrate(url)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE txmemory.schema IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(CannotOpen):
            txmemory.open(url, deadline=1)
    txmemory.open(url).close()
