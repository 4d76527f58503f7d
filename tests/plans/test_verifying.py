"""A page of a verification costs what it holds, wherever it begins, and whether or not a server has statistics."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import txmemory
from scripts.benching import verifying
from txmemory.backends.postgres import dialect as server_dialect
from txmemory.backends.sqlite import dialect as file_dialect
from txmemory.model.query import Query
from txmemory.model.verifying import (
    LAST,
    HeadCount,
    Heads,
    HeadsAt,
    Histories,
    Ledger,
    Logged,
    Scopes,
    Unscoped,
)
from txmemory.testing.server import PostgresServer

EVENTS = 20_000
TENANT = "default"
LIMIT = 100
PAGES: list[Query[Any]] = [
    Scopes(TENANT, limit=LIMIT),
    Logged(TENANT, limit=LIMIT),
    Logged(TENANT, ("run-3", 5), "run-8", LIMIT),
    Unscoped(TENANT, limit=LIMIT),
    Ledger(TENANT, "run-3", limit=LIMIT),
    Histories(TENANT, limit=LIMIT),
    Histories(TENANT, None, ('["memories"]', "m-15", LAST), LIMIT),
    Histories(TENANT, '["memories"]', ('["memories"]', "m-15", 1), LIMIT),
    Heads(TENANT, None, ('["memories"]', "m-15"), ('["memories"]', "m-1505"), LIMIT),
    Heads(TENANT, '["memories"]', ('["memories"]', "m-1999"), limit=LIMIT),
    HeadCount(TENANT, None, ('["memories"]', "m-15"), ('["memories"]', "m-1505"), 9),
    HeadsAt(TENANT, (('["memories"]', "m-15"),)),
]
names = [f"{type(each).__name__}-{number}" for number, each in enumerate(PAGES)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "verified.db"
    with txmemory.open(f"sqlite:///{path}?synchronous=NORMAL") as store:
        verifying.fill(store, 100)
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """One on which nobody has ever analysed a table."""
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    with PostgresServer.started(durable=False, settings={"autovacuum": "off"}) as started:
        url = started.url(database=started.create_database())
        txmemory.migrate(url)
        with txmemory.open(url) as store:
            for tenant in (TENANT, "before", "zeta"):
                verifying.fill(store.tenant(tenant), EVENTS)
        yield url


@pytest.mark.parametrize("query", PAGES, ids=names)
def test_in_a_file_a_page_is_read_along_a_key_and_not_sorted(file: Path, query: Query[Any]) -> None:
    """But for what has the same beginning of its key."""
    asked = file_dialect.read_statements().asked(query, lambda: None)
    with closing(sqlite3.connect(file)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {asked.statement}", asked.bindings[0]).fetchall()
    steps = [row[3] for row in plan]
    assert [
        step for step in steps if "TEMP B-TREE FOR ORDER BY" in step or step.startswith("SCAN txm_")
    ] == []


@pytest.mark.parametrize("query", PAGES, ids=names)
def test_on_a_server_a_page_reads_no_more_rows_than_it_holds(server: str, query: Query[Any]) -> None:
    asked = server_dialect.read_statements("txmemory").asked(query, lambda: None)
    explained = f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) {asked.statement}"
    with psycopg.connect(server) as connection:
        plan = connection.execute(explained.encode(), asked.bindings[0]).fetchall()
    scans = [line for (line,) in plan if re.search(r"\b(?:Seq|Index|Index Only|Bitmap \w+) Scan\b", line)]
    rows = [float(found[1]) for line in scans if (found := re.search(r"actual rows=([\d.]+)", line))]
    if not isinstance(query, Scopes):  # which counts the keys of each
        assert max(rows) <= LIMIT + 1, "\n".join(line for (line,) in plan)
    assert not any("Seq Scan" in line or "Bitmap" in line for line in scans)
