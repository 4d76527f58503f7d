"""How a portable store is opened, and what is refused in which words."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import create_async_engine

import txmemory
from txmemory import Bounds, CannotOpen, Memory, SchemaMismatch, must
from txmemory.backends.portable.ground import ground_of
from txmemory.backends.postgres.dialect import MIGRATING, PRIVILEGES, grants
from txmemory.testing.server import PostgresServer


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.url(server.create_database())


def test_a_dialect_that_is_not_spoken_is_refused() -> None:
    with pytest.raises(CannotOpen, match=r"^the engine's dialect must be PostgreSQL's or SQLite's$"):
        ground_of("mysql")


@pytest.mark.parametrize("given", [{}, {"url": "memory://", "engine": create_engine("sqlite://")}])
def test_a_store_has_one_place(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="by its url or by an engine"):
        txmemory.open(**given)


def test_an_engine_is_of_the_kind_that_the_caller_waits_with() -> None:
    blocking, awaited = create_engine("sqlite://"), create_async_engine("postgresql+psycopg://nowhere/x")
    with pytest.raises(TypeError, match="open_async takes an AsyncEngine"):
        txmemory.open(engine=awaited)  # type: ignore[arg-type]  # what is refused

    async def opened() -> None:
        with pytest.raises(TypeError, match="open takes an Engine"):
            await txmemory.open_async(engine=blocking)  # type: ignore[arg-type]  # what is refused
        with pytest.raises(ValueError, match="blocks"):
            await txmemory.open_async("portable+sqlite:///x.db")

    asyncio.run(opened())


def test_a_server_that_is_not_there_cannot_be_opened_and_no_secret_is_told() -> None:
    with pytest.raises(CannotOpen) as refused:
        txmemory.open("portable+postgresql://someone:secret@127.0.0.1:1/there", deadline=1)
    assert "secret" not in str(refused.value)
    assert "someone" not in str(refused.value)


def test_opening_makes_no_tables_on_a_server(url: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"run txmemory\.migrate"):
        txmemory.open(f"portable+{url}")
    txmemory.migrate(f"portable+{url}")
    txmemory.migrate(f"portable+{url}")
    txmemory.open(f"portable+{url}").close()


def test_both_ways_to_a_server_see_the_same_store(url: str) -> None:
    """A deployment may change from one to the other: the tables are the same."""
    txmemory.migrate(f"portable+{url}?schema=ours")
    with txmemory.open(f"portable+{url}?schema=ours") as plain, txmemory.open(f"{url}?schema=ours") as native:
        first = must(plain.writer("run", 1).write("step-1", [Memory("a", id="a")]))
        again = must(native.writer("run", 1).write("step-1", [Memory("a", id="a")]))
        assert (again.replayed, again.diverged, again.outcome) == (True, False, first.outcome)
        second = must(native.writer("run", 2).write("step-2", [Memory("b", id="a")]))
        assert must(plain.writer("run", 2).applied("step-2")) == second.outcome
        assert must(plain.history("a")) == must(native.history("a"))


def test_a_borrowed_engine_stays_open(url: str) -> None:
    txmemory.migrate(f"portable+{url}")
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with txmemory.open(engine=engine) as store:
        must(store.store(Memory("a")))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM txmemory.item").scalar() == 1
    engine.dispose()


def test_a_file_is_made_on_opening(tmp_path: Path) -> None:
    url = f"portable+sqlite:///{tmp_path}/ours.db"
    with txmemory.open(url) as store:
        must(store.writer("run", 1).write("step-1", [Memory("a", id="a")]))
    with txmemory.open(url) as again:
        assert must(again.writer("run", 1).write("step-1", [Memory("a", id="a")])).replayed


def test_both_ways_to_a_file_see_the_same_store(tmp_path: Path) -> None:
    """Whoever made it: nobody misses a table."""
    for maker, user in (("", "portable+"), ("portable+", "")):
        place = f"sqlite:///{tmp_path}/by{maker}.db"
        with txmemory.open(f"{maker}{place}") as store:
            must(store.store(Memory("a", id="a")))
        with txmemory.open(f"{user}{place}") as store:
            evicted = must(store.store(Memory("b"), bounds=Bounds(max_memories=1))).evicted
            assert [ref.id for ref in evicted] == ["a"]


def test_a_url_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="url must look like") as refused:
        txmemory.open("portable+postgresql://u:p@s:s3cret@h/db")
    assert "s3cret" not in str(refused.value)


def test_an_engine_that_commits_by_itself_is_refused(url: str) -> None:
    txmemory.migrate(url)
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with pytest.raises(CannotOpen, match="autocommit"):
        txmemory.open(engine=engine)
    engine.dispose()


@pytest.mark.parametrize("scheme", ["", "portable+"])
def test_a_database_or_connection_of_another_encoding_is_refused_or_overruled(
    server: PostgresServer, scheme: str
) -> None:
    """What cannot be encoded would be met in the middle of a write, in an error that holds it."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        name = f"latin_{scheme.rstrip('+')}"
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(CannotOpen, match="UTF8"):
        txmemory.migrate(scheme + server.url(name))
    with pytest.raises(CannotOpen, match="UTF8"):
        txmemory.open(scheme + server.url(name))


