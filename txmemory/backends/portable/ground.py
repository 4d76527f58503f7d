"""What an engine's dialect asks of us: the tables and statements in its words, and how a transaction begins."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from sqlalchemy import Connection, Executable, Select, false, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateSchema
from sqlalchemy.sql import ClauseElement

from txmemory.backends.clock import system_clock
from txmemory.backends.postgres.dialect import IDLE_LEAST, functions, grants
from txmemory.backends.sql.claiming import ClaimStatements
from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sql.mending import MendStatements
from txmemory.backends.sql.reading import ReadStatements
from txmemory.backends.sql.spelling import FILE_CHECK, Spelling, bound_clock, database_clock, rising_number
from txmemory.backends.sql.tables import Tables, tables
from txmemory.backends.sql.texts import PostgresTexts, SqliteTexts
from txmemory.port import CannotOpen

SCHEMA = "txmemory"
"""Of the tables on a server, unless the URL or the engine's schema_translate_map says otherwise."""

_ENCODINGS = text("SELECT current_setting('server_encoding'), current_setting('client_encoding')")
_GIVEN = text(
    "SELECT sum(setting::bigint) FILTER (WHERE name = 'lock_timeout'), "
    "sum(setting::bigint) FILTER (WHERE name = 'idle_in_transaction_session_timeout') FROM pg_settings"
)
_IDLE = text("SELECT set_config('idle_in_transaction_session_timeout', :limit, true)")
_WAIT = text("SELECT set_config('lock_timeout', :limit, true)")
_LIMITS = text(
    "SELECT set_config('lock_timeout', :limit, true), set_config('statement_timeout', :limit, true), "
    "set_config('idle_in_transaction_session_timeout', :limit, true), "
    "CASE WHEN CAST(current_setting('server_version_num') AS integer) >= 170000 "
    "THEN set_config('transaction_timeout', :whole, true) END"
)


@dataclass(frozen=True, eq=False)
class Ground:
    """A dialect's tables and statements."""

    tables: Tables
    guard: GuardStatements[Executable]
    reads: ReadStatements[Executable]
    mends: MendStatements[Executable]
    claims: ClaimStatements[Executable]
    clock: Callable[[], int] | None
    """This machine's clock where it is as good as the database's, else None."""
    time: Select[int]
    """Reads the database's clock."""
    begin: Callable[[Connection, float], None]
    """Begins a transaction whose waits end after so many seconds."""
    hold: Callable[[Connection, float], Callable[[], object]]
    """In a transaction that is another's: bounds its waits for locks until what is answered is called."""
    refuse: Callable[[Connection], None]
    """Raises `CannotOpen` for a connection that would not do what is asked of it."""
    make: Callable[[Connection], None]
    """Makes the tables."""
    renew: Callable[[Connection, str | None], None]
    """Makes what each release makes anew, and lets a role use the store."""
    embedded: bool
    """Whether opening makes them."""


def ground_of(dialect: str, schema: str = SCHEMA) -> Ground:
    """What this dialect asks; `CannotOpen` for one that is not spoken here."""
    match dialect:
        case "postgresql" | "cockroachdb":
            return _server(schema)
        case "sqlite":
            return _file()
        case _:
            raise CannotOpen("the engine's dialect must be PostgreSQL's or SQLite's")


@lru_cache(maxsize=32)
def _server(schema: str) -> Ground:
    ours = tables("", schema)
    spelling = Spelling(ours, _as_it_is, postgresql.insert, database_clock(), PostgresTexts(), lateral=True)
    guard, reads = GuardStatements(spelling, _as_it_is, lock=True).built(), ReadStatements(spelling)
    return Ground(
        tables=ours,
        guard=guard,
        reads=reads,
        mends=MendStatements(spelling, reads),
        claims=ClaimStatements(spelling, lock=True),
        clock=None,
        time=select(database_clock()),
        begin=_begin_on_server,
        hold=_hold_on_server,
        refuse=_refuse_on_server,
        make=lambda connection: _make_on_server(connection, ours),
        renew=lambda connection, role: _renew_on_server(connection, schema, role),
        embedded=False,
    )


