"""F5: a process is killed, or stands still, just before and just after every step of what it does with a claim."""

import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.claims import CALLS, SCOPE_ROWS, TTL, Call, Row, fill, inherited, rows_of
from tests.crash.operations import OPERATIONS, SCOPE, Operation, copy
from tests.crash.operations import fill as fill_operations
from tests.crash.snapshot import snapshot
from txmemory import Claim, Contended, Fenced, Memory, Store, either, must
from txmemory.testing.clock import START, FakeClock
from txmemory.testing.crashing import CLAIM_STEPS, Point, Trace, at, killed, stopped, visiting
from txmemory.testing.processes import Child, fork

LATER = START + timedelta(hours=3)
"""When no claim of the tests lives any more."""


def opened(path: Path, clock: FakeClock | None = None, deadline: float = 10.0) -> Store:
    return txmemory.open(f"sqlite:///{path}", clock=clock or FakeClock(), deadline=deadline)


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path, clock = tmp_path / "prepared.db", FakeClock()
    with opened(path, clock) as store:
        fill(store, clock)
    return path


def scopes(path: Path) -> list[Row]:
    with closing(sqlite3.connect(path)) as connection:
        return rows_of(connection.execute(SCOPE_ROWS.format("txm_scope", "?"), ["default"]))


def undisturbed(call: Call, prepared: Path, folder: Path) -> tuple[list[Point], list[Row], list[Row]]:
    """Every point that the call passes, and the scopes before and after it."""
    path, trace = copy(prepared, folder / "undisturbed.db"), Trace()
    with opened(path) as store:
        ready = call.ready(store)
        before = scopes(path)
        with visiting(trace):
            ready()
    return trace.points, before, scopes(path)


def at_work(call: Call, point: Point, deed: Callable[[], object], path: Path) -> Child:
    """A process that does the deed at the point of the call."""

    def work(_line: "Connection[Any, Any]") -> object:
        with opened(path) as store:
            ready = call.ready(store)
            with visiting(at(point, deed)):
                return ready()

    return fork(work)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_killed_at_any_step_a_claim_was_changed_wholly_or_not_at_all_and_is_inherited(
    call: Call, prepared: Path, tmp_path: Path
) -> None:
    """Guarantee 4: whoever comes next has the scope, or is told who has; a token is never issued twice."""
    points, before, after = undisturbed(call, prepared, tmp_path)
    assert before != after
    for number, point in enumerate(points):
        path = copy(prepared, tmp_path / f"killed {number}.db")
        with at_work(call, point, killed, path) as child:
            assert child.wait() == -signal.SIGKILL, f"was not killed {point}"
        found = scopes(path)
        assert found == (after if point == Point("commit", "after") else before), f"killed {point}"
        snapshot(path)
        with opened(path) as store:
            inherited(store, call, found)


def test_the_points_are_at_every_step_of_a_claim(prepared: Path, tmp_path: Path) -> None:
    each = [undisturbed(call, prepared, tmp_path)[0] for call in CALLS]
    assert {point.step for points in each for point in points} >= {"begin", *CLAIM_STEPS, "commit"}


def held(points: list[Point]) -> list[Point]:
    """Those at which a process that stands still is inside its transaction, and holds the file."""
    ends = Point("commit", "before")
    last = (
        points.index(ends) if ends in points else len(points) - 1
    )  # a look that has changed nothing commits nothing
    return points[points.index(Point("begin", "after")) : last + 1]


def taken_over(path: Path, child: Child, *, held: bool) -> None:
    """Somebody else claims the scope once the claim has lapsed; first in vain where the child holds the file."""
    if held:
        with opened(path, FakeClock(LATER), deadline=0.1) as store:
            met = either(store.claim(SCOPE, "bob", TTL))
        assert isinstance(met, Contended)
        assert met.held_by == ((child.pid,) if sys.platform == "linux" else ())
        child.go_on()
    with opened(path, FakeClock(LATER)) as store:
        claim = must(store.claim(SCOPE, "bob", TTL))
        assert claim.token == 3
        must(claim.writer.write("bob's", [Memory("taken over", id="bob's")]))


Calls = Callable[[Store, Claim], object]


def _presenting(operation: Operation) -> Calls:
    return lambda store, claim: operation.run(store, claim.token)


STOPPED: dict[str, Calls] = {
    **{
        operation.name: _presenting(operation)
        for operation in OPERATIONS
        if operation.name in ("replace", "write and evict", "write many, one replayed", "forget")
    },
    "look": lambda _, claim: either(claim.writer.applied("before first")),
    "renew": lambda _, claim: either(claim.renew()),
}


def worker(call: Calls, point: Point, path: Path) -> Child:
    """A process that claims the scope, stands still at the point of its call, and goes on with other calls."""

    def work(line: "Connection[Any, Any]") -> object:
        with opened(path) as store:
            claim = must(store.claim(SCOPE, "ada", TTL))
            with visiting(at(point, stopped)):
                first = call(store, claim)
            line.send("goes on")
            line.recv()
            late = either(claim.writer.write("late", [Memory("late", id="late")]))
            return first, late, either(claim.renew())

    return fork(work)


@pytest.mark.parametrize("name", STOPPED)
def test_a_holder_that_stands_still_past_its_lease_at_any_step_of_a_call_is_fenced_once_it_goes_on(
    name: str, tmp_path: Path
) -> None:
    """F3, F10, C7: SIGSTOP at each step, the takeover, SIGCONT. What held the file had come first, and landed."""
    prepared, clock, trace = tmp_path / "prepared.db", FakeClock(START - timedelta(hours=1)), Trace()
    with opened(prepared, clock) as store:
        fill_operations(store, clock)
    with opened(copy(prepared, tmp_path / "undisturbed.db")) as store:
        claim = must(store.claim(SCOPE, "ada", TTL))
        with visiting(trace):
            STOPPED[name](store, claim)
    for number, point in enumerate(trace.points):
        path = copy(prepared, tmp_path / f"stopped {number}.db")
        with worker(STOPPED[name], point, path) as child:
            child.stopped()
            taken_over(path, child, held=point in held(trace.points))
            child.go_on()
            child.expect("goes on")
            child.say("go on")
            first, *late = child.answer()
        assert isinstance(first, Fenced) == (point == Point("begin", "before")), f"stopped {point}"
        assert [type(each) for each in late] == [Fenced, Fenced], f"stopped {point}"
        assert {"late", "bob's"} & {id for id, _, _ in snapshot(path).items} == {"bob's"}
