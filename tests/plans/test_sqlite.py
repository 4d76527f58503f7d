"""On SQLite a store that grows costs no more: every statement walks its index, and as far as it answers."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import bindparam

import txmemory
from scripts.benching.scaling import alike, reads
from tests.plans.cases import CASES, INDEX_OF
from tests.plans.loading import AT, LARGE, RANGES, SCOPES, WRITES, Rows, both, load, load_bounded, page_behind
from txmemory import Filter, must
from txmemory.backends.sql import narrowing
from txmemory.backends.sqlite.dialect import TABLES, compiled_row, guard_statements, read_statements
from txmemory.model.query import Past

MOST = 1.5
"""What a call may do among a hundred thousand memories, to what it does among a thousand."""
REVISION = "SEARCH txm_revision USING PRIMARY KEY (tenant=? AND namespace=? AND id=? AND revision=?)"


class World(NamedTuple):
    """A file with everything in it, its store, and a connection of the test's own."""

    connection: sqlite3.Connection
    store: txmemory.Store

    def plan(self, statement: str) -> list[str]:
        """What the engine says that it would do."""
        values: Any = [None] * statement.count("?") if "?" in statement else _Anything()
        return [row[3] for row in self.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]

    def steps(self, call: Callable[[txmemory.Store], object]) -> int:
        """How many steps of the engine a call takes, in a transaction that is then undone."""
        taken = count()
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.set_progress_handler(lambda: next(taken) < 0, 1)
        try:
            call(self.store.joined(self.connection))
        finally:
            self.connection.set_progress_handler(None, 0)
            self.connection.execute("ROLLBACK")
        return next(taken)


