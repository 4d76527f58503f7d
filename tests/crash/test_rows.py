"""What stands in the rows of an SQLite file, beyond what a call can see."""

import sqlite3
import struct
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.crash.operations import opened
from tests.crash.snapshot import snapshot
from txmemory import Bounds, Corrupted, Memory, must
from txmemory.testing.clock import START


def tagged(id: str, minute: int = 0) -> Memory:
    """A memory with all that a filter looks at."""
    at = START + timedelta(minutes=minute)
    return Memory("tea", id=id, metadata={"user": "ada"}, importance=0.5, timestamp=at)


def test_a_head_that_is_not_live_holds_nothing_of_its_content_however_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with opened(path) as store:
        writer = store.writer("run", 1)
        ids = ("deleted", "replaced", "evicted", "cleared")
        must(writer.write("stored", [tagged(id, minute) for minute, id in enumerate(ids)]))
        must(store.delete("deleted"))
        must(writer.replace("replaced", [], ["replaced"]))
        evicted = must(writer.write("evicted", [tagged("at once", -1)], bounds=Bounds(1))).outcome.evicted
        assert [ref.id for ref in evicted] == ["at once", "evicted"]
        must(store.clear())
        must(writer.write("again", [tagged("live"), tagged("deleted")]))
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT id, live, attributes, importance FROM txm_item ORDER BY id"
        ).fetchall()
    assert rows == [
        ("at once", 0, "{}", None),
        ("cleared", 0, "{}", None),
        ("deleted", 1, '{"user":"ada"}', 0.5),
        ("evicted", 0, "{}", None),
        ("live", 1, '{"user":"ada"}', 0.5),
        ("replaced", 0, "{}", None),
    ]
    assert {id for id, _, _ in snapshot(path).items} == {"deleted", "live"}


def test_an_embedding_stands_in_its_revision_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    packed = struct.pack("<3f", 0.1, -2.5, 3e7)
    with opened(path) as store:
        must(store.writer("run", 1).write("step", [Memory("tea", id="kept", embedding=[0.1, -2.5, 3e7])]))
        must(store.store(Memory("tea", id="gone", embedding=[0.1, -2.5, 3e7])))
        must(store.delete("gone"))
        must(store.update("kept", lambda memory: memory.with_metadata({"a": "1"})))
        must(store.update("kept", lambda memory: memory.with_content("coffee")))
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, revision, embedding FROM txm_revision ORDER BY id, revision")
        assert rows.fetchall() == [
            ("gone", 1, packed),
            ("gone", 2, None),
            ("kept", 1, packed),
            ("kept", 2, packed),
            ("kept", 3, None),
        ]
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            found = [row for row in connection.execute(f'SELECT * FROM "{table}"') if packed in row]  # noqa: S608  # the schema's own name
            assert len(found) == (3 if table == "txm_revision" else 0)


@pytest.mark.parametrize("call", ["store_all", "swap"])
def test_a_batch_whose_third_row_fails_stores_none_and_the_store_goes_on(tmp_path: Path, call: str) -> None:
    path = tmp_path / "store.db"
    with opened(path) as store:
        must(store.store(Memory("before", id="a")))
    before = snapshot(path)
    with closing(sqlite3.connect(path)) as connection:
        failing = "SELECT raise(ABORT, 'no')"
        connection.execute(
            f"CREATE TRIGGER third BEFORE INSERT ON txm_revision WHEN NEW.id = 'c' BEGIN {failing}; END"
        )
    batch = [Memory("after", id=id) for id in "abcd"]
    with opened(path) as store, closing(sqlite3.connect(path)) as connection:
        with pytest.raises(Corrupted) as met:  # an error that our own statements never make
            store.store_all(batch) if call == "store_all" else store.swap(batch, ["e"])
        assert (met.value.__cause__, met.value.__context__) == (None, None)  # which would quote the row
        assert snapshot(path) == before
        must(store.store_all([Memory("after", id="d")]))
        connection.execute("DROP TRIGGER third")
        must(store.store_all(batch))
        seen = connection.execute("SELECT id, revision FROM txm_item WHERE live = 1 ORDER BY id").fetchall()
    assert seen == [("a", 2), ("b", 1), ("c", 1), ("d", 2)]
