"""A file that is full, read-only, gone, replaced, none of ours or damaged: refused clearly, nothing half written."""

import os
import resource
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.operations import copy, prepare
from tests.crash.snapshot import snapshot
from txmemory import (
    CannotOpen,
    Corrupted,
    Memory,
    Receipt,
    SchemaMismatch,
    Store,
    Unavailable,
    either,
    must,
)
from txmemory.backends.sqlite.backend import Sqlite
from txmemory.testing.processes import fork

NOBODY = 65_534
LARGE = "x" * 100_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    prepare(path)
    return path


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    with txmemory.open(f"sqlite:///{path}", deadline=5) as store:
        yield store


def write(store: Store, key: str, content: str = "tea") -> object:
    return either(store.writer("run", 7).write(key, [Memory(content, id=key)]))


def writing_connection(store: Store) -> sqlite3.Connection:
    """The connection of the store's writer; to be used while nobody writes."""
    backend = store._handle.backend
    assert isinstance(backend, Sqlite)
    connection = backend.writer._connection
    assert connection is not None
    return connection


def digests(folder: Path) -> dict[str, str]:
    """What every file of a folder holds."""
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


def refused_to_open(path: Path, kind: type[Exception]) -> str:
    """What `open` says. What stands there must be untouched, and nothing may be left open."""
    before = digests(path.parent)
    with pytest.raises(kind) as raised:
        txmemory.open(f"sqlite:///{path}", deadline=1)
    assert digests(path.parent) == before
    assert str(path) not in str(raised.value)
    return str(raised.value)


# ---- full


def test_a_full_database_refuses_and_keeps_what_it_has_and_goes_on_when_there_is_room(path: Path) -> None:
    """C9: no page is left."""
    with opened(path) as store:
        before = snapshot(path)
        connection = writing_connection(store)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages + 5}")
        assert write(store, "large", LARGE) == Unavailable("SQLITE_FULL")
        assert snapshot(path) == before
        assert isinstance(write(store, "small"), Receipt)
        connection.execute("PRAGMA max_page_count=1000000")
        assert must(store.writer("run", 7).applied("large")) is None
        assert isinstance(write(store, "large", LARGE), Receipt)


def test_a_full_disk_refuses_and_keeps_what_it_has_and_goes_on_when_there_is_room(path: Path) -> None:
    """C9: the file may not grow."""

    def work(_line: "Connection[Any, Any]") -> tuple[object, object, int]:
        with opened(path) as store:
            write(store, "filler")
            limit = Path(f"{path}-wal").stat().st_size + 50_000
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            full = write(store, "large", LARGE)
            count = must(store.count())
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return full, write(store, "large", LARGE), count

    with fork(work) as child:
        full, again, count = child.answer()
    # A limit of the process is to the engine an error of the file, met while it commits.
    assert isinstance(full, Unavailable)
    assert full.outcome_unknown
    assert count == 4
    assert isinstance(again, Receipt)
    assert {id for id, _, _ in snapshot(path).items} == {"first", "second", "third", "filler", "large"}


# ---- read-only


def test_a_store_that_becomes_read_only_refuses_to_write_and_goes_on_reading(path: Path) -> None:
    """C9: replays included."""
    with opened(path) as store:
        before = snapshot(path)
        writing_connection(store).execute("PRAGMA query_only=1")
        assert write(store, "key") == Unavailable("SQLITE_READONLY")
        assert either(store.store(Memory("plain"))) == Unavailable("SQLITE_READONLY")
        assert must(store.count()) == 3
        assert must(store.writer("run", 1).write("before first", [Memory("the first")])).replayed
        assert snapshot(path) == before
        writing_connection(store).execute("PRAGMA query_only=0")
        assert isinstance(write(store, "key"), Receipt)


