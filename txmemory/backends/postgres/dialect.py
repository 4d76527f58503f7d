"""The statements and the schema in PostgreSQL's dialect, compiled once a process and schema name."""

import re
from functools import cache, lru_cache
from importlib.resources import files

from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.ddl import ExecutableDDLElement

from txmemory.backends.postgres.leasing import LEASE_TYPES
from txmemory.backends.postgres.packing import TYPES
from txmemory.backends.sql.mending import MendStatements
from txmemory.backends.sql.reading import ReadStatements
from txmemory.backends.sql.spelling import Spelling, database_clock
from txmemory.backends.sql.tables import Tables, tables
from txmemory.backends.sql.texts import PostgresTexts

PRIVILEGES = {
    "scope": "SELECT, INSERT, UPDATE",
    "ledger": "SELECT, INSERT, DELETE",
    "event": "SELECT, INSERT",
    "item": "SELECT, INSERT, UPDATE, DELETE",
    "revision": "SELECT, INSERT",
    "namespace": "SELECT, INSERT, UPDATE, DELETE",
    "schema": "SELECT",
}
"""What opening, reading and writing need of each table; the log and the history are never changed."""

IDLE_LEAST = 1_000
"""Milliseconds: a joined transaction that has written here may always stay idle as long as this."""

MIGRATING = 7_305_124_881_934_072
"""The advisory lock under which one migrates at a time; no write path takes one."""

_dialect = postgresql.dialect(paramstyle="pyformat")  # type: ignore[no-untyped-call]  # untyped there
_plain = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]  # where no percent sign is doubled


def compiled(element: ClauseElement) -> str:
    """The text of a statement, as the driver takes it with values."""
    return str(element.compile(dialect=_dialect))


def _defined(element: ExecutableDDLElement) -> str:
    """The text of a definition, as the driver takes it without values."""
    return str(element.compile(dialect=_plain))


@cache
def postgres_tables(schema: str) -> Tables:
    """The tables in a schema of their own."""
    return tables("", schema)


@lru_cache(maxsize=32)
def read_statements(schema: str) -> ReadStatements[str]:
    """Every query."""
    return ReadStatements(_spelling(schema))


@lru_cache(maxsize=32)
def mend_statements(schema: str) -> MendStatements[str]:
    """What a repair runs: plain statements, since it is rare, and nobody waits for it."""
    return MendStatements(_spelling(schema), read_statements(schema))


def _spelling(schema: str) -> Spelling[str]:
    tables = postgres_tables(schema)
    return Spelling(tables, compiled, postgresql.insert, database_clock(), PostgresTexts(), lateral=True)


@cache
def call(schema: str) -> str:
    """The one call that commits."""
    arguments = ", ".join(f"%s::{type}" for type in TYPES)
    name = _dialect.identifier_preparer.quote_schema(schema)
    return f"SELECT * FROM {name}.commit_v1({arguments})"  # noqa: S608 - a quoted identifier, constant types


def _quoted(schema: str) -> str:
    return _plain.identifier_preparer.quote_schema(schema)


BOUNDED = """
SELECT set_config('lock_timeout', %(limit)s, true),
       set_config('idle_in_transaction_session_timeout', %(limit)s, true)
"""
"""Bounds a transaction that is more than one statement: its waits for locks, and a client that stands still."""

SESSION = """
SELECT extract(epoch FROM pg_postmaster_start_time())::text, current_database()::text,
       current_setting('transaction_isolation'),
       (extract(epoch FROM current_setting('lock_timeout')::interval) * 1000)::int8,
       (extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::int8
"""
"""Which server and database a connection speaks to, its isolation level, and its limits in milliseconds."""


_SETTLED = """
SELECT NOT pg_is_in_recovery()
   AND %(at)s::int8 < coalesce(%(now)s::int8, floor(extract(epoch FROM statement_timestamp()) * 1000000)::int8)
   AND NOT EXISTS (
       SELECT 1
         FROM pg_locks AS held LEFT JOIN pg_stat_activity AS session ON session.pid = held.pid
        WHERE held.locktype = 'relation' AND held.mode IN ('RowShareLock', 'RowExclusiveLock')
          AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND held.relation IN ({tables})
          AND (%(now)s::int8 IS NOT NULL OR session.xact_start IS NULL
               OR floor(extract(epoch FROM session.xact_start) * 1000000)::int8 <= %(at)s::int8))
"""


@cache
def settled(schema: str) -> str:
    """Asks whether all that was recorded until then is committed: nobody holds what a writer does who may be older.

    The statement's own time is from before the locks are looked at. Every writer locks a row, and so a table, before
    the clock is read. One whose transaction began later has a later time; when another role's began, or that of
    a prepared one, is not told.
    """
    here = _dialect.identifier_preparer.quote_schema(schema).replace("'", "''")
    tables = (f"'{here}.{name}'::regclass" for name in ("scope", "namespace", "item"))
    return _SETTLED.format(tables=", ".join(tables))


@cache
def joined_call(schema: str) -> str:
    """The same call in a caller's transaction, for the rest of which two limits are set behind it."""
    limits = ", ".join(
        f"set_config('{name}', %s::text, true)"
        for name in ("lock_timeout", "idle_in_transaction_session_timeout")
    )
    return call(schema).replace("SELECT *", f"SELECT {limits}, answer.*", 1) + " AS answer"


@cache
def lease_call(schema: str) -> str:
    """The one call that claims, renews, releases or resets."""
    arguments = ", ".join(f"%s::{type}" for type in LEASE_TYPES)
    name = _dialect.identifier_preparer.quote_schema(schema)
    return f"SELECT * FROM {name}.lease_v1({arguments})"  # noqa: S608 - a quoted identifier, constant types


FUNCTIONS = ("commit_v1", "lease_v1")


def functions(schema: str) -> str:
    """What makes the functions, or brings them to this release's text and parameters."""
    folder = files("txmemory.backends.postgres")
    text = "\n".join(folder.joinpath(f"{name}.sql").read_text("utf-8") for name in FUNCTIONS)
    quoted = _quoted(schema)
    meant = {
        "schema": quoted,
        "schema_text": "'" + quoted.replace("'", "''") + "'",
        "types": ", ".join(TYPES),
        "lease_types": ", ".join(LEASE_TYPES),
    }
    return re.sub("@([a-z_]+)@", lambda found: meant[found[1]], text)


def creation(schema: str) -> tuple[str, ...]:
    """What makes a fresh schema; its first statement may find it there."""
    metadata = postgres_tables(schema).metadata
    made = [f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}"]
    made.extend(_defined(CreateTable(table)) for table in metadata.sorted_tables)
    for table in metadata.sorted_tables:
        made.extend(
            _defined(CreateIndex(index)) for index in sorted(table.indexes, key=lambda each: str(each.name))
        )
    return tuple(made)


def grants(schema: str, role: str | None, *, functions: bool) -> tuple[str, ...]:
    """What lets a role open stores on the schema, and nothing beyond; nothing where no role is named.

    `functions` says whether they are there.
    """
    if role is None:
        return ()
    quote = _plain.identifier_preparer.quote
    here, to = _quoted(schema), quote(role)
    called = [f"GRANT EXECUTE ON FUNCTION {here}.{name} TO {to}" for name in FUNCTIONS if functions]
    return (
        f"GRANT USAGE ON SCHEMA {here} TO {to}",
        *called,
        *(f"GRANT {given} ON {here}.{quote(table)} TO {to}" for table, given in PRIVILEGES.items()),
    )
