"""A head says what the history says, however its commit went: made whole, made in vain, or changed again."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

import psycopg
import pytest
from psycopg import sql

from txmemory.backends.opening import Options, open_backend
from txmemory.model.address import Address, Presenter
from txmemory.model.commit import Bound, Commit, Entry, Found, Guard, Put, Remove
from txmemory.model.item import Item
from txmemory.port import Backend
from txmemory.testing.server import PostgresServer
from txmemory.testing.shared import new_schema, runtime_url

HERE = ("here",)
IDS = "abcdefgh"
COMMITS = 80

WRONG = """
SELECT i.id FROM {schema}.item i
  LEFT JOIN {schema}.revision r
    ON (r.tenant, r.namespace, r.id, r.revision) = (i.tenant, i.namespace, i.id, i.revision)
  LEFT JOIN LATERAL (
       SELECT f.at, f.ordinal FROM {schema}.revision f
        WHERE (f.tenant, f.namespace, f.id) = (i.tenant, i.namespace, i.id) AND f.revision > coalesce(
              (SELECT max(g.revision) FROM {schema}.revision g
                WHERE (g.tenant, g.namespace, g.id) = (i.tenant, i.namespace, i.id) AND g.reason <> 'stored'), 0)
        ORDER BY f.revision LIMIT 1) AS first ON true
 WHERE r.id IS NULL OR i.updated_at <> r.at OR i.created_at <> r.created_at
    OR (i.live = 1) <> (r.reason = 'stored')
    OR i.live = 1 AND (i.kind, i.attributes, i.added_at, i.added_ordinal)
                   <> (r.kind, r.attributes, first.at, first.ordinal)
    OR i.live = 1 AND (i.expires_at, i.importance) IS DISTINCT FROM (r.expires_at, r.importance)
    OR i.live = 0 AND (i.attributes, i.importance) IS DISTINCT FROM ('{{}}', NULL)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server.url(server.create_database())


def wrong(url: str, schema: str) -> list[tuple[str]]:
    """Heads that say something else than their history."""
    with psycopg.connect(url) as connection:
        found = connection.execute(sql.SQL(WRONG).format(schema=sql.Identifier(schema)))
        ids: list[tuple[str]] = found.fetchall()
    return ids


def heads(url: str, schema: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(sql.SQL("SELECT id FROM {}.item").format(sql.Identifier(schema)))
        return sorted(id for (id,) in found.fetchall())


def put(chance: random.Random, id: str) -> Put:
    created = chance.choice([None, None, chance.randrange(10**15)])
    item = Item("note", "tea", attributes={"cups": 2}, created_at=created, importance=chance.random())
    return Put(Address(HERE, id), item)


def entry(chance: random.Random, key: str, ids: Sequence[str]) -> Entry:
    """Puts and removals, some of which fail a guard or miss a source."""
    changes = tuple(
        put(chance, id) if chance.random() < 0.8 else Remove(Address(HERE, id), "replaced") for id in ids
    )
    guards = tuple(Guard(Address(HERE, id), chance.choice([0, 1, 2])) for id in ids if chance.random() < 0.3)
    sources = tuple(Guard(Address(HERE, id), None) for id in ids if chance.random() < 0.2)
    return Entry(key, "record", key.encode(), guards, sources, changes)


@pytest.mark.parametrize("clocked", [True, False], ids=["caller's clock", "server's clock"])
@pytest.mark.parametrize("bounded", [True, False], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("seed", range(2))
def test_after_any_commits_every_head_is_what_its_history_says(
    url: str, seed: int, *, clocked: bool, bounded: bool
) -> None:
    chance = random.Random(seed)
    schema = new_schema(url)
    now = count()
    started = datetime(2030, 1, 1, tzinfo=UTC)

    def clock() -> datetime:
        """Goes on, and back now and then."""
        return started + timedelta(microseconds=next(now) - chance.randrange(50))

    backend = open_backend(Options(runtime_url(url, schema), clock if clocked else None))
    bounds = (Bound(HERE, 5),) if bounded else ()
    try:
        for number in range(COMMITS):
            ids = chance.sample([*IDS, *(f"{number}-{n}" for n in range(8))], 6)
            parts = (ids[:2], ids[2:3], ids[3:])[: chance.randint(1, 3)]
            entries = tuple(entry(chance, f"{number}-{n}", part) for n, part in enumerate(parts))
            backend.commit(Commit("default", Presenter("run", 1), entries, bounds), 30.0)
            assert wrong(url, schema) == []
    finally:
        backend.close()


def only_found(backend: Backend, *entries: Entry) -> None:
    reply = backend.commit(Commit("default", Presenter("run", 1), entries), 30.0)
    assert isinstance(reply, tuple)
    assert all(isinstance(met, Found) for met in reply)


def test_a_refused_write_leaves_no_head(url: str) -> None:
    schema = new_schema(url)
    backend = open_backend(Options(runtime_url(url, schema)))
    new, gone = Address(HERE, "new"), Address(HERE, "gone")
    chance = random.Random(0)
    try:
        only_found(backend, Entry("1", "record", b"1", (Guard(new, 7),), (), (put(chance, "new"),)))
        only_found(backend, Entry("2", "record", b"2", (Guard(gone, 1),), (), (put(chance, "new"),)))
        assert heads(url, schema) == []
        good = Entry("4", "record", b"4", (), (), (put(chance, "good"),))
        bad = Entry("3", "record", b"3", (Guard(Address(HERE, "bad"), 1),), (), (put(chance, "bad"),))
        backend.commit(Commit("default", Presenter("run", 1), (bad, good)), 30.0)
        assert heads(url, schema) == ["good"]
        assert wrong(url, schema) == []
    finally:
        backend.close()
