"""Others hold the file: what is tried again, what is given up, and that neither leaves a trace."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.operations import OPERATIONS, TOKEN, Operation, copy, opened, prepare
from tests.crash.snapshot import snapshot
from txmemory import Contended, Memory, Outcome, OutcomeUnknown, Receipt, Unavailable, either, must
from txmemory.drive import Patience
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import Moment, Point, Trace, Visit, failing, visiting

ATTEMPTS = Patience().attempts
NOW_AND_THEN: tuple[tuple[str, str], ...] = (
    ("begin", "SQLITE_BUSY"),
    ("begin", "SQLITE_LOCKED"),
    ("advance_fence", "SQLITE_BUSY_SNAPSHOT"),
    ("record", "SQLITE_BUSY"),
    ("commit", "SQLITE_BUSY"),
)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "prepared.db"
    prepare(path)
    return path


def at_first(attempts: int, step: str, moment: Moment, deed: Callable[[], object]) -> Visit:
    """A visit that does `deed` at the step in the first so many transactions."""
    trace = Trace()

    def visit(passed: str, when: Moment) -> None:
        trace(passed, when)
        if (passed, when) == (step, moment) and trace.points[-1].nth <= attempts:
            deed()

    return visit


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The file's write lock is held by somebody else."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize(("step", "code"), NOW_AND_THEN)
@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_call_that_meets_locks_succeeds_and_nothing_but_its_success_is_recorded(
    step: str, code: str, attempts: int, prepared: Path, tmp_path: Path
) -> None:
    """R4: locks on the first attempts, wherever they are met."""
    calm, path = copy(prepared, tmp_path / "calm.db"), prepared
    with opened(calm) as store:
        wanted = must(store.writer("run", TOKEN).write("key", [Memory("tea", id="new")]))
    with visiting(at_first(attempts, step, "before", failing(code))), opened(path) as store:
        assert must(store.writer("run", TOKEN).write("key", [Memory("tea", id="new")])) == wanted
    assert snapshot(path) == snapshot(calm)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_call_that_meets_nothing_but_locks_is_contended_and_changes_nothing(
    operation: Operation, prepared: Path
) -> None:
    """R4: out of attempts."""
    before, trace = snapshot(prepared), Trace()
    locks = at_first(1_000, "commit", "before", failing("SQLITE_BUSY"))

    def visit(step: str, moment: Moment) -> None:
        trace(step, moment)
        locks(step, moment)

    with visiting(visit), opened(prepared) as store:
        assert operation.run(store, TOKEN) == Contended()
    assert trace.points.count(trace.points[0]) == 1
    assert Point("begin", "before", ATTEMPTS) in trace.points
    assert Point("begin", "before", ATTEMPTS + 1) not in trace.points
    assert snapshot(prepared) == before
    with opened(prepared) as store:
        assert not isinstance(operation.run(store, TOKEN), Contended)


def test_five_calls_whose_deadline_is_too_short_and_one_that_has_time_make_one_memory(prepared: Path) -> None:
    """R7: the same key each time."""
    with txmemory.open(f"sqlite:///{prepared}", deadline=0.05) as store:
        writer = store.writer("run", TOKEN)
        with locked(prepared):
            for attempt in range(5):
                assert either(writer.write("key", [Memory(f"attempt {attempt}")])) == Contended()
        receipt = must(writer.write("key", [Memory("in time", id="new")]))
    assert not receipt.replayed
    found = snapshot(prepared)
    assert [text for id, _, text in found.items if id not in {"first", "second", "third"}] == ["in time"]
    assert [key for _, key, _ in found.ledger if not key.startswith("before")] == ["key"]


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.plain], ids=str)
def test_a_call_without_a_key_that_met_a_held_lock_leaves_a_store_that_works(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    calm, before = copy(prepared, tmp_path / "calm.db"), snapshot(prepared)
    with opened(calm) as store:
        wanted = operation.run(store, TOKEN)
    with txmemory.open(f"sqlite:///{prepared}", deadline=0.05, clock=FakeClock()) as store:
        with locked(prepared):
            assert operation.run(store, TOKEN) == Contended()
        assert snapshot(prepared) == before
        assert operation.run(store, TOKEN) == wanted
        assert snapshot(prepared) == snapshot(calm)


def test_an_answer_that_comes_after_the_deadline_is_found_by_the_next_call(prepared: Path) -> None:
    # The commit is made, its answer is not heard, and the same key comes again: five times.
    lost = at_first(1_000, "commit", "after", failing("SQLITE_IOERR"))
    with visiting(lost), opened(prepared) as store:
        receipts = [
            must(store.writer("run", TOKEN).write("key", [Memory("tea", id="new")])) for _ in range(5)
        ]
    assert {receipt.outcome for receipt in receipts} == {receipts[0].outcome}
    assert [(id, revision) for id, revision, _ in snapshot(prepared).items if id == "new"] == [("new", 1)]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_when_a_commit_is_lost_a_keyed_call_finds_its_answer_and_the_others_say_that_they_do_not_know(
    operation: Operation, moment: Any, prepared: Path, tmp_path: Path
) -> None:
    """C1, C2: lost before or after it was made."""
    calm, before = copy(prepared, tmp_path / "calm.db"), snapshot(prepared)
    with opened(calm) as store:
        wanted = operation.run(store, TOKEN)
    with visiting(at_first(1, "commit", moment, failing("SQLITE_IOERR_WRITE"))), opened(prepared) as store:
        answer = operation.run(store, TOKEN)
    if operation.plain or operation.name in {"forget", "seal"}:
        assert answer == OutcomeUnknown()
        assert snapshot(prepared) == (before if moment == "before" else snapshot(calm))
        return
    assert snapshot(prepared) == snapshot(calm)
    match answer, wanted:
        case Receipt(outcome=found), Receipt(outcome=expected):
            assert found == expected
        case _:
            assert outcomes(answer) == outcomes(wanted)


def outcomes(answer: object) -> object:
    """The outcomes of an answer, whether they are its own or recorded."""
    return [must(each).outcome for each in answer] if isinstance(answer, tuple) else answer


@pytest.mark.parametrize("code", ["SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR_READ"])
def test_an_error_of_the_disk_before_the_commit_is_told_by_its_code_and_changes_nothing(
    code: str, prepared: Path
) -> None:
    before = snapshot(prepared)
    with visiting(at_first(1, "append_events", "before", failing(code))), opened(prepared) as store:
        assert either(store.writer("run", TOKEN).write("key", [Memory("tea")])) == Unavailable(code)
        assert snapshot(prepared) == before
        must(store.writer("run", TOKEN).write("key", [Memory("tea")]))


def test_a_full_disk_at_the_commit_undoes_it_and_is_no_unknown_outcome(prepared: Path) -> None:
    before = snapshot(prepared)
    with visiting(at_first(1, "commit", "before", failing("SQLITE_FULL"))), opened(prepared) as store:
        assert either(store.store(Memory("plain", id="plain"))) == Unavailable("SQLITE_FULL")
        assert snapshot(prepared) == before
        assert isinstance(either(store.store(Memory("plain", id="plain"))), Outcome)
