"""System calls of the engine that fail, fill the disk or never return, and how many of them a write costs."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import txmemory
from tests.crash.snapshot import Snapshot, snapshot
from tests.crash.workload import WRITES, work
from txmemory import Memory, must
from txmemory.backends.sqlite.backend import Sqlite
from txmemory.testing.processes import Child, spawn


def strace_is_missing() -> str:
    """Why system calls cannot be watched here; empty where they can."""
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed, so system calls can neither be failed nor counted"
    tried = subprocess.run([strace, "-f", "-o", os.devnull, "true"], check=False, capture_output=True)
    return (
        ""
        if tried.returncode == 0
        else "strace may not trace here, so system calls cannot be failed or counted"
    )


MISSING = strace_is_missing()
needs_strace = pytest.mark.skipif(bool(MISSING), reason=MISSING)

FAULTS = (
    *(f"fdatasync:error=EIO:when={when}" for when in (1, 2, 3, 5, 8)),
    *(f"pwrite64:error=ENOSPC:when={when}" for when in (1, 2, 5, 14, 40)),
    *(f"pwrite64:error=EIO:when={when}" for when in (2, 9, 27)),
    "pwrite64:error=ENOSPC:when=12..30",
    "fdatasync:error=EIO:when=3..5",
    "pread64:error=EIO:when=12",
    "pread64:error=EACCES:when=10",
)
KILLS = (
    *(f"pwrite64:signal=SIGKILL:when={when}" for when in (1, 2, 3, 10, 17, 31, 46, 60)),
    *(f"fdatasync:signal=SIGKILL:when={when}" for when in (1, 2, 3, 6)),
)


def traced(path: Path, *options: str) -> Child:
    """The workload on this file, under strace."""
    program = [sys.executable, "-m", "tests.crash.workload", f"sqlite:///{path}"]
    return spawn(["strace", "-f", "-qq", "-o", str(path.with_suffix(".trace")), *options, *program])


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A store that holds nothing yet."""
    path = tmp_path / "store.db"
    txmemory.open(f"sqlite:///{path}").close()
    return path


def injected(path: Path) -> int:
    """How often the fault was met."""
    return path.with_suffix(".trace").read_text().count("(INJECTED)")


def revisions(found: Snapshot) -> dict[str, int]:
    return {id: revision for id, revision, _ in found.items}


def assert_told_the_truth(told: list[tuple[str, str]], found: Snapshot) -> None:
    """Keyed calls ended once; a plain one is there if done, is not if refused, is at most once if that is unknown."""
    there = revisions(found)
    for id, name in told:
        match id.split()[0], name:
            case "keyed", "Receipt":
                assert there[id] == 1, id
            case "plain", "Outcome":
                assert there[id] == 1, id
            case _, "Unavailable" | "Corrupted":
                assert id not in there, id
            case "plain", "OutcomeUnknown":
                assert there.get(id, 1) == 1, id
            case _:
                raise AssertionError(f"{id} was told {name}")


def assert_all_keyed_once(found: Snapshot) -> None:
    """Every keyed write of the workload is there, once."""
    assert sorted(key for _, key, _ in found.ledger) == [str(number) for number in range(WRITES)]
    there = revisions(found)
    assert [there[f"keyed {number}"] for number in range(WRITES)] == WRITES * [1]


@needs_strace
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_system_call_makes_no_keyed_write_happen_twice_and_no_answer_untrue(
    fault: str, fresh: Path
) -> None:
    with traced(fresh, "-e", f"inject={fault}") as child:
        told = child.hear()
        assert child.wait() == 0
    assert injected(fresh) > 0
    found = snapshot(fresh)
    assert_told_the_truth(told, found)
    assert {key for _, key, _ in found.ledger} == {id.split()[1] for id, name in told if name == "Receipt"}
    work(f"sqlite:///{fresh}")
    assert_all_keyed_once(snapshot(fresh))


