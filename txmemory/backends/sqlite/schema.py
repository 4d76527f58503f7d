"""The schema of a SQLite file: made when it is fresh, migrated when it is older, refused when it is newer."""

import sqlite3

from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION
from txmemory.backends.sqlite.dialect import TABLES, compiled, creation
from txmemory.port import CannotOpen, SchemaMismatch

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'txm!_%' ESCAPE '!'"


def version_of(connection: sqlite3.Connection | sqlite3.Cursor) -> str | None:
    """The version that the file is stamped with; None where nothing of ours is there."""
    tables = connection.execute(_TABLES).fetchall()  # as of one moment: others may be making them
    if not tables:
        return None
    if ("txm_schema",) not in tables:
        raise SchemaMismatch("the database holds txmemory tables without a schema version")
    versions = connection.execute("SELECT version_num FROM txm_schema").fetchall()
    return str(versions[0][0]) if len(versions) == 1 else ""


def check_schema(connection: sqlite3.Connection | sqlite3.Cursor) -> None:
    """Raises `SchemaMismatch` unless the file is of this release's schema."""
    if version_of(connection) != VERSION:
        raise SchemaMismatch("the database is of another schema version than this release")


def refuse_other_encodings(connection: sqlite3.Connection) -> None:
    """Raises `CannotOpen` for a file in UTF-16, which changes some characters and compares texts otherwise."""
    if connection.execute("PRAGMA encoding").fetchone() != ("UTF-8",):
        raise CannotOpen("the file is not encoded in UTF-8")


def refuse_unknown_schema(connection: sqlite3.Connection) -> None:
    """Raises `SchemaMismatch` for a file that this release can neither read nor migrate."""
    version = version_of(connection)
    if version is not None and version not in KNOWN_VERSIONS:
        raise SchemaMismatch("the database was written by another release, or by none")


def prepare_schema(connection: sqlite3.Connection) -> None:
    """Makes the schema, or brings an older one up to date, in one transaction; of another release it is refused."""
    version = version_of(connection)
    if version is None:
        version = _created(connection)
    if version == VERSION:
        return
    refuse_unknown_schema(connection)
    from txmemory.backends.sqlite.migrating import migrate

    migrate(connection, still_needed=lambda: version_of(connection) != VERSION)


def _created(connection: sqlite3.Connection) -> str | None:
    """The version after making what was not there; another process may have been quicker."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) is None:
            for statement in creation():
                connection.execute(statement)
            connection.execute(compiled(TABLES.version.insert()), {"version_num": VERSION})
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return version_of(connection)