class _Anything(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 1


@contextmanager
def grown(folder: Path) -> Iterator[World]:
    """A store into which everything has been put."""
    path = folder / "grown.db"
    with (
        txmemory.open(f"sqlite:///{path}?synchronous=NORMAL") as store,
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
    ):

        def put(given: Rows) -> None:
            table = TABLES.metadata.tables[f"txm_{given.table}"]
            values: dict[str, Any] = {
                column.name: bindparam(column.name) for column in table.c if column.name != "row"
            }
            connection.execute("BEGIN")
            connection.executemany(compiled_row(table.insert().values(values)), given.rows)
            connection.execute("COMMIT")

        load(store, put)
        load_bounded(store, put)
        yield World(connection, store)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with grown(tmp_path_factory.mktemp("plans")) as world:
        yield world


def heads(plan: list[str]) -> list[str]:
    """By which indexes a plan comes to heads."""
    for line in plan:
        assert not re.search(r"SCAN( TABLE)? txm_", line), line
    found = [re.search(r"INDEX txm_item_(\w+)", line) for line in plan if " txm_item " in line]
    return ["?" if index is None else index[1] for index in found]


@pytest.mark.parametrize("name", CASES)
def test_a_filter_is_answered_along_its_index(world: World, name: str) -> None:
    shape = narrowing.shape(CASES[name].condition)
    each = [INDEX_OF[name]] * (2 if name == "two types" else 1)
    for behind in (False, True):
        plan = world.plan(read_statements().select(shape, behind=behind))
        assert heads(plan) == each
        assert REVISION in plan
    assert heads(world.plan(read_statements().count(shape))) == each
    if not narrowing.looks_at_text(shape):
        assert heads(world.plan(guard_statements().matching(shape))) == each[:1]


ALONG = {
    "get": ["?"],
    "past": ["?"],
    "past_of_one": ["?"],
    "figures": ["kind", "entity_id", "conversation_id"],
    "head": ["?"],
    "end_head": ["?"],
    "drop_placeholder": ["?"],
    "count_live": ["age"],
    "count_expired": ["expiry"],
    "count_older": ["age"],
    "expired": ["expiry"],
    "oldest": ["age"],
}
"""What comes to heads at all, and by which index; a question mark is the key."""
ELSEWHERE = ("make_namespace", "lock_namespace", "drop_namespace", "columns")
"""Statements for which a file has no table."""


@pytest.mark.parametrize("statements", [read_statements(), guard_statements()], ids=["read", "write"])
def test_no_statement_scans_a_table(world: World, statements: object) -> None:
    names = [name for name, value in vars(type(statements)).items() if isinstance(value, cached_property)]
    assert len(names) > 5
    for name in set(names) - set(ELSEWHERE):
        plan = world.plan(getattr(statements, name))
        assert heads(plan) == ALONG.get(name, []), name
        by_key = [line for line in plan if " txm_item " in line and "INDEX" not in line]
        id = "id>?" if name == "past" else "id=?"
        assert all(f"PRIMARY KEY (tenant=? AND namespace=? AND {id})" in line for line in by_key), name


def test_what_is_counted_along_an_index_is_counted_without_reading_a_head(world: World) -> None:
    shapes = [narrowing.shape(CASES[name].condition) for name in ("all", "a type", "a time range")]
    counted = [world.plan(read_statements().count(shape)) for shape in shapes]
    bounds = ("count_live", "count_expired", "count_older")
    counted.extend(world.plan(getattr(guard_statements(), name)) for name in bounds)
    for plan in counted:
        assert all("COVERING INDEX" in line for line in plan if " txm_item " in line), plan


def test_the_log_and_the_ledger_are_read_by_their_keys(world: World) -> None:
    reading, writing = read_statements(), guard_statements()
    assert world.plan(reading.keys) == [
        "SEARCH txm_ledger USING PRIMARY KEY (tenant=? AND scope=? AND key>?)"
    ]
    assert world.plan(reading.key_count) == ["SEARCH txm_ledger USING PRIMARY KEY (tenant=? AND scope=?)"]
    assert world.plan(reading.events) == ["SEARCH txm_event USING INTEGER PRIMARY KEY (rowid>?)"]
    (history,) = world.plan(reading.revisions)
    assert "PRIMARY KEY (tenant=? AND namespace=? AND id=? AND revision>?)" in history
    (time,) = world.plan(reading.time_of)
    assert "txm_event USING INDEX txm_event_seq (tenant=? AND scope=? AND seq=?)" in time
    ledger, event = world.plan(writing.applied)
    assert "txm_ledger USING PRIMARY KEY (tenant=? AND scope=? AND key=?)" in ledger
    assert "txm_event USING INDEX txm_event_seq (tenant=? AND scope=? AND seq=?)" in event


def test_what_was_there_is_found_along_the_ids_and_back_from_each_one_s_newest_revision(world: World) -> None:
    """Nothing is sorted, and no other namespace is looked at."""
    for statement in (read_statements().past, read_statements().past_of_one):
        plan = world.plan(statement)
        assert not [line for line in plan if "TEMP B-TREE" in line]
        assert "SEARCH older USING PRIMARY KEY (tenant=? AND namespace=? AND id=?)" in plan
        assert [line for line in plan if line.removesuffix(" LEFT-JOIN") == REVISION]


def _read(name: str, at: str, store: txmemory.Store) -> object:
    pair = reads(*both(store))[name]
    return pair.large() if at == "large" else pair.small()


def _write(name: str, at: str, store: txmemory.Store) -> object:
    return WRITES[name](store, at, "key")


def _sweep(name: str, at: str, store: txmemory.Store) -> object:
    return must(store.within(at).delete_matching(SWEEPS[name]))


def test_a_read_takes_as_many_steps_among_a_hundred_thousand_as_among_a_thousand(world: World) -> None:
    calls = reads(*both(world.store))
    assert {name for name, pair in calls.items() if not alike(pair)} == set()
    steps = {
        name: (world.steps(partial(_read, name, "large")), world.steps(partial(_read, name, "small")))
        for name in calls
    }
    assert {name: (large, small) for name, (large, small) in steps.items() if large > MOST * small} == {}
    assert all(large > 0 for large, _ in steps.values())


def test_a_page_of_what_was_there_takes_as_many_steps_among_a_hundred_thousand(world: World) -> None:
    """However much stands before it and behind it."""

    def page(name: str, after: str, store: txmemory.Store) -> object:
        query = Past("default", ("memories", name), AT, after=after, limit=100)
        return store._handle.backend.read(query, 5.0)

    small = world.steps(partial(page, "small", "m-00000500"))
    for after in ("", "m-00000500", "m-00090000"):
        assert 0 < world.steps(partial(page, "large", after)) <= MOST * small


SWEEPS: dict[str, Filter] = {
    "a removal by conversation": Filter.by_conversation("c-7"),
    "a removal by a rare type": Filter.by_type("rare-7"),
    "a removal by conversation and type": Filter.tasks() & Filter.by_conversation("c-7"),
}


def test_a_write_takes_as_many_steps_among_a_hundred_thousand_as_among_a_thousand(world: World) -> None:
    """Also where very many have gone, and whatever a removal finds by its filter."""
    steps = {name: [world.steps(partial(_write, name, at)) for at in SCOPES] for name in WRITES}
    steps |= {name: [world.steps(partial(_sweep, name, at)) for at in SCOPES] for name in SWEEPS}
    assert {name: (large, small) for name, (large, small) in steps.items() if large > MOST * small} == {}
    assert all(large > 0 for large, _ in steps.values())


@pytest.mark.parametrize("name", RANGES)
def test_a_page_of_a_time_range_begins_where_the_last_one_ended(world: World, name: str) -> None:
    """Not at the range's end, so that a whole range costs its pages and not their square."""

    def page(number: int, store: txmemory.Store) -> object:
        return store._handle.backend.read(page_behind(RANGES[name], number), 5.0)

    deep, shallow = (world.steps(partial(page, number)) for number in (10_000, LARGE - 10_000))
    assert 0 < deep <= MOST * shallow