@lru_cache(maxsize=1)
def _file() -> Ground:
    ours = tables("txm_", None)
    spelling = Spelling(
        ours,
        _as_it_is,
        sqlite.insert,
        bound_clock(),
        SqliteTexts(),
        rising_number(ours),
        intact=FILE_CHECK,
    )
    guard, reads = GuardStatements(spelling, _as_it_is, lock=True).built(), ReadStatements(spelling)
    return Ground(
        tables=ours,
        guard=guard,
        reads=reads,
        mends=MendStatements(spelling, reads),
        claims=ClaimStatements(spelling, lock=True),
        clock=system_clock,
        time=select(bound_clock()),
        begin=_begin_on_file,
        hold=lambda connection, _seconds: _hold_file(connection, ours),
        refuse=_refuse_in_file,
        make=lambda connection: _make_in_file(connection, ours),
        renew=lambda _connection, _role: None,
        embedded=True,
    )


def _as_it_is(statement: ClauseElement) -> Executable:
    """SQLAlchemy compiles and caches expressions by itself."""
    return cast(Executable, statement)


def _begin_on_server(connection: Connection, seconds: float) -> None:
    """A frozen client is bounded, too: the server ends a transaction that says nothing for so long.

    Behind rows that a driver has sent as a pipeline PostgreSQL does not see that a transaction is idle; from 17 on it
    ends every transaction a second after the deadline.
    """
    limit = max(1, round(seconds * 1_000))
    connection.execute(_LIMITS, {"limit": f"{limit}ms", "whole": f"{limit + 1_000}ms"})


def _hold_on_server(connection: Connection, seconds: float) -> Callable[[], object]:
    """The shorter limit on locks counts; a client that stands still is bounded, where it has no limit of its own."""
    waiting, idle = connection.execute(_GIVEN).one()
    ours = max(1, round(seconds * 1_000))
    connection.execute(_WAIT, {"limit": f"{min(ours, waiting) if waiting else ours}ms"})
    if not idle:
        connection.execute(_IDLE, {"limit": f"{max(IDLE_LEAST, ours)}ms"})
    return lambda: connection.execute(_WAIT, {"limit": f"{waiting}ms"})


def _hold_file(connection: Connection, ours: Tables) -> Callable[[], object]:
    """Takes the file's write lock and changes nothing; refused where the transaction reads an older state."""
    connection.execute(ours.version.delete().where(false()))
    return lambda: None


def _make_on_server(connection: Connection, ours: Tables) -> None:
    assert ours.metadata.schema is not None, "a server has its tables in a schema"
    connection.execute(CreateSchema(ours.metadata.schema, if_not_exists=True))
    ours.metadata.create_all(connection)


def _make_in_file(connection: Connection, ours: Tables) -> None:
    """As `sqlite://` does: the one lock needs no rows for namespaces."""
    needed = [table for table in ours.metadata.sorted_tables if table is not ours.namespace]
    ours.metadata.create_all(connection, needed)


def _renew_on_server(connection: Connection, schema: str, role: str | None) -> None:
    runs_functions = connection.dialect.name == "postgresql"
    if runs_functions:  # so that postgresql:// finds its own there, too
        connection.exec_driver_sql(functions(schema))
    for grant in grants(schema, role, functions=runs_functions):
        connection.exec_driver_sql(grant)


def _refuse_in_file(connection: Connection) -> None:
    if connection.exec_driver_sql("PRAGMA encoding").scalar() != "UTF-8":
        raise CannotOpen("the file is not encoded in UTF-8")


def _refuse_on_server(connection: Connection) -> None:
    driver = connection.connection.dbapi_connection
    if driver is not None and connection.dialect.detect_autocommit_setting(driver):
        raise CannotOpen("the engine is in autocommit mode, and a write is one transaction")
    if connection.dialect.name == "postgresql":
        encodings = connection.execute(_ENCODINGS).one()
        if set(encodings) != {"UTF8"}:
            raise CannotOpen("the database, or the connection, is not encoded in UTF8")


def _begin_on_file(connection: Connection, seconds: float) -> None:
    connection.exec_driver_sql(f"PRAGMA busy_timeout={max(0, round(seconds * 1_000))}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")
