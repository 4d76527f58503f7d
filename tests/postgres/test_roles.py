"""Least privilege: one role owns the schema and migrates it, another opens stores and can do nothing beyond."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from psycopg import sql

import txmemory
from tests.crash.operations import OPERATIONS, SCOPE, TOKEN, Operation
from tests.docs.pages import blocks
from txmemory import Bounds, Filter, Memory, Store, Unavailable, either, must
from txmemory.backends.postgres.dialect import PRIVILEGES
from txmemory.testing.roles import with_options
from txmemory.testing.server import PostgresServer

ALL_PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN")
SCHEMA = "txmemory"


class Database(NamedTuple):
    """The URLs of one database as its three roles see it, and the name of the last one."""

    superuser: str
    owner: str
    runtime: str
    role: str


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server


@contextmanager
def made(server: PostgresServer) -> Iterator[Database]:
    """A database without a schema of ours, and two roles that log in."""
    name = server.create_database()
    superuser = server.url(name)
    secret = secrets.token_hex(16)
    owner, role = f"{name} Owner", f'{name} "agent" %'
    with psycopg.connect(superuser, autocommit=True) as connection:
        for each in (owner, role):
            login = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
                sql.Identifier(each), sql.Literal(secret)
            )
            connection.execute(login)
            connect = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
            connection.execute(connect.format(sql.Identifier(name), sql.Identifier(each)))
        create = sql.SQL("GRANT CREATE ON DATABASE {} TO {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(owner)))
    migrating, running = (server.url(name, user=each, password=secret) for each in (owner, role))
    yield Database(superuser, migrating, running, role)
    server.drop_database(name)
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        for each in (owner, role):
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(each)))


@pytest.fixture
def bare(server: PostgresServer) -> Iterator[Database]:
    with made(server) as database:
        yield database


@pytest.fixture(scope="module")
def database(server: PostgresServer) -> Iterator[Database]:
    """One for many tests, migrated by the owner for the other role."""
    with made(server) as database:
        txmemory.migrate(database.owner, runtime_role=database.role)
        yield database


def prepare(store: Store) -> None:
    """What the operations are made for."""
    bounds = Bounds(max_memories=1_000)
    for id in ("first", "second", "third"):
        must(store.writer(SCOPE, 1).write(f"before {id}", [Memory(f"the {id}", id=id)], bounds=bounds))


def read(store: Store) -> list[object]:
    """An answer of each query."""
    return [
        either(store.get("second")),
        either(store.recall(Filter.by_type("user_fact"))),
        either(store.count()),
        either(store.history("second")),
        either(store.keys(SCOPE)),
        either(store.applied_count(SCOPE)),
    ]


def granted(url: str, role: str, schema: str = SCHEMA) -> dict[str, set[str]]:
    """What the role may do with each table of the schema."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename, privilege FROM pg_tables, unnest(%s::text[]) AS privilege WHERE schemaname = %s AND"
            " has_table_privilege(%s, format('%%I.%%I', schemaname, tablename), privilege)",
            [list(ALL_PRIVILEGES), schema, role],
        ).fetchall()
    found: dict[str, set[str]] = {}
    for table, privilege in rows:
        found.setdefault(table, set()).add(privilege)
    return found


def refused(database: Database, name: str) -> bool:
    """Whether the role is refused anything, be it to open."""
    try:
        store = txmemory.open(database.runtime)
    except txmemory.CannotOpen as error:
        return error.code == "42501"
    with store, txmemory.open(database.superuser) as preparing:
        for operation in OPERATIONS:
            tenant = f"{name}: {operation}"
            prepare(preparing.tenant(tenant))
            mine = store.tenant(tenant)
            answers = [
                operation.run(mine, TOKEN),
                either(mine.writer("a new run", 1).applied("key")),
                *read(mine),
            ]
            if any(isinstance(answer, Unavailable) and answer.code == "42501" for answer in answers):
                return True
    return False


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_the_run_time_role_does_every_operation_and_every_query(
    database: Database, operation: Operation
) -> None:
    with txmemory.open(database.runtime) as opened:
        store = opened.tenant(operation.name)
        prepare(store)
        assert not isinstance(operation.run(store, TOKEN), Unavailable)
        assert [answer for answer in read(store) if isinstance(answer, Unavailable)] == []


def test_the_run_time_role_has_what_is_listed_and_nothing_else(database: Database) -> None:
    listed = {table: set(privileges.split(", ")) for table, privileges in PRIVILEGES.items()}
    assert granted(database.superuser, database.role) == listed


