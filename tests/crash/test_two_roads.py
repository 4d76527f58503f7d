"""A schema that is created and one that is migrated to are the same."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

import txmemory
from tests.crash.operations import OPERATIONS, TOKEN, prepare
from tests.crash.snapshot import snapshot
from txmemory.backends.sql.migrations import upgrade
from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION

Rows = list[tuple[Any, ...]]


def created(path: Path) -> None:
    txmemory.open(f"sqlite:///{path}").close()


def migrated(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        upgrade(connection)
    engine.dispose()


def described(path: Path) -> dict[str, Rows]:
    """Every table and index of ours by name: how it was asked for, its columns, its keys."""
    with closing(sqlite3.connect(path)) as connection:
        objects = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name LIKE 'txm!_%' ESCAPE '!'"
        ).fetchall()
        ask: Callable[[str], Rows] = lambda pragma: connection.execute(f"PRAGMA {pragma}").fetchall()  # noqa: E731  # short
        described = {}
        for kind, name, table, sql in objects:
            rows: Rows = [(kind, table, " ".join((sql or "").split()))]
            rows += ask(f"table_xinfo({name})") if kind == "table" else ask(f"index_xinfo({name})")
            rows += sorted(row[1:] for row in ask(f"index_list({name})"))
            described[name] = rows
        return described


def test_a_schema_that_is_created_equals_one_that_is_migrated_to(tmp_path: Path) -> None:
    created(tmp_path / "created.db")
    migrated(tmp_path / "migrated.db")
    one, other = described(tmp_path / "created.db"), described(tmp_path / "migrated.db")
    assert len(one) > 6
    assert one == other


def test_both_roads_stamp_the_newest_version(tmp_path: Path) -> None:
    for make in (created, migrated):
        path = tmp_path / f"{make.__name__}.db"
        make(path)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT version_num FROM txm_schema").fetchall() == [(VERSION,)]
    assert KNOWN_VERSIONS[-1] == VERSION


def test_a_store_that_was_migrated_to_works_like_one_that_was_created(tmp_path: Path) -> None:
    results = []
    for make in (created, migrated):
        path = tmp_path / f"{make.__name__}.db"
        make(path)
        prepare(path)
        for operation in OPERATIONS:
            with txmemory.open(f"sqlite:///{path}") as store:
                operation.run(store, TOKEN)
        results.append({(id, revision, text) for id, revision, text in snapshot(path).items})
    assert results[0] == results[1]
