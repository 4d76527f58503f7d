"""A fresh schema is created, an older one is migrated: both roads end at the same tables."""

import sqlite3
from contextlib import closing

from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION
from txmemory.backends.sqlite.dialect import creation
from txmemory.backends.sqlite.migrating import migrate
from txmemory.backends.sqlite.schema import version_of


def schema_of(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return sorted(found.fetchall())


def in_memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def test_migrations_and_creation_make_the_same_schema() -> None:
    with closing(in_memory()) as created, closing(in_memory()) as migrated:
        for statement in creation():
            created.execute(statement)
        migrate(migrated)
        assert schema_of(migrated) == schema_of(created)
        assert version_of(migrated) == VERSION == KNOWN_VERSIONS[-1]
