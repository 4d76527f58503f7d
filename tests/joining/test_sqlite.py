"""Connections to an SQLite file as callers have them, and transactions that end otherwise than they hoped."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.snapshot import snapshot
from txmemory import Contended, Memory, Store, Unavailable, either, must
from txmemory.testing.server import PostgresServer

TEA = [Memory("tea", id="a")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with txmemory.open(f"sqlite:///{path}") as opened:
        yield opened


def connected(path: Path, begin: str = "BEGIN") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    connection.execute(begin)
    return connection


def upside_down(content: bytes) -> str:
    return content.decode()[::-1]


@pytest.mark.parametrize("row_factory", [None, sqlite3.Row, lambda _cursor, row: {"row": row}])
@pytest.mark.parametrize("text_factory", [str, bytes, upside_down])
def test_the_caller_s_factories_stay_the_caller_s(
    path: Path, store: Store, row_factory: Callable[..., object] | None, text_factory: Callable[..., object]
) -> None:
    first = must(store.writer("run", 1).write("step", TEA))
    with closing(connected(path)) as connection:
        connection.row_factory, connection.text_factory = row_factory, text_factory
        joined = store.joined(connection)
        assert must(joined.writer("run", 1).write("step", TEA)).outcome == first.outcome
        must(joined.writer("run", 2).replace("next", [Memory("coffee", id="b")], ["a"]))
        assert [(each.id, each.content) for each in must(joined.recall())] == [("b", "coffee")]
        assert must(joined.keys("run")) == ["next", "step"]
        assert (connection.row_factory, connection.text_factory) == (row_factory, text_factory)
        connection.execute("COMMIT")
    assert must(store.keys("run")) == ["next", "step"]


@pytest.mark.parametrize("isolation_level", [None, "", "DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
def test_every_isolation_level_of_the_driver_joins_once_a_transaction_is_open(
    path: Path, store: Store, isolation_level: Any
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.isolation_level = isolation_level
        connection.execute("CREATE TABLE step (name text)")
        with pytest.raises(ValueError, match="begin one"):
            store.joined(connection)
        if isolation_level is None:
            connection.execute("BEGIN")
        connection.execute("INSERT INTO step VALUES ('step')")
        must(store.joined(connection).writer("run", 1).write("step", TEA))
        connection.rollback()
        assert must(store.keys("run")) == []
        with connection:
            if isolation_level is None:
                connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO step VALUES ('step')")
            must(store.joined(connection).writer("run", 1).write("step", TEA))
        assert connection.execute("SELECT name FROM step").fetchall() == [("step",)]
    assert must(store.keys("run")) == ["step"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the driver has the attribute since Python 3.12")
@pytest.mark.parametrize("autocommit", [True, False])
def test_the_driver_s_autocommit_mode_makes_no_difference(
    path: Path, store: Store, *, autocommit: bool
) -> None:
    options: dict[str, Any] = {"autocommit": autocommit}
    with closing(sqlite3.connect(path, **options)) as connection:
        if autocommit:
            connection.execute("BEGIN")
        must(store.joined(connection).writer("run", 1).write("step", TEA))
        assert must(store.keys("run")) == []
        if autocommit:
            connection.execute("COMMIT")
        else:
            connection.commit()
    assert must(store.keys("run")) == ["step"]


def test_another_file_is_refused_before_anything_is_written(tmp_path: Path, path: Path, store: Store) -> None:
    other = tmp_path / "other.db"
    txmemory.open(f"sqlite:///{other}").close()
    attached = f"ATTACH '{path}' AS agent"
    for place, first in ((other, "SELECT 1"), (":memory:", "SELECT 1"), ("", "SELECT 1"), (other, attached)):
        with closing(sqlite3.connect(place, isolation_level=None)) as connection:
            connection.execute(first)
            connection.execute("BEGIN")
            joined = store.joined(connection)
            with pytest.raises(ValueError, match="not the file"):
                joined.writer("run", 1).write("step", TEA)
            with pytest.raises(ValueError, match="not the file"):
                joined.count()
            connection.execute("COMMIT")
            assert connection.total_changes == 0


def test_another_name_of_the_same_file_is_the_same_file(tmp_path: Path, path: Path, store: Store) -> None:
    (tmp_path / "link.db").symlink_to(path)
    with closing(connected(tmp_path / "link.db")) as connection:
        must(store.joined(connection).writer("run", 1).write("step", TEA))
        connection.execute("COMMIT")
    assert must(store.keys("run")) == ["step"]


def test_what_is_no_open_connection_of_the_right_kind_is_refused(
    path: Path, store: Store, server: PostgresServer
) -> None:
    connection = connected(path)
    connection.close()
    with pytest.raises(ValueError, match="closed"):
        store.joined(connection)
    with pytest.raises(TypeError, match=r"joins a sqlite3\.Connection"):
        store.joined(server)
    for url in ("memory://", "sqlite:///:memory:"):
        with (
            txmemory.open(url) as in_memory,
            closing(sqlite3.connect(":memory:")) as other,
            pytest.raises(TypeError, match="in memory"),
        ):
            in_memory.joined(other)


def test_a_transaction_that_reads_an_older_state_is_contended_and_never_answers_from_it(
    path: Path, store: Store
) -> None:
    """Also where nothing would be written: a look, a replay, a fenced call."""
    must(store.writer("run", 1).write("step", TEA))
    with closing(connected(path)) as connection:
        joined = store.joined(connection)
        assert must(joined.count()) == 1  # now the transaction has its state
        must(store.writer("run", 1).write("next", []))
        must(store.writer("run", 2).applied("next"))
        for call in (
            lambda: joined.writer("run", 1).applied("next"),
            lambda: joined.writer("run", 1).write("step", TEA),
            lambda: joined.writer("run", 0).write("step", TEA),
            lambda: joined.store(Memory("coffee", id="a")),
        ):
            assert either(call()) == Contended()
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        assert must(joined.writer("run", 2).applied("next")) is not None
        connection.execute("COMMIT")


def test_a_call_that_fails_half_way_leaves_nothing_for_the_caller_to_commit(path: Path) -> None:
    """The caller's own clock fails, behind the step that raises the fence."""
    times: list[datetime] = []

    def clock() -> datetime:
        return times.pop()

    with (
        txmemory.open(f"sqlite:///{path}", clock=clock) as store,
        closing(connected(path, "BEGIN IMMEDIATE")) as connection,
    ):
        connection.execute("CREATE TABLE step (name text)")
        connection.execute("INSERT INTO step VALUES ('step')")
        joined = store.joined(connection)
        with pytest.raises(IndexError):
            joined.writer("run", 7).write("step", TEA)
        connection.execute("COMMIT")
        assert connection.execute("SELECT count(*) FROM step").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM txm_scope").fetchone() == (0,)
        connection.execute("BEGIN")
        times.append(datetime(2030, 1, 1, tzinfo=UTC))
        must(joined.writer("run", 7).write("step", TEA))
        connection.execute("COMMIT")
    assert len(snapshot(path).ledger) == 1


def test_a_disk_that_is_full_is_told_and_leaves_nothing_of_ours(path: Path, store: Store) -> None:
    must(store.writer("run", 1).write("step", TEA))
    before = snapshot(path)
    with closing(connected(path, "BEGIN IMMEDIATE")) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages}")
        big = [Memory("x" * 100_000, id=str(number)) for number in range(3)]
        met = either(store.joined(connection).writer("run", 2).write("big", big))
        assert met == Unavailable("SQLITE_FULL")
        if connection.in_transaction:
            connection.execute("COMMIT")  # which a caller should not do
    assert snapshot(path) == before


def test_a_caller_that_may_only_read_is_told_so(path: Path, store: Store) -> None:
    with closing(connected(path)) as connection:
        connection.execute("PRAGMA query_only=1")
        met = either(store.joined(connection).writer("run", 1).write("step", TEA))
        assert met == Unavailable("SQLITE_READONLY")
        assert must(store.joined(connection).count()) == 0