def test_the_encoding_of_a_connection_is_ours(url: str) -> None:
    txmemory.migrate(url)
    with txmemory.open(f"{url}?client_encoding=latin1") as store:
        must(store.store(Memory("चाय", id="a")))
        found = must(store.get("a"))
        assert found is not None
        assert found.content == "चाय"
    with pytest.raises(CannotOpen, match="UTF8"):
        txmemory.open(f"portable+{url}?client_encoding=latin1")


def test_a_role_is_granted_by_either_migration(server: PostgresServer) -> None:
    name = server.create_database()
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        connection.execute(f"GRANT CONNECT ON DATABASE {name} TO plain")
    txmemory.migrate(f"portable+{server.url(name)}", runtime_role="plain")
    url = server.url(name, user="plain", password="plain")  # noqa: S106 - of this test alone
    for scheme in ("", "portable+"):
        with txmemory.open(scheme + url) as store:
            must(store.writer(f"run{scheme}", 1).write("step", [Memory("a")]))
    with pytest.raises(CannotOpen):
        txmemory.migrate(f"portable+{server.url(name)}", runtime_role="nobody of this name")
    with pytest.raises(ValueError, match="opening it does that"):
        txmemory.migrate("portable+sqlite:///x.db", runtime_role="plain")


def test_a_schema_that_cannot_be_named_is_refused_alike(url: str) -> None:
    for scheme in ("", "portable+"):
        with pytest.raises(ValueError, match="schema"):
            txmemory.migrate(f"{scheme}{url}?schema=a$$b")
        with pytest.raises(ValueError, match="schema"):
            txmemory.migrate(f"{scheme}{url}?schema={'a' * 64}")


def test_a_connection_to_another_database_is_not_joined(server: PostgresServer, url: str) -> None:
    other = server.url(server.create_database())
    for each in (url, other):
        txmemory.migrate(each)
    elsewhere = create_engine(other.replace("postgresql://", "postgresql+psycopg://"))
    with (
        txmemory.open(f"portable+{url}") as store,
        elsewhere.begin() as connection,
        pytest.raises(ValueError, match="another database"),
    ):
        store.joined(connection)
    elsewhere.dispose()


def test_an_aborted_transaction_is_not_joined(url: str) -> None:
    txmemory.migrate(url)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with txmemory.open(engine=engine) as store, engine.connect() as connection:
        connection.begin()
        with pytest.raises(ProgrammingError):
            connection.exec_driver_sql("SELECT nothing_of_this_name()")
        with pytest.raises(ValueError, match="aborted"):
            store.joined(connection).writer("run", 1).write("step", [])
        connection.rollback()
    engine.dispose()


def test_a_migration_waits_for_others_no_longer_than_its_deadline(url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATING])
        with pytest.raises(CannotOpen, match=r"\((55P03|57014)\)"):
            txmemory.migrate(f"portable+{url}", deadline=1)


def test_an_option_that_the_driver_does_not_know_is_no_damage(url: str) -> None:
    with pytest.raises(CannotOpen, match=r"\(ProgrammingError\)"):
        txmemory.open(f"portable+{url}?nothing_of_this_name=1")


@pytest.mark.parametrize(("version", "words"), [("9999", "newer"), ("0000", "newer"), (None, "missing")])
def test_another_version_is_told_as_on_the_other_way(url: str, version: str | None, words: str) -> None:
    if version is not None:
        txmemory.migrate(url)
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE txmemory.schema SET version_num = %s", [version])
        with pytest.raises(SchemaMismatch, match=words):
            txmemory.migrate(f"portable+{url}")
    for scheme in ("", "portable+"):
        with pytest.raises(SchemaMismatch, match=words):
            txmemory.open(scheme + url)


def test_where_no_function_runs_none_is_granted() -> None:
    with_it, without = (grants("txmemory", "agent", functions=there) for there in (True, False))
    assert [each for each in with_it if each not in without] == [
        "GRANT EXECUTE ON FUNCTION txmemory.commit_v1 TO agent",
        "GRANT EXECUTE ON FUNCTION txmemory.lease_v1 TO agent",
    ]
    assert len(without) == len(PRIVILEGES) + 1
