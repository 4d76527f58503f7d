"""A store that grows costs no more a call, also where nobody has ever analysed its tables. Counted, not timed."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

import txmemory
from txmemory import Bounds, Filter, Memory, Store, must
from txmemory.testing import binaries
from txmemory.testing.server import OwnServer, PostgresServer

pytestmark = pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))

SMALL, LARGE = 100, 10_000
ROWS_READ = """
SELECT coalesce(sum(seq_tup_read), 0)::int, coalesce(sum(idx_tup_fetch), 0)::int
  FROM pg_stat_xact_user_tables WHERE schemaname = 'txmemory'
"""
"""Rows that this transaction has read so far: without an index, and by one."""

Call = Callable[[Store, str], object]
CALLS: dict[str, Call] = {
    "a fresh write": lambda store, key: must(store.writer("run", 1).write(key, [Memory("tea")])),
    "a replay": lambda store, _: must(store.writer("run", 1).write("write-0", [Memory("tea")])),
    "a look": lambda store, key: must(store.writer("run", 1).applied(key)),
    "a replacement": lambda store, key: must(
        store.writer("run", 1).replace(key, [Memory("tea", id=f"new-{key}")], ["m-1", "m-2"])
    ),
    "a bounded write": lambda store, key: must(
        store.within("bounded").writer("run", 1).write(key, [Memory("tea")], bounds=Bounds(10))
    ),
    "a plain store": lambda store, key: must(store.store(Memory("tea", id=key))),
    "a removal": lambda store, _: must(store.delete("m-3")),
    "one memory": lambda store, _: must(store.get("m-4")),
    "the newest": lambda store, _: must(store.recall(limit=5)),
    "the newest of a type": lambda store, _: must(store.recall(Filter.by_type("task"), limit=5)),
}


@pytest.fixture
def grown() -> Iterator[Callable[[int], str]]:
    """A database whose store is grown to so many memories; its tables are never analysed."""
    with OwnServer(durable=False, settings={"autovacuum": "off"}) as server:
        url = server.url(server.create_database())
        txmemory.migrate(url)

        def grow(size: int) -> str:
            with txmemory.open(url) as store:
                writer = store.writer("run", 1)
                there = must(store.count())
                for first in range(there, size, 500):
                    numbers = range(first, min(first + 500, size))
                    kinds = ("task", "knowledge")
                    writes = [
                        (f"write-{n}", [Memory("tea", id=f"m-{n}", memory_type=kinds[n % 2])])
                        for n in numbers
                    ]
                    must(writer.write_many(writes))
            return url

        yield grow


def rows_read(url: str, call: Call, key: str) -> tuple[int, int]:
    """In one joined transaction, which is rolled back."""
    with txmemory.open(url) as store, psycopg.connect(url) as connection:
        call(store.joined(connection), key)
        found = connection.execute(ROWS_READ).fetchone()
        connection.rollback()
    assert found is not None
    return found


def test_a_call_reads_no_more_rows_in_a_store_that_has_grown(grown: Callable[[int], str]) -> None:
    """C16: to 10,000 memories, never analysed: each by the same index, and the same number of rows."""
    small, large = (
        {name: rows_read(url, call, f"{name} {size}") for name, call in CALLS.items()}
        for size, url in ((size, grown(size)) for size in (SMALL, LARGE))
    )
    assert {name: by_scan for name, (by_scan, _) in large.items() if by_scan} == {}
    assert {name: rows for name, (_, rows) in large.items()} == {
        name: rows for name, (_, rows) in small.items()
    }
