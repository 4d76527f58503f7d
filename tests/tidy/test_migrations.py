"""A fresh schema is created, an older one is migrated: both roads end at the same tables and work alike."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

import txmemory
from tests.crash.operations import OPERATIONS, TOKEN, opened, prepare
from tests.crash.snapshot import snapshot
from txmemory import Memory, must
from txmemory.backends.sql import migrations
from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION
from txmemory.backends.sqlite.dialect import TABLES
from txmemory.backends.sqlite.migrating import migrate
from txmemory.backends.sqlite.schema import version_of
from txmemory.testing.shared import digest_of_tables


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def schema_of(path: Path) -> list[tuple[object, ...]]:
    """Every table with its columns, and every index as it was asked for and those that the engine adds for keys."""
    with closing(connected(path)) as connection:
        found = connection.execute(
            "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema"
        ).fetchall()
        tables = {name for kind, name, *_ in found if kind == "table"}
        columns = [
            ("column", name, *column)
            for name in tables
            for column in connection.execute("SELECT * FROM pragma_table_xinfo(?)", [name])
        ]
        options = connection.execute("SELECT 'option', name, type, ncol, wr, strict FROM pragma_table_list")
        named = [(kind, name, table, "" if kind == "table" else sql) for kind, name, table, sql in found]
        return sorted([*named, *columns, *options.fetchall()], key=repr)


@pytest.fixture
def created(tmp_path: Path) -> Path:
    """A file that was fresh when it was opened."""
    path = tmp_path / "created.db"
    txmemory.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def migrated(tmp_path: Path) -> Path:
    """A file that every migration was carried out on."""
    path = tmp_path / "migrated.db"
    with closing(connected(path)) as connection:
        migrate(connection)
    return path


def test_migrations_and_creation_make_the_same_schema(created: Path, migrated: Path) -> None:
    assert schema_of(migrated) == schema_of(created)
    needless = {TABLES.namespace.name}  # whose rows are locked where there is more than one lock
    wanted = set(TABLES.metadata.tables) - needless
    assert {name for kind, name, *_ in schema_of(created) if kind == "table"} >= wanted


def test_migrations_and_creation_stamp_the_newest_version(created: Path, migrated: Path) -> None:
    for path in (created, migrated):
        with closing(connected(path)) as connection:
            assert version_of(connection) == VERSION == KNOWN_VERSIONS[-1]


def test_a_store_that_was_migrated_to_works_like_one_that_was_created(created: Path, migrated: Path) -> None:
    for path in (created, migrated):
        prepare(path)
        for operation in OPERATIONS:
            with opened(path) as store:
                operation.run(store, TOKEN)
    assert {event.kind for event in snapshot(created).events} == {"record", "change", "forget", "seal"}
    assert snapshot(migrated) == snapshot(created)


def file_of_0001(path: Path, source: Path) -> None:
    """A file as the first migration alone makes it, with the rows of another, less what 0001 had no columns for."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.attributes.update(connection=connection, tables=TABLES)
        command.upgrade(config, "0001")
    engine.dispose()
    with closing(connected(path)) as rows:
        rows.execute("ATTACH ? AS source", [str(source)])
        for name in set(TABLES.metadata.tables) - {TABLES.version.name, TABLES.namespace.name}:
            columns = rows.execute(
                "SELECT group_concat('\"' || name || '\"') FROM pragma_table_xinfo(?)", [name]
            )
            ((listed,),) = columns.fetchall()
            rows.execute(f"INSERT INTO main.{name} ({listed}) SELECT {listed} FROM source.{name}")  # noqa: S608 - our own


@pytest.mark.parametrize("way", ["", "portable+"], ids=["sqlite", "portable"])
def test_a_file_of_0001_keeps_its_rows(created: Path, tmp_path: Path, way: str) -> None:
    """Opening migrates it, on either way to a file."""
    older = tmp_path / "older.db"
    prepare(created)
    with closing(connected(created)) as source:
        source.execute(f"UPDATE {TABLES.event.name} SET generation = NULL")  # noqa: S608 - our own name
    file_of_0001(older, created)
    with closing(connected(older)) as before:
        assert version_of(before) == "0001"
        assert "embedding" not in {row[3] for row in schema_of(older) if row[0] == "column"}
    txmemory.open(f"{way}sqlite:///{older}").close()
    assert schema_of(older) == schema_of(created)
    with closing(connected(older)) as after, closing(connected(created)) as always:
        assert digest_of_tables(after) == digest_of_tables(always)
    with txmemory.open(f"{way}sqlite:///{older}") as store:
        must(store.store(Memory("green tea", id="tea", embedding=[0.5])))
        found = must(store.get("tea"))
        assert found is not None
        assert found.embedding == (0.5,)