@pytest.mark.parametrize(
    ("table", "privilege"),
    [(table, each) for table, privileges in PRIVILEGES.items() for each in privileges.split(", ")],
)
def test_no_privilege_is_granted_that_nothing_needs(database: Database, table: str, privilege: str) -> None:
    with psycopg.connect(database.owner, autocommit=True) as connection:
        revoke = sql.SQL("REVOKE {} ON {} FROM {}").format(
            sql.SQL(privilege), sql.Identifier(SCHEMA, table), sql.Identifier(database.role)
        )
        connection.execute(revoke)
    try:
        assert refused(database, f"{table} {privilege}")
    finally:
        txmemory.migrate(database.owner, runtime_role=database.role)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE SCHEMA theirs",
        "CREATE TABLE txmemory.theirs (n int)",
        "CREATE TABLE public.theirs (n int)",
        "CREATE TEMPORARY TABLE theirs (n int)",
        "CREATE FUNCTION txmemory.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE INDEX ON txmemory.event (at)",
        "CREATE TRIGGER theirs AFTER INSERT ON txmemory.event EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE theirs AS ON INSERT TO txmemory.event DO INSTEAD NOTHING",
        "ALTER SCHEMA txmemory RENAME TO theirs",
        "ALTER FUNCTION txmemory.commit_v1 SECURITY DEFINER",
        "DROP FUNCTION txmemory.commit_v1",
        "DROP SCHEMA txmemory CASCADE",
        "UPDATE txmemory.event SET at = 0",
        "DELETE FROM txmemory.event",
        "UPDATE txmemory.revision SET text = ''",
        "DELETE FROM txmemory.revision",
        "DELETE FROM txmemory.scope",
        "UPDATE txmemory.ledger SET seq = 0",
        "UPDATE txmemory.schema SET version_num = ''",
        "DELETE FROM txmemory.schema",
        "SELECT setval('txmemory.event_row_seq', 1)",
        *(
            statement.format(table)
            for table in PRIVILEGES
            for statement in (
                "ALTER TABLE txmemory.{} ADD COLUMN theirs int",
                "ALTER TABLE txmemory.{} DISABLE TRIGGER ALL",
                "ALTER TABLE txmemory.{} OWNER TO CURRENT_USER",
                "DROP TABLE txmemory.{} CASCADE",
                "TRUNCATE txmemory.{} CASCADE",
            )
        ),
    ],
)
def test_the_run_time_role_changes_neither_the_schema_nor_what_was_recorded(
    database: Database, statement: str
) -> None:
    with (
        psycopg.connect(database.runtime) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_who_was_told_nothing_can_neither_open_nor_call(bare: Database) -> None:
    txmemory.migrate(bare.owner)
    with pytest.raises(txmemory.CannotOpen) as refused:
        txmemory.open(bare.runtime)
    assert refused.value.code == "42501"
    with psycopg.connect(bare.superuser) as connection:
        may = "SELECT has_function_privilege(%s, oid, 'EXECUTE') FROM pg_proc WHERE proname = 'commit_v1'"
        assert connection.execute(may, [bare.role]).fetchone() == (False,)


def test_a_role_that_is_not_there_is_refused_and_nothing_is_made(bare: Database) -> None:
    with pytest.raises(txmemory.CannotOpen) as refused:
        txmemory.migrate(bare.owner, runtime_role="nobody")
    assert refused.value.code == "42704"
    with pytest.raises(txmemory.SchemaMismatch):
        txmemory.open(bare.superuser)


def test_the_run_time_role_cannot_migrate(bare: Database) -> None:
    with pytest.raises(txmemory.CannotOpen) as refused:
        txmemory.migrate(bare.runtime)
    assert refused.value.code == "42501"


def test_a_second_role_may_be_added_later(database: Database) -> None:
    other = f"another_{secrets.token_hex(4)}"
    with psycopg.connect(database.superuser, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(other)))
        txmemory.migrate(database.owner, runtime_role=other)
        assert granted(database.superuser, other) == granted(database.superuser, database.role)
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(other)))
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(other)))


def test_the_page_for_database_administrators_grants_the_same(bare: Database) -> None:
    """Its statements, as the superuser pastes them, with a role and a database of this test's."""
    (page,) = (code for _, code in blocks(Path("design/operations.md"), "sql"))
    assert "GRANT" in page
    txmemory.migrate(with_options(bare.superuser, schema=SCHEMA))
    with psycopg.connect(bare.superuser, autocommit=True) as connection:
        role = sql.Identifier(bare.role).as_string(connection)
        connection.execute(page.replace("agent", role).encode())
    listed = {table: set(privileges.split(", ")) for table, privileges in PRIVILEGES.items()}
    assert granted(bare.superuser, bare.role) == listed
    with txmemory.open(bare.runtime) as store:
        prepare(store)
        assert [answer for answer in read(store) if isinstance(answer, Unavailable)] == []
