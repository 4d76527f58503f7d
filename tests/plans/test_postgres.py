"""On a server a store that grows costs no more, whether or not anybody has analysed its tables.

Blocks are counted by the server, of a connection's own calls.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
import pytest

import txmemory
from scripts.benching.scaling import reads
from tests.plans.cases import CASES, INDEX_OF
from tests.plans.loading import AT, LARGE, RANGES, SCOPES, WRITES, Rows, both, load, load_bounded, page_behind
from txmemory.backends.postgres.dialect import postgres_tables, read_statements
from txmemory.backends.sql import narrowing
from txmemory.model.query import Past, Settled
from txmemory.testing import binaries
from txmemory.testing.roles import with_options
from txmemory.testing.server import OwnServer, PostgresServer

pytestmark = pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))

MOST = 1.5
"""Of blocks: what a call may read among a hundred thousand memories, to what it does among a thousand."""
EACH = 5
"""Blocks that any answer may cost, its head and the way down to its content: among a thousand the server may know
that it is quicker to read them all."""
WARM = 6
"""Calls until the driver has prepared a statement, and the server has chosen how it plans it."""
SCHEMA = "txmemory"
STATES = ["never analysed", "analysed"]
BLOCKS = """
SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))::int
  FROM pg_statio_user_tables WHERE schemaname = 'txmemory'
"""
SCANS = """
SELECT sum(seq_scan)::int FROM pg_stat_user_tables
 WHERE schemaname = 'txmemory' AND relname IN ('item', 'revision', 'event', 'ledger')
"""


@dataclass
class World:
    """A database with everything in it, a store on one connection, and a connection of the test's own."""

    store: txmemory.Store
    connection: psycopg.Connection[Any]

    def plan(self, statement: str, values: dict[str, Any], *, generic: bool) -> str:
        """How the server carries the statement out: with these values, or with any, as one that is prepared."""
        names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
        text = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
        mode = "force_generic_plan" if generic else "force_custom_plan"
        types = ", ".join(_type(values[name]) for name in names)
        given = ", ".join("NULL" if values[name] is None else f"'{values[name]}'" for name in names)
        for each in (
            f"SET plan_cache_mode = {mode}",
            f"PREPARE asked ({types}) AS {text.replace('%%', '%')}",
        ):
            self.connection.execute(each, prepare=False)
        try:
            explained = self.connection.execute(f"EXPLAIN EXECUTE asked ({given})", prepare=False)
            return "\n".join(line for (line,) in explained)
        finally:
            self.connection.execute("DEALLOCATE asked", prepare=False)

    def blocks(self, call: Callable[[], object]) -> int:
        """How many blocks of tables and indexes the next call reads."""
        before = self._told(BLOCKS)
        call()
        return self._told(BLOCKS) - before

    def scans(self) -> int:
        """How often a table has been read from end to end."""
        return self._told(SCANS)

    def _told(self, query: str) -> int:
        with self.store._handle.backend._connections.taken(5.0) as connection:  # type: ignore[attr-defined]  # ours
            for each in (connection, self.connection):
                each.execute("SELECT pg_stat_force_next_flush()")
        ((number,),) = self.connection.execute(query).fetchall()
        return int(number)


def _type(value: object) -> str:
    return "float8" if isinstance(value, float) else "text" if isinstance(value, str) else "int8"


def put(connection: psycopg.Connection[Any], given: Rows) -> None:
    """Puts rows into their table."""
    table = postgres_tables(SCHEMA).metadata.tables[f"{SCHEMA}.{given.table}"]
    names = ", ".join(f'"{column.name}"' for column in table.c if column.name != "row")
    with connection.cursor().copy(f"COPY {table.fullname} ({names}) FROM STDIN") as copy:
        for row in given.rows:
            copy.write_row(row)


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, str]]:
    """The URLs of two databases with everything in them. Nobody has ever analysed the one; the other was analysed
    before there was any namespace but two, one of which was nearly all that there was.
    """
    settings = {"autovacuum": "off", "checkpoint_timeout": "1d", "max_wal_size": "4GB"}
    with OwnServer(durable=False, settings=settings) as server:
        first = server.create_database()
        url = server.url(first)
        txmemory.migrate(url)
        with txmemory.open(url) as store, psycopg.connect(url, autocommit=True) as connection:
            load(store, partial(put, connection))
        second = server.url(server.create_database(template=first))
        with psycopg.connect(second, autocommit=True) as connection:
            connection.execute("ANALYZE")
        for each in (url, second):
            with txmemory.open(each) as store, psycopg.connect(each, autocommit=True) as connection:
                load_bounded(store, partial(put, connection))
        yield dict(zip(STATES, (url, second), strict=True))