@contextmanager
def folder_for_nobody() -> Iterator[Path]:
    """A folder that also a user without any right can look into."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def as_nobody(work: Callable[[], object]) -> object:
    """What the work answers in a process that may not do everything."""

    def without_rights(_line: "Connection[Any, Any]") -> object:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return work()

    with fork(without_rights) as child:
        return child.answer()


def open_refused(path: Path) -> str:
    try:
        with txmemory.open(f"sqlite:///{path}") as store:
            return repr(write(store, "key"))
    except CannotOpen as refusal:
        return f"CannotOpen {refusal}"


def test_a_file_that_may_only_be_read_is_refused_when_it_is_opened_and_untouched() -> None:
    with folder_for_nobody() as folder:
        path = folder / "store.db"
        prepare(path)
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        folder.chmod(0o555)
        before = digests(folder)
        answer = as_nobody(lambda: open_refused(path))
        assert str(answer).startswith("CannotOpen ")
        assert "(SQLITE_" in str(answer)
        assert digests(folder) == before
        folder.chmod(0o755)
        path.chmod(0o644)
        with opened(path) as store:
            write(store, "key")


def test_a_place_where_no_file_may_be_made_is_refused() -> None:
    with folder_for_nobody() as folder:
        folder.chmod(0o555)
        assert as_nobody(lambda: open_refused(folder / "new.db")) == (
            "CannotOpen the file cannot be opened: it is a folder, or its folder is missing or may not be used"
            " (SQLITE_CANTOPEN)"
        )
        assert list(folder.iterdir()) == []


# ---- gone, or another one


def test_a_file_that_is_removed_is_told_by_every_call_and_another_store_in_its_place_is_used(
    path: Path,
) -> None:
    """C9: removed under an open store."""
    kept = copy(path, path.with_name("kept.db"))
    with opened(path) as store:
        assert must(store.count()) == 3
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink()
        assert write(store, "key") == Unavailable("FILE_REMOVED")
        assert write(store, "before first") == Unavailable("FILE_REMOVED")
        assert isinstance(either(store.count()), Unavailable)
        assert not path.exists()
        kept.rename(path)
        assert isinstance(write(store, "key"), Receipt)
        assert must(store.count()) == 4
    assert len(snapshot(path).items) == 4


def test_a_file_that_is_replaced_is_noticed_and_neither_the_old_nor_the_new_one_is_harmed(path: Path) -> None:
    """C9: replaced under an open store."""
    other = path.with_name("other.db")
    with opened(other) as there:
        write(there, "of the other")
    with opened(path) as store:
        write(store, "before")
        assert must(store.count()) == 4
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").rename(path.with_name(f"old.db{end}"))
        other.rename(path)
        with opened(path) as there:  # with a log of its own beside it
            write(there, "while both are open")
            assert must(store.count()) == 2
            assert not must(store.writer("run", 7).write("before", [Memory("tea", id="before")])).replayed
            assert must(there.count()) == 3
    assert {id for id, _, _ in snapshot(path).items} == {"of the other", "while both are open", "before"}
    assert len(snapshot(path.with_name("old.db")).items) == 4


def test_a_file_that_is_replaced_by_something_else_is_refused(path: Path) -> None:
    with opened(path) as store:
        assert must(store.count()) == 3
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink()
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE something (else_ TEXT)")
        before = path.read_bytes()
        with pytest.raises(SchemaMismatch):
            write(store, "key")
        with pytest.raises(SchemaMismatch):
            store.count()
        assert path.read_bytes() == before


# ---- none of ours


def test_what_is_no_database_is_refused_and_untouched(tmp_path: Path) -> None:
    """C9: not a database."""
    path = tmp_path / "poem.txt"
    path.write_text("I wandered lonely as a cloud\n" * 500)
    assert refused_to_open(path, CannotOpen) == "the file is not a database (SQLITE_NOTADB)"


@pytest.mark.parametrize("place", ["", "no such folder/store.db"])
def test_a_place_that_can_be_no_file_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(CannotOpen, match="SQLITE_CANTOPEN"):
        txmemory.open(f"sqlite:///{tmp_path / place}")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with opened(path) as store:
        write(store, "key")
    assert len(snapshot(path).items) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE txm_schema SET version_num = '9999'",
        "DELETE FROM txm_schema",
        "INSERT INTO txm_schema VALUES ('0000')",
        "DROP TABLE txm_schema",
    ],
)
def test_a_schema_of_another_release_or_of_none_is_refused_and_untouched(path: Path, change: str) -> None:
    """C9: a newer schema, or none."""
    kept = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(change)
        other.execute("PRAGMA journal_mode=DELETE")
    refused_to_open(path, SchemaMismatch)
    path.write_bytes(kept)
    with opened(path) as store:
        assert must(store.count()) == 3


def test_a_fresh_store_beside_tables_of_somebody_else_leaves_them_alone(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE scope (name TEXT)")
        other.execute("INSERT INTO scope VALUES ('mine')")
        with opened(path) as store:
            write(store, "key")
        assert other.execute("SELECT name FROM scope").fetchall() == [("mine",)]


# ---- damaged


def pages_of(path: Path, table: str) -> list[int]:
    """Offsets of the pages of a table, found by what they hold."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()
    return [(root - 1) * size]


@pytest.mark.parametrize("table", ["txm_item", "txm_ledger", "txm_scope"])
def test_a_damaged_page_is_told_and_the_restored_file_works(path: Path, table: str) -> None:
    """C9: a damaged page."""
    kept = path.read_bytes()
    damaged = bytearray(kept)
    for offset in pages_of(path, table):
        damaged[offset : offset + 100] = b"\xff" * 100
    path.write_bytes(damaged)
    with opened(path) as store:
        with pytest.raises(Corrupted, match="SQLITE_CORRUPT"):
            write(store, "key")
        if table == "txm_item":
            with pytest.raises(Corrupted, match="SQLITE_CORRUPT"):
                store.recall()
    path.write_bytes(kept)
    with opened(path) as store:
        write(store, "key")
    assert len(snapshot(path).items) == 4


def test_a_damaged_header_is_refused(path: Path) -> None:
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])
    assert refused_to_open(path, CannotOpen) == "the file is not a database (SQLITE_NOTADB)"
