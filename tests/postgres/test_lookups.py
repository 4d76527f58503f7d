"""A page of recall costs a look for each of its items, also where the planner knows nothing of the tables yet."""

import psycopg

import txmemory
from tests.postgres.worlds import World
from txmemory import Memory, must
from txmemory.backends.postgres.dialect import read_statements
from txmemory.model.filter import Everything
from txmemory.model.query import Select


def test_the_newest_revision_of_an_item_is_found_by_its_whole_key(world: World) -> None:
    world.do("ALTER TABLE txmemory.item SET (autovacuum_enabled = false)")
    world.do("ALTER TABLE txmemory.revision SET (autovacuum_enabled = false)")
    with txmemory.open(world.direct) as store:
        for _ in range(3):
            must(store.store_all([Memory("tea") for _ in range(1_000)]))
        namespace = store._handle.namespace
    asked = read_statements("txmemory").asked(
        Select("default", namespace, Everything(), limit=100), lambda: None
    )
    with psycopg.connect(world.direct) as connection:
        plan = connection.execute(f"EXPLAIN (ANALYZE, COSTS OFF) {asked.statement}", asked.bindings[0])
        lines = [line for (line,) in plan.fetchall()]
    assert not [line for line in lines if "Join Filter" in line]
    assert any("revision_pkey" in line for line in lines)