@pytest.fixture(scope="module", params=STATES)
def world(request: pytest.FixtureRequest, databases: dict[str, str]) -> Iterator[World]:
    url = databases[request.param]
    with (
        txmemory.open(with_options(url, pool_size="1")) as store,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        yield World(store, connection)


def by(plan: str, table: str) -> list[str]:
    """By which indexes a plan comes to the rows of a table."""
    assert not re.search(rf"Seq Scan on {table}\b", plan), plan
    way = rf"(?:Index(?: Only)? Scan(?: Backward)? using|Bitmap Index Scan on) {table}_(\w+)"
    return re.findall(way, plan)


@pytest.mark.parametrize("generic", [False, True], ids=["with values", "with any"])
def test_every_filter_is_answered_along_its_index(world: World, generic: bool) -> None:  # noqa: FBT001  # a case
    statements = read_statements(SCHEMA)
    for name, filter in CASES.items():
        if name == "nothing":
            continue  # nothing is looked for
        shape = narrowing.shape(filter.condition)
        here = {"tenant": "default", "namespace": '["memories","large"]', "now": None}
        values = {**here, **narrowing.bound(filter.condition)}
        each = [INDEX_OF[name]] * (2 if name == "two types" else 1)
        for behind in (False, True):
            place = {"rows": 101, "after_created_at": 1_577_970_000_000_000, "after_id": "m-00008000"}
            plan = world.plan(statements.select(shape, behind=behind), {**values, **place}, generic=generic)
            assert by(plan, "item") == each, (name, plan)
            assert by(plan, "revision") == ["pkey"], (name, plan)
        if each == ["age"] and name != "a time range":
            continue  # a count of what is most of a table reads the table
        plan = world.plan(statements.count(shape), values, generic=generic)
        assert by(plan, "item") == each, (name, plan)


@pytest.mark.parametrize("generic", [False, True], ids=["with values", "with any"])
def test_what_is_read_by_its_key_is_found_by_it(world: World, generic: bool) -> None:  # noqa: FBT001  # a case
    statements = read_statements(SCHEMA)
    values: dict[str, Any] = {
        "tenant": "default",
        "namespace": '["memories","large"]',
        "id": "m-00000500",
        "now": None,
    }
    values |= {"scope": "long", "after": 0, "rows": 101}
    get = world.plan(statements.get, values, generic=generic)
    assert (by(get, "item"), by(get, "revision")) == (["pkey"], ["pkey"])
    assert by(world.plan(statements.revisions, values, generic=generic), "revision") == ["pkey"]
    assert by(world.plan(statements.events, values, generic=generic), "event") == ["pkey"]
    keys = world.plan(statements.keys, {**values, "after": "key-00000500"}, generic=generic)
    assert by(keys, "ledger") == ["pkey"]
    time = world.plan(statements.time_of, {**values, "seq": 500}, generic=generic)
    assert by(time, "event") == ["seq"]


@pytest.mark.parametrize("generic", [False, True], ids=["with values", "with any"])
def test_what_was_there_is_found_along_the_ids_and_back_from_each_one_s_newest_revision(
    world: World,
    generic: bool,  # noqa: FBT001  # a case
) -> None:
    """Nothing is sorted but one id's revisions, if at all, and no other namespace is looked at."""
    statements = read_statements(SCHEMA)
    values: dict[str, Any] = {
        "tenant": "default",
        "namespace": '["memories","large"]',
        "now": None,
        "at": AT,
        "id": "m-00000500",
        "after": "m-00000500",
        "rows": 1_001,
    }
    for statement in (statements.past, statements.past_of_one):
        plan = world.plan(statement, values, generic=generic)
        assert (by(plan, "item"), by(plan, "revision")) == (["pkey"], ["pkey"]), plan
        assert "Sort" not in plan, plan


def test_a_page_of_what_was_there_costs_its_rows_among_a_hundred_thousand_as_among_a_thousand(
    world: World,
) -> None:
    """And whether that is settled is asked of no table."""

    def page(name: str) -> object:
        query = Past("default", ("memories", name), AT, after="m-00000500", limit=100)
        return world.store._handle.backend.read(query, 5.0)

    scans = world.scans()
    for _ in range(WARM):
        page("large"), page("small")
        world.store._handle.backend.read(Settled("default", AT), 5.0)
    large, small = world.blocks(partial(page, "large")), world.blocks(partial(page, "small"))
    assert 0 < large <= MOST * max(small, EACH * 100)
    assert world.blocks(lambda: world.store._handle.backend.read(Settled("default", AT), 5.0)) == 0
    assert world.scans() == scans


def test_a_read_takes_as_many_blocks_among_a_hundred_thousand_as_among_a_thousand(world: World) -> None:
    scans = world.scans()
    blocks: dict[str, tuple[int, int]] = {}
    for name, pair in reads(*both(world.store)).items():
        for _ in range(WARM):
            pair.small(), pair.large()
        answer = pair.large()
        answers = len(answer) if isinstance(answer, list) else 1
        blocks[name] = world.blocks(pair.large), max(world.blocks(pair.small), EACH * answers)
    assert {name: (large, small) for name, (large, small) in blocks.items() if large > MOST * small} == {}
    assert all(large > 0 for large, _ in blocks.values())
    assert world.scans() == scans


@pytest.mark.parametrize("name", RANGES)
def test_a_page_of_a_time_range_begins_where_the_last_one_ended(world: World, name: str) -> None:
    """Not at the range's end, so that a whole range costs its pages and not their square."""

    def page(number: int) -> object:
        return world.store._handle.backend.read(page_behind(RANGES[name], number), 5.0)

    calls = [partial(page, number) for number in (10_000, LARGE - 10_000)]
    for call in calls * WARM:
        call()
    deep, shallow = map(world.blocks, calls)
    assert 0 < deep <= MOST * shallow


def test_a_write_takes_as_many_blocks_among_a_hundred_thousand_as_among_a_thousand(world: World) -> None:
    """Also where very many have gone."""
    scans = world.scans()
    blocks: dict[str, list[int]] = {}
    for name, call in WRITES.items():
        for number in range(WARM):
            for at in SCOPES:
                call(world.store, at, f"{name} {at}" + "i" * number)
        key = f"{name} " + "i" * WARM
        blocks[name] = [world.blocks(partial(call, world.store, at, f"{key} {at}")) for at in SCOPES]
    assert {name: (large, small) for name, (large, small) in blocks.items() if large > MOST * small} == {}
    assert world.scans() == scans