@needs_strace
@pytest.mark.parametrize("when", [1, 2, 3, 5, 8])
def test_a_store_whose_making_met_a_failing_system_call_is_made_by_the_next_opening(
    when: int, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with traced(path, "-e", f"inject=pwrite64:error=ENOSPC:when={when}") as child:
        assert_told_the_truth(child.hear(), snapshot(path))
        assert child.wait() == 0
    assert injected(path) > 0
    assert_all_keyed_once(snapshot(path))


@needs_strace
def test_a_disk_that_never_syncs_again_is_told_and_the_run_is_replayed_once_it_does(fresh: Path) -> None:
    with traced(fresh, "-e", "inject=fdatasync:error=EIO") as child:
        told = dict(child.hear())
    assert {told[f"keyed {number}"] for number in range(WRITES)} <= {"Contended", "Unavailable"}
    assert {told[f"plain {number}"] for number in range(WRITES)} <= {"OutcomeUnknown", "Unavailable"}
    snapshot(fresh)
    assert set(dict(work(f"sqlite:///{fresh}")).values()) == {"Receipt", "Outcome"}
    assert_all_keyed_once(snapshot(fresh))


@needs_strace
@pytest.mark.parametrize("kill", KILLS)
def test_killed_inside_a_system_call_a_run_is_replayed_to_the_same_end(kill: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with traced(path, "-e", f"inject={kill}") as child:
        assert child.wait() == -signal.SIGKILL
    told = dict(work(f"sqlite:///{path}"))
    assert set(told.values()) == {"Receipt", "Outcome"}
    assert_all_keyed_once(snapshot(path))


# ---- counted

COUNTED = """
import os, sys
import txmemory
from txmemory import Memory, must
from txmemory.testing.processes import joined

line = joined()
marks = os.open(os.devnull, os.O_WRONLY)

def mark(name):
    os.write(marks, f"MARK {name}".encode())

with txmemory.open(sys.argv[1]) as store:
    writer = store.writer("run", 1)
    must(writer.write("first", [Memory("tea", id="first")]))  # the log's own beginning costs a sync more
    mark("fresh")
    for number in range(20):
        must(writer.write(str(number), [Memory("tea", id=str(number))]))
    mark("replayed")
    for number in range(20):
        assert must(writer.write(str(number), [Memory("tea", id=str(number))])).replayed
    mark("looked up")
    for number in range(20):
        assert must(writer.applied(str(number)))
    mark("newer")
    for number in range(20):
        assert must(store.writer("run", 2 + number).write("first", [Memory("tea", id="first")])).replayed
    mark("read")
    for number in range(20):
        must(store.recall()), must(store.get("first")), must(store.count()), must(store.keys("run"))
    mark("closing")
line.send("done")
"""
CALL = re.compile(r"^\d+ +(\w+)\((.*)$")


def calls(trace: str, file: str) -> dict[str, list[str]]:
    """The names of the calls on the files of a store, by the mark that they follow."""
    marked: dict[str, list[str]] = {}
    mark = ""
    for line in trace.splitlines():
        if found := re.search(r'"MARK ([^"]+)"', line):
            mark = found[1]
        elif (call := CALL.match(line)) and file in call[2].split(",")[0]:
            marked.setdefault(mark, []).append(call[1])
    return marked


@needs_strace
def test_a_fresh_write_costs_one_sync_and_a_replay_or_a_read_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writing = "trace=fsync,fdatasync,pwrite64,pwritev,write,writev,ftruncate,fallocate,unlink,rename"
    program = [sys.executable, "-c", COUNTED, f"sqlite:///{path}"]
    trace = path.with_suffix(".trace")
    with spawn(["strace", "-f", "-qq", "-y", "-e", writing, "-o", str(trace), *program]) as child:
        assert child.hear() == "done"
        assert child.wait() == 0
    made = calls(trace.read_text(), "store.db")
    # Few enough writes that no checkpoint falls among them: one writes the log back and syncs the database too.
    assert (made["fresh"].count("fdatasync"), made["fresh"].count("fsync")) == (20, 0)
    assert made.get("replayed", []) + made.get("looked up", []) + made.get("read", []) == []
    assert made["newer"].count("fdatasync") == 20


def test_a_replay_with_an_equal_token_leaves_every_byte_of_the_file_and_its_log_as_it_was(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with (
        txmemory.open(f"sqlite:///{path}") as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        writer = store.writer("run", 1)
        receipt = must(writer.write("key", [Memory("tea", id="one")]))
        version = other.execute("PRAGMA data_version").fetchone()
        held = [path.read_bytes(), Path(f"{path}-wal").read_bytes()]
        backend = store._handle.backend
        assert isinstance(backend, Sqlite)
        assert backend.writer._connection is not None
        changes = backend.writer._connection.total_changes
        for _ in range(10):
            again = must(writer.write("key", [Memory("tea", id="one")]))
            assert (again.outcome, again.replayed) == (receipt.outcome, True)
            assert must(writer.applied("key")) == receipt.outcome
        assert other.execute("PRAGMA data_version").fetchone() == version
        assert [path.read_bytes(), Path(f"{path}-wal").read_bytes()] == held
        assert backend.writer._connection.total_changes == changes
        must(writer.write("another", [Memory("tea")]))
        assert other.execute("PRAGMA data_version").fetchone() != version
    assert len(snapshot(path).events) == 2
