"""A schema of an older release is refused until it is migrated; then it is like a created one, rows and all."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

import txmemory
from tests.tidy.project import ROOT
from txmemory import Memory, MemoryType, SchemaMismatch, must
from txmemory.testing.roles import acting_as, roles_of, with_options
from txmemory.testing.server import PostgresServer
from txmemory.testing.shared import digest_of_schema, new_schema, runtime_url

COLUMNS = """
SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default, is_identity
  FROM information_schema.columns WHERE table_schema = %s ORDER BY table_name, ordinal_position
"""
INDEXES = "SELECT replace(indexdef, %s, 'schema') FROM pg_indexes WHERE schemaname = %s ORDER BY 1"
FUNCTIONS = """
SELECT p.proname, p.pronargs > 1, has_function_privilege(%s, p.oid, 'EXECUTE'),
       has_function_privilege('pg_monitor', p.oid, 'EXECUTE')
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %s ORDER BY 1
"""
DOWN_TO_0001 = """
ALTER TABLE revision DROP COLUMN embedding;
ALTER TABLE event DROP COLUMN generation;
ALTER TABLE scope DROP COLUMN lease_until, DROP COLUMN timeline;
DROP INDEX item_kind, item_conversation_id, item_entity_id, item_age;
CREATE INDEX item_age ON item (tenant, namespace, created_at, id, kind) WHERE live = 1;
UPDATE schema SET version_num = '0001';
DO $$ BEGIN EXECUTE 'DROP FUNCTION ' || 'commit_v1'::regproc::oid::regprocedure; END $$;
DO $$ BEGIN EXECUTE 'DROP FUNCTION ' || 'lease_v1'::regproc::oid::regprocedure; END $$;
CREATE FUNCTION commit_v1(p_tenant text) RETURNS text LANGUAGE sql AS 'SELECT p_tenant';
REVOKE ALL ON FUNCTION commit_v1 FROM PUBLIC;
"""

FRESH = """
import sys, txmemory
txmemory.migrate(sys.argv[1])
txmemory.migrate(sys.argv[1])
txmemory.open(sys.argv[1]).close()
print("alembic" in sys.modules)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server.url(server.create_database())


def asked(url: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query, values).fetchall()


def forget_generations(url: str, schema: str) -> None:
    """Older releases have not written them into the log."""
    with psycopg.connect(url) as connection:
        event = sql.Identifier(schema, "event")
        connection.execute(sql.SQL("UPDATE {} SET generation = NULL").format(event))


def take_down(url: str, schema: str) -> None:
    """What later migrations have brought goes, and the function is another's, which the same role may run."""
    owner, runtime = roles_of(url)
    with psycopg.connect(acting_as(url, owner)) as connection:
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
        connection.execute(DOWN_TO_0001)
        connection.execute(
            sql.SQL("GRANT EXECUTE ON FUNCTION commit_v1 TO {}").format(sql.Identifier(runtime))
        )


@pytest.mark.parametrize("way", ["", "portable+"], ids=["postgresql", "portable"])
def test_a_schema_of_0001_is_migrated_with_its_rows(url: str, way: str) -> None:
    schema, fresh = new_schema(url), new_schema(url)
    owner, runtime = roles_of(url)
    here = runtime_url(url, schema)
    tea = Memory("green tea", id="tea", memory_type=MemoryType.USER_FACT, metadata={"conversation_id": "c"})
    with txmemory.open(here) as store:
        written = must(store.writer("run", token=1).write("key", [tea, Memory("gone", id="gone")]))
        must(store.delete("gone"))
    forget_generations(url, schema)
    rows = digest_of_schema(url, schema)
    take_down(url, schema)
    for refusing in (here, f"portable+{here}"):
        with pytest.raises(SchemaMismatch, match=r"older.*txmemory\.migrate"):
            txmemory.open(refusing)
    txmemory.migrate(way + with_options(acting_as(url, owner), schema=schema))
    assert digest_of_schema(url, schema) == rows
    assert asked(url, COLUMNS, schema) == asked(url, COLUMNS, fresh)
    assert asked(url, INDEXES, schema, schema) == asked(url, INDEXES, fresh, fresh)
    assert asked(url, FUNCTIONS, runtime, schema) == [
        ("commit_v1", True, True, False),
        ("lease_v1", True, True, False),
    ]
    with txmemory.open(here) as store:
        writer = store.writer("run", token=1)
        again = must(writer.write("key", [tea, Memory("gone", id="gone")]))
        assert (again.replayed, again.diverged, again.outcome) == (True, False, written.outcome)
        must(writer.write("next", [Memory("black tea", id="tea", embedding=[0.5, -1.0])]))
        assert [each.embedding for each in must(store.recall())] == [(0.5, -1.0)]
        assert len(must(store.history("tea"))) == 2
        assert must(store.conversation("c")) == []
        assert must(store.clear()) == 1


@pytest.mark.parametrize("way", ["", "portable+"], ids=["postgresql", "portable"])
def test_where_nothing_is_older_nothing_loads_alembic(url: str, way: str) -> None:
    place = way + with_options(url, schema=f"fresh_{len(way)}")
    ran = subprocess.run(
        [sys.executable, "-c", FRESH, place], capture_output=True, cwd=ROOT, text=True, check=True
    )
    assert ran.stdout == "False\n"
