"""Many items end in one call: by a condition that is judged behind the locks, as listed, or as a trim takes them."""

import json
from collections.abc import Iterator
from threading import Thread

import psycopg
import pytest

import txmemory
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Bounds, Filter, Memory, Store, must
from txmemory.backends.opening import Options, open_backend
from txmemory.model.address import Address
from txmemory.model.commit import Change, Commit, Done, Entry, Found, Met, Put, RemoveListed
from txmemory.model.item import Item, commitment
from txmemory.model.query import Events, Revisions
from txmemory.rules.recording import EVENT_EFFECTS

HERE = ("here",)
MANY, OVER = 20_000, 2_500
DEADLINE = 10.0
"""Of each call: the server ends what takes a second longer."""


@pytest.fixture
def store(world: World) -> Iterator[Store]:
    with txmemory.open(world.direct, deadline=DEADLINE) as store:
        yield store


def committed(world: World, *changes: Change) -> Met:
    backend = open_backend(Options(world.direct))
    try:
        reply = backend.commit(Commit("default", None, (Entry(changes=changes),)), DEADLINE)
    finally:
        backend.close()
    assert isinstance(reply, tuple)
    return reply[0]


def fill(store: Store, count: int) -> list[str]:
    """So many memories, oldest first."""
    ids = [f"m-{number:05}" for number in range(count)]
    for start in range(0, count, 1_000):
        must(store.store_all([Memory("tea", id=id) for id in ids[start : start + 1_000]]))
    return ids


def test_an_embedding_is_stored_and_bound_by_the_commitment(world: World) -> None:
    item = Item("note", "tea", embedding=b"\0\0\x80?" * 3)
    met = committed(world, Put(Address(HERE, "tea"), item))
    assert isinstance(met, Done)
    backend = open_backend(Options(world.direct))
    (revision,) = backend.read(Revisions("default", Address(HERE, "tea"), 0, 10), DEADLINE).rows
    events = backend.read(Events("default", 0, 1_000), DEADLINE).rows
    backend.close()
    assert revision.item is not None
    assert revision.item.embedding == item.embedding
    (effect,) = events[-1][1].effects
    assert effect.commitment == commitment(revision.salt, revision.item, revision.created_at)


def test_a_row_that_changes_while_a_sweep_waits_for_it_is_judged_anew(world: World, store: Store) -> None:
    """What matched and does no longer stays; what is as it was goes."""
    place = store.within("judged")
    must(place.store_all([Memory("a", id=id, importance=0.9) for id in ("changed", "kept", "same")]))
    sweep = Thread(target=lambda: must(place.delete_matching(Filter.important(0.5))))
    with psycopg.connect(world.direct) as other:
        other.execute(
            "UPDATE txmemory.item SET importance = 0.1 WHERE id = 'changed' AND namespace LIKE '%judged%'"
        )
        sweep.start()
        until(lambda: bool(world.waiting("transactionid") or world.waiting("tuple")))
    sweep.join()
    assert [memory.id for memory in must(place.recall())] == ["changed"]


def test_twenty_thousand_that_were_listed_end_in_one_transaction(world: World, store: Store) -> None:
    """In seconds, not in minutes: nothing grows with the square of their number."""
    place = store.within("many")
    ids = fill(place, MANY)
    listed = tuple((id, 1) for id in ids)
    stale = (*listed[:-1], (ids[-1], 2))
    assert committed(world, RemoveListed(place._handle.namespace, stale, "deleted")) == Found({})
    assert must(place.count()) == MANY
    before = world.look("SELECT max(row) FROM txmemory.event")[0][0]
    met = committed(world, RemoveListed(place._handle.namespace, listed, "deleted"))
    assert isinstance(met, Done)
    assert [ref.id for ref in met.outcome.removed] == ids
    events = world.look("SELECT xmin::text, effects FROM txmemory.event WHERE row > %s ORDER BY row", before)
    parts = [json.loads(effects)[1] for _, effects in events]
    assert [len(part) for part in parts] == [EVENT_EFFECTS] * (MANY // EVENT_EFFECTS)
    assert [effect[1] for part in parts for effect in part] == ids
    assert len({transaction for transaction, _ in events}) == 1
    assert must(place.count()) == 0


def test_a_trim_takes_what_is_over_in_commits_of_a_thousand(world: World, store: Store) -> None:
    place = store.within("trimmed")
    ids = fill(place, OVER + 10)
    before = world.look("SELECT max(row) FROM txmemory.event")[0][0]
    assert must(place.trim(Bounds(max_memories=10))) == OVER
    events = world.look("SELECT effects FROM txmemory.event WHERE row > %s ORDER BY row", before)
    parts = [[effect[1] for effect in json.loads(effects)[1]] for (effects,) in events]
    assert [len(part) for part in parts] == [1_000, 1_000, 500]
    assert sorted(id for part in parts for id in part) == ids[:OVER]
    assert must(place.trim(Bounds(max_memories=10))) == 0
    assert world.look("SELECT count(*) FROM txmemory.event WHERE row > %s", before) == [(3,)]
