"""The write-ahead log stays bounded, however slowly somebody reads."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import txmemory
from txmemory import Memory, Store, must
from txmemory.model.filter import Everything
from txmemory.model.item import Stored
from txmemory.model.query import Select

BOUND = 12_000_000
"""Bytes. The engine copies the log back every 1,000 pages; a few transactions may come before it can."""


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    with txmemory.open(f"sqlite:///{path}?synchronous=NORMAL") as store:
        for number in range(30):
            must(store.store(Memory(f"early {number}", id=f"early {number:02}")))
        yield store


def largest_log(store: Store, path: Path, writes: int) -> int:
    """How large the log was at most while so many writes went on, a hundred in a transaction."""
    log, largest = Path(f"{path}-wal"), 0
    for first in range(0, writes, 100):
        many = [(str(number), [Memory("tea" * 100)]) for number in range(first, first + 100)]
        must(store.writer("run", 1).write_many(many))
        largest = max(largest, log.stat().st_size)
    assert must(store.applied_count("run")) == writes
    return largest


def page(store: Store, last: Stored | None) -> Sequence[Stored]:
    """Ten items behind the last one."""
    handle = store._handle
    after = None if last is None else (last.created_at, last.address.id)
    return handle.backend.read(Select(handle.tenant, handle.namespace, Everything(), after, 10), 10.0).rows


def test_a_page_that_is_left_half_read_holds_no_log(tmp_path: Path) -> None:
    """C4: a recall stands still between two pages while others write."""
    path = tmp_path / "store.db"
    with opened(path) as store:
        read = [*page(store, None)]
        assert largest_log(store, path, 20_000) < BOUND
        read += page(store, read[-1])
        read += page(store, read[-1])
        assert [row.address.id for row in read] == [f"early {number:02}" for number in reversed(range(30))]


def test_the_bound_would_tell_a_reader_that_holds_its_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM txm_item").fetchone()
        assert largest_log(store, path, 10_000) > BOUND


def test_the_log_is_gone_when_the_last_store_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with opened(path) as store:
        must(store.count())
        assert Path(f"{path}-wal").stat().st_size > 0
    assert not Path(f"{path}-wal").exists()
