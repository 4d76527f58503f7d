"""The schema on a server: `open` checks it, `migrate` changes it, under different roles if one likes."""

from contextlib import AbstractContextManager
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from txmemory.backends.postgres.dialect import MIGRATING, creation, functions, grants, postgres_tables
from txmemory.backends.postgres.faults import cannot_open
from txmemory.backends.postgres.place import Place
from txmemory.backends.sql.tables import VERSION
from txmemory.backends.sql.versions import refuse_to_migrate, refuse_to_open
from txmemory.port import CannotOpen


def version_of(connection: psycopg.Connection[tuple[str | None]], schema: str) -> str | None:
    """The version that the schema is stamped with; None where there is none."""
    table = sql.Identifier(schema, "schema")
    found = connection.execute("SELECT to_regclass(%s)", [table.as_string(connection)]).fetchone()
    if found == (None,):
        return None
    rows = connection.execute(sql.SQL("SELECT version_num FROM {}").format(table)).fetchall()
    return rows[0][0] if len(rows) == 1 else ""


def migrate(place: Place, runtime_role: str | None) -> None:
    """Makes the schema or brings it up to date, in one transaction, under a lock, and lets a role use it."""
    try:
        with psycopg.connect(place.conninfo, connect_timeout=place.patience) as connection:
            _refuse_other_encodings(connection)
            # Each statement has to see what was committed while the lock was waited for.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            with _shared(connection) as transaction:
                connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{place.patience}s"])
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATING])
                _prepare(connection, transaction, place.schema)
                connection.execute(functions(place.schema))
                for grant in grants(place.schema, runtime_role, functions=True):
                    connection.execute(grant)
    except psycopg.Error as error:
        raise cannot_open(error) from None
    except DBAPIError as error:
        if not isinstance(error.orig, psycopg.Error):
            raise
        raise cannot_open(error.orig) from None


def _shared(connection: psycopg.Connection[Any]) -> AbstractContextManager[Connection]:
    """A transaction of the connection that SQLAlchemy, and so Alembic, takes part in."""
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool, pool_reset_on_return=None
    )
    return engine.begin()  # its first connection asks the server who it is, and rolls that back


def _prepare(connection: psycopg.Connection[Any], transaction: Connection, schema: str) -> None:
    version = version_of(connection, schema)
    refuse_to_migrate(version)
    if version is None:
        for statement in creation(schema):
            connection.execute(statement)
        stamped = {"table": sql.Identifier(schema, "schema"), "version": sql.Literal(VERSION)}
        connection.execute(sql.SQL("INSERT INTO {table} VALUES ({version})").format(**stamped))
    elif version != VERSION:
        from txmemory.backends.sql.migrations import upgrade

        upgrade(transaction, postgres_tables(schema))


def _refuse_other_encodings(connection: psycopg.Connection[Any]) -> None:
    if connection.info.parameter_status("server_encoding") != "UTF8":
        raise CannotOpen("the database is not encoded in UTF8")


def check(place: Place) -> None:
    """Raises `SchemaMismatch` unless the schema is of this release; `CannotOpen` where it cannot be reached."""
    try:
        with psycopg.connect(place.conninfo, connect_timeout=place.patience) as connection:
            _refuse_other_encodings(connection)
            connection.execute("SELECT set_config('statement_timeout', %s, true)", [f"{place.patience}s"])
            version = version_of(connection, place.schema)
    except psycopg.Error as error:
        raise cannot_open(error) from None
    refuse_to_open(version)
