"""Commits of several callers that share one durable commit: killed, and met by errors, in the middle of them."""

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.crash.operations import copy, opened, prepare
from tests.crash.snapshot import Snapshot, snapshot
from txmemory import Fenced, Memory, Outcome, OutcomeUnknown, Receipt, Store, either
from txmemory.testing.crashing import Point, Trace, at, failing, killed, sharing
from txmemory.testing.processes import Child, fork

Call = Callable[[Store], object]


def written(scope: str) -> Call:
    return lambda store: either(store.writer(scope, 7).write("key", [Memory(f"of {scope}", id=scope)]))


def stored(store: Store) -> object:
    return either(store.store(Memory("plain", id="plain")))


def replaced(store: Store) -> object:
    return either(store.writer("c", 7).replace("key", [Memory("the sum", id="sum")], ["first", "third"]))


def overtaken(store: Store) -> object:
    return either(store.writer("run", 0).write("late", [Memory("late", id="late")]))


def forgotten(store: Store) -> object:
    return either(store.writer("run", 7).forget_applied("before first"))


FIRST = written("trigger")
OTHERS: dict[str, Call] = {
    "a": written("a"),
    "b": written("b"),
    "plain": stored,
    "replaced": replaced,
    "overtaken": overtaken,
    "forgotten": forgotten,
}


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "prepared.db"
    prepare(path)
    return path


def together(
    path: Path, visit: Callable[[str, Any], object], said: Callable[[str], object]
) -> dict[str, object]:
    """The answers of all calls, each of which is also told as soon as it is there."""
    with opened(path) as store:

        def telling(name: str, call: Call) -> Callable[[], object]:
            def make() -> object:
                answer = call(store)
                said(name)
                return answer

            return make

        calls = {"first": FIRST, **OTHERS}
        first, *others = [telling(name, call) for name, call in calls.items()]
        return dict(zip(calls, sharing(first, *others, visit=visit), strict=True))


def told(child: Child) -> Iterator[object]:
    """What the child said in its life."""
    with suppress(EOFError):
        while True:
            yield child.hear()


def contents(path: Path) -> tuple[object, ...]:
    """What is in the file; the order in which the calls came is chance."""
    found: Snapshot = snapshot(path)
    return found.items, found.ledger, frozenset(found.events)


def test_a_batch_that_is_killed_at_any_step_is_wholly_there_or_not_at_all(
    prepared: Path, tmp_path: Path
) -> None:
    trace, never_killed = Trace(), copy(prepared, tmp_path / "never killed.db")
    together(never_killed, trace, lambda _: None)
    alone = copy(prepared, tmp_path / "alone.db")
    with opened(alone) as store:
        FIRST(store)
    begun = trace.points.index(Point("begin", "before", 2))
    points = trace.points[begun:]
    assert Point("begin", "before", 3) not in points, "the calls did not share a transaction"
    for number, point in enumerate(points):
        path = copy(prepared, tmp_path / f"killed {number}.db")
        durable = point == Point("commit", "after", 2)

        def work(line: "Connection[Any, Any]", path: Path = path, point: Point = point) -> None:
            together(path, at(point, killed), line.send)

        with fork(work) as child:
            assert set(told(child)) <= {"first"}, f"answered before it was durable: {point}"
            assert child.wait() == -signal.SIGKILL, f"was not killed {point}"
        assert contents(path) == contents(never_killed if durable else alone), f"killed {point}"


def test_an_error_in_one_call_of_a_batch_is_not_the_others(prepared: Path) -> None:
    visit = at(Point("record", "after", 2), failing("SQLITE_FULL"))
    answers = together(prepared, visit, lambda _: None)
    assert isinstance(answers.pop("overtaken"), Fenced)
    assert answers.pop("forgotten") is True
    assert isinstance(answers.pop("plain"), Outcome)
    assert all(isinstance(answer, Receipt) and not answer.replayed for answer in answers.values())
    assert {id for id, _, _ in snapshot(prepared).items} == {"second", "trigger", "a", "b", "plain", "sum"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_when_the_commit_of_a_batch_is_lost_nothing_of_it_is_made_twice(prepared: Path, moment: Any) -> None:
    visit = at(Point("commit", moment, 2), failing("SQLITE_IOERR_FSYNC"))
    answers = together(prepared, visit, lambda _: None)
    assert isinstance(answers.pop("overtaken"), Fenced)
    assert isinstance(answers.pop("plain"), OutcomeUnknown)
    assert isinstance(answers.pop("forgotten"), OutcomeUnknown)
    assert all(isinstance(answer, Receipt) for answer in answers.values())
    found = snapshot(prepared)
    keys = {"before second", "before third", "key"} | ({"before first"} if moment == "before" else set())
    assert {key for _, key, _ in found.ledger} == keys
    assert len([event for event in found.events if event.kind == "change"]) == (1 if moment == "after" else 0)


def test_a_lock_that_is_not_had_is_asked_for_again_by_every_call_of_the_batch(prepared: Path) -> None:
    answers = together(prepared, at(Point("begin", "before", 2), failing("SQLITE_BUSY")), lambda _: None)
    assert isinstance(answers.pop("overtaken"), Fenced)
    assert isinstance(answers.pop("plain"), Outcome)
    assert answers.pop("forgotten") is True
    assert all(isinstance(answer, Receipt) and not answer.replayed for answer in answers.values())
    assert len(snapshot(prepared).events) == 3 + 1 + len(OTHERS) - 1
