"""A removal of many that an engine breaks off in its middle: all of it stays."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from txmemory import Corrupted, Filter, Memory, Store, Unavailable, either, must
from txmemory.testing.portable_file import PortableSqliteFile
from txmemory.testing.server import PostgresServer
from txmemory.testing.sync.portable import PortableSchema
from txmemory.testing.sync.storage import PostgresSchema, SqliteFile, Storage

IN_FILE = """
CREATE TRIGGER fourth BEFORE UPDATE OF live ON txm_item
WHEN NEW.live = 0 AND (SELECT count(*) FROM txm_item WHERE live = 0) = 3
BEGIN SELECT RAISE(ABORT, 'the fourth'); END
"""
ON_SERVER = """
CREATE FUNCTION {schema}.fourth() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.live = 0 AND (SELECT count(*) FROM {schema}.item WHERE live = 0) = 3 THEN
        RAISE EXCEPTION 'the fourth' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fourth BEFORE UPDATE ON {schema}.item FOR EACH ROW EXECUTE FUNCTION {schema}.fourth();
"""
EVEN = {
    "decided by heads": Filter.by_metadata("parity", "even"),
    "decided by the database": Filter.content_contains("even"),
    "decided after reading": Filter.custom(lambda memory: memory.content == "even"),
}


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> str:
    return server.url(database=server.create_database())


@pytest.fixture(params=["sqlite", "portable-sqlite", "postgres", "portable-postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    made: dict[str, Callable[[], Storage]] = {
        "sqlite": lambda: SqliteFile(tmp_path),
        "portable-sqlite": lambda: PortableSqliteFile(tmp_path),
        "postgres": lambda: PostgresSchema(request.getfixturevalue("url")),
        "portable-postgres": lambda: PortableSchema(request.getfixturevalue("url"), "READ COMMITTED"),
    }
    with closing(made[request.param]()) as place:
        yield place


def execute(place: Storage, url: Callable[[], str], in_file: str, on_server: str) -> None:
    """By a connection of its own, of somebody who may do anything."""
    match place:
        case SqliteFile(path=path):
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute(in_file)
        case PostgresSchema(schema=schema) | PortableSchema(schema=schema):
            with psycopg.connect(url(), autocommit=True) as server:
                server.execute(on_server.format(schema=schema).encode())
        case _:
            raise AssertionError("not a place with a trigger")


def met(store: Store, filter: Filter) -> object:
    try:
        return either(store.delete_matching(filter))
    except Corrupted:
        return Corrupted


@pytest.mark.parametrize("way", EVEN)
def test_a_removal_that_fails_at_its_fourth_memory_ends_none(
    place: Storage, way: str, request: pytest.FixtureRequest
) -> None:
    """Neither heads nor history nor log show anything of it, and the store goes on."""

    def url() -> str:
        server: str = request.getfixturevalue("url")
        return server

    store = place.open()
    parities = ["odd" if n % 2 else "even" for n in range(20)]
    must(
        store.store_all(Memory(each, id=f"{n}", metadata={"parity": each}) for n, each in enumerate(parities))
    )
    execute(place, url, IN_FILE, ON_SERVER)
    before = place.digest()
    assert met(store, EVEN[way]) in (Corrupted, Unavailable("53100"))
    assert place.digest() == before
    assert must(store.count()) == 20
    assert must(store.delete_matching(Filter.custom(lambda memory: memory.id in ("0", "1", "2")))) == 3
    execute(place, url, "DROP TRIGGER fourth", "DROP TRIGGER fourth ON {schema}.item")
    assert must(store.delete_matching(EVEN[way])) == 8
    assert must(store.count()) == 9
