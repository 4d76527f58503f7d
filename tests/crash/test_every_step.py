"""A process is killed just before and just after every step of every operation, and the run is replayed."""

import asyncio
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.operations import OPERATIONS, SCOPE, TOKEN, Operation, copy, opened, prepare
from tests.crash.snapshot import Snapshot, snapshot
from txmemory import Fenced, Memory, either, must
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import STEPS, Point, Trace, at, killed, visiting
from txmemory.testing.processes import Child, fork

KEYED = [operation for operation in OPERATIONS if not operation.plain]
PLAIN = [operation for operation in OPERATIONS if operation.plain]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "prepared.db"
    prepare(path)
    return path


def points_of(operation: Operation, prepared: Path, folder: Path) -> tuple[list[Point], Snapshot]:
    """Every point that the operation passes, and what it leaves behind when nobody kills it."""
    path, trace = copy(prepared, folder / "never killed.db"), Trace()
    with visiting(trace), opened(path) as store:
        operation.run(store, TOKEN)
    return trace.points, snapshot(path)


def killed_at(point: Point, operation: Operation, path: Path) -> Child:
    """A process that dies at the point."""

    def work(_line: "Connection[Any, Any]") -> None:
        with visiting(at(point, killed)), opened(path) as store:
            operation.run(store, TOKEN)

    return fork(work)


def replayed(operation: Operation, path: Path, token: int) -> tuple[Snapshot, Snapshot]:
    """What a new process finds in the file, and what is there once it has made the call again."""

    def work(_line: "Connection[Any, Any]") -> tuple[Snapshot, Snapshot]:
        found = snapshot(path)
        with opened(path) as store:
            operation.run(store, token)
        return found, snapshot(path)

    with fork(work) as child:
        found, after = child.answer()
        return found, after


def crash(point: Point, operation: Operation, prepared: Path, to: Path) -> Path:
    path = copy(prepared, to)
    with killed_at(point, operation, path) as child:
        assert child.wait() == -signal.SIGKILL, f"{operation} was not killed {point}"
    return path


def durable(point: Point) -> bool:
    """Whether the transaction has been committed at the point."""
    return point == Point("commit", "after")


@pytest.mark.parametrize("operation", KEYED, ids=str)
def test_killed_at_any_step_and_replayed_a_keyed_call_has_happened_exactly_once(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    """R1, B6: at every step and around COMMIT, then the same call again."""
    before = snapshot(prepared)
    points, never_killed = points_of(operation, prepared, tmp_path)
    for number, point in enumerate(points):
        path = crash(point, operation, prepared, tmp_path / f"killed {number}.db")
        newer = copy(path, tmp_path / f"replayed {number}.db")
        found, after = replayed(operation, path, TOKEN)
        assert found == (never_killed if durable(point) else before), f"killed {point}"
        assert after == never_killed, f"killed {point}, replayed with the same token"
        _, after = replayed(operation, newer, TOKEN + 1)
        assert after.by_any_token() == never_killed.by_any_token(), (
            f"killed {point}, replayed with a newer token"
        )


def test_killed_at_any_step_on_the_writers_thread_an_awaited_call_has_happened_exactly_once(
    prepared: Path, tmp_path: Path
) -> None:
    """R1, B6: the same where the writer's thread does the work."""

    async def run(path: Path) -> None:
        async with txmemory.open_async(f"sqlite:///{path}", clock=FakeClock()) as store:
            must(
                await store.writer(SCOPE, TOKEN).replace(
                    "key", [Memory("the sum", id="sum")], ["first", "third"]
                )
            )

    def crashed(point: Point, path: Path) -> int:
        def work(_line: "Connection[Any, Any]") -> None:
            with visiting(at(point, killed)):
                asyncio.run(run(path))

        with fork(work) as child:
            return child.wait()

    replace = next(operation for operation in OPERATIONS if operation.name == "replace")
    points, never_killed = points_of(replace, prepared, tmp_path)
    for number, point in enumerate(points):
        path = copy(prepared, tmp_path / f"killed {number}.db")
        assert crashed(point, path) == -signal.SIGKILL, f"was not killed {point}"
        assert replayed(replace, path, TOKEN)[1] == never_killed, f"killed {point}"


@pytest.mark.parametrize("operation", PLAIN, ids=str)
def test_killed_at_any_step_a_plain_call_has_happened_wholly_or_not_at_all(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    before = snapshot(prepared)
    points, never_killed = points_of(operation, prepared, tmp_path)
    assert before != never_killed
    for number, point in enumerate(points):
        path = crash(point, operation, prepared, tmp_path / f"killed {number}.db")
        assert snapshot(path) == (never_killed if durable(point) else before), f"killed {point}"
        with opened(path) as store:
            must(store.store(Memory("the store goes on", id="another")))
        assert {id for id, _, _ in snapshot(path).items} > {"another"} or operation.name == "clear"


@pytest.mark.parametrize("operation", KEYED, ids=str)
def test_once_its_successor_has_looked_a_killed_worker_stays_out(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    path = crash(Point("commit", "before"), operation, prepared, tmp_path / "killed.db")
    with opened(path) as store:
        must(store.writer(SCOPE, TOKEN + 1).applied("key"))
        assert isinstance(operation.run(store, TOKEN), Fenced)
        assert isinstance(either(store.writer(SCOPE, TOKEN).forget_applied("before first")), Fenced)


def test_a_look_that_was_answered_fences_older_tokens_after_a_crash(prepared: Path, tmp_path: Path) -> None:
    """F5: a look with a newer token, then a crash."""
    look = next(operation for operation in OPERATIONS if operation.name == "look with a newer token")
    path = crash(Point("commit", "after"), look, prepared, tmp_path / "killed.db")
    with opened(path) as store:
        assert isinstance(either(store.writer(SCOPE, TOKEN - 1).write("late", [Memory("late")])), Fenced)
        must(store.writer(SCOPE, TOKEN).write("in time", [Memory("in time")]))


def test_the_points_are_hundreds_and_at_every_step_but_the_reading_of_a_newer_fence(
    prepared: Path, tmp_path: Path
) -> None:
    each = [points_of(operation, prepared, tmp_path)[0] for operation in OPERATIONS]
    assert sum(map(len, each)) >= 200
    assert {point.step for points in each for point in points} == set(STEPS) - {"fence"}
