"""The schema on a server: `open` checks it, `migrate` changes it, under different roles if one likes."""

import psycopg
from psycopg import sql

from txmemory.backends.postgres.dialect import creation
from txmemory.backends.postgres.faults import fault_of
from txmemory.backends.postgres.place import Place
from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION
from txmemory.port import CannotOpen, SchemaMismatch

_LOCK = 7_305_124_881_934_072
"""Of the advisory lock under which one migrates at a time; no write path takes one."""


def version_of(connection: psycopg.Connection[tuple[str | None]], schema: str) -> str | None:
    """The version that the schema is stamped with; None where there is none."""
    found = connection.execute("SELECT to_regclass(%s)", [f'"{schema}"."schema"']).fetchone()
    if found == (None,):
        return None
    query = sql.SQL("SELECT version_num FROM {}.schema").format(sql.Identifier(schema))
    rows = connection.execute(query).fetchall()
    return rows[0][0] if len(rows) == 1 else ""


def migrate(place: Place) -> None:
    """Makes the schema or brings it up to date, in one transaction, under a lock."""
    try:
        with psycopg.connect(place.conninfo, connect_timeout=place.patience) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            version = version_of(connection, place.schema)
            if version is None:
                for statement in creation(place.schema):
                    connection.execute(statement)
                stamp = sql.SQL("INSERT INTO {}.schema VALUES (%s)").format(sql.Identifier(place.schema))
                connection.execute(stamp, [VERSION])
            elif version not in KNOWN_VERSIONS:
                raise SchemaMismatch("the schema was made by a newer release")
    except psycopg.Error as error:
        raise CannotOpen(getattr(fault_of(error, sent=False), "code", "") or "CONNECTION") from None


def check(place: Place) -> None:
    """Raises `SchemaMismatch` unless the schema is of this release; `CannotOpen` where it cannot be reached."""
    try:
        with psycopg.connect(place.conninfo, autocommit=True, connect_timeout=place.patience) as connection:
            version = version_of(connection, place.schema)
    except psycopg.Error as error:
        raise CannotOpen(getattr(fault_of(error, sent=False), "code", "") or "CONNECTION") from None
    if version != VERSION:
        raise SchemaMismatch("the schema is missing or of another version: run txmemory.migrate")
