"""What stands in the rows of an SQLite file, beyond what a call can see."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from tests.crash.operations import opened
from tests.crash.snapshot import snapshot
from txmemory import Bounds, Memory, must
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
