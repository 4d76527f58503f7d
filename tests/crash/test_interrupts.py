"""Calls that are interrupted or cancelled on their way: the same key then answers the truth, nothing is locked."""

import asyncio
import signal
import sqlite3
import threading
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.operations import OPERATIONS, TOKEN, Operation, copy, opened, prepare
from tests.crash.snapshot import snapshot
from txmemory import AsyncStore, Memory, Receipt, Store, must
from txmemory.backends.sqlite.writer import Waiting, Writer
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import Moment, Point, Trace, at, visiting
from txmemory.testing.processes import fork

SECONDS = 60.0


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "prepared.db"
    prepare(path)
    return path


def assert_unlocked(path: Path) -> None:
    """Somebody else can write at once."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")


def points_of(operation: Operation, path: Path) -> list[Point]:
    trace = Trace()
    with visiting(trace), opened(path) as store:
        operation.run(store, TOKEN)
    return trace.points


def interrupted(operation: Operation, store: Store, point: Point) -> bool:
    """Makes the call while the operator presses the keys at the point; whether the call was ended by that."""
    try:
        with visiting(at(point, lambda: signal.raise_signal(signal.SIGINT))):
            operation.run(store, TOKEN)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if not each.plain], ids=str)
def test_interrupted_at_any_step_a_call_can_be_made_again_and_has_happened_once(
    operation: Operation, prepared: Path, tmp_path: Path
) -> None:
    """C13: by the operator's keys, at every step."""
    calm = copy(prepared, tmp_path / "calm.db")
    points = points_of(operation, calm)

    def work(_line: "Connection[Any, Any]") -> None:
        for number, point in enumerate(points):
            path = copy(prepared, tmp_path / f"interrupted {number}.db")
            with opened(path) as store:
                assert interrupted(operation, store, point), f"not interrupted {point}"
                assert_unlocked(path)
                operation.run(store, TOKEN)
            assert snapshot(path) == snapshot(calm), f"interrupted {point}"

    with fork(work) as child:
        child.answer()


def test_interrupted_while_it_waits_for_another_thread_a_call_can_be_made_again(prepared: Path) -> None:
    def work(line: "Connection[Any, Any]") -> Receipt:
        held, released = threading.Event(), threading.Event()
        submit = Writer.submit

        def submitted(writer: Writer, waiting: Waiting) -> None:
            submit(writer, waiting)
            line.send("waiting")

        def hold() -> None:
            held.set()
            assert released.wait(SECONDS)

        with opened(prepared) as store, visiting(at(Point("commit", "before"), hold)):
            other = threading.Thread(
                target=lambda: must(store.writer("other", 1).write("key", [Memory("other", id="other")]))
            )
            other.start()
            assert held.wait(SECONDS)
            setattr(Writer, "submit", submitted)  # noqa: B010  # a plain assignment to a method is no typed Python
            try:
                store.writer("run", TOKEN).write("key", [Memory("tea", id="new")])
            except KeyboardInterrupt:
                line.send("interrupted")
            released.set()
            other.join()
            return must(store.writer("run", TOKEN).write("key", [Memory("tea", id="new")]))

    with fork(work) as child:
        child.expect("waiting")
        child.signal(signal.SIGINT)
        child.expect("interrupted")
        assert isinstance(child.answer(), Receipt)
    assert_unlocked(prepared)
    assert {(id, revision) for id, revision, _ in snapshot(prepared).items} >= {("new", 1), ("other", 1)}


async def cancelled_at(point: Point, path: Path) -> Receipt:
    """The receipt of a write whose first attempt is cancelled while the writer stands at the point."""
    loop, there, gone = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hold() -> None:
        loop.call_soon_threadsafe(there.set)
        assert gone.wait(SECONDS)

    async with txmemory.open_async(f"sqlite:///{path}", clock=FakeClock()) as store:
        with visiting(at(point, hold)):
            task = asyncio.create_task(write(store))
            await there.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gone.set()
            receipt = await write(store)
        await asyncio.to_thread(assert_unlocked, path)
        return receipt


async def write(store: AsyncStore) -> Receipt:
    return must(await store.writer("run", TOKEN).write("key", [Memory("tea", id="new")]))


async def test_cancelled_at_any_step_a_call_has_happened_once_and_its_key_answers_it(
    prepared: Path, tmp_path: Path
) -> None:
    calm, trace = copy(prepared, tmp_path / "calm.db"), Trace()
    with visiting(trace):
        async with txmemory.open_async(f"sqlite:///{calm}", clock=FakeClock()) as store:
            wanted = await write(store)
    for number, point in enumerate(trace.points):
        path = copy(prepared, tmp_path / f"cancelled {number}.db")
        receipt = await cancelled_at(point, path)
        assert receipt.outcome == wanted.outcome, f"cancelled {point}"
        assert snapshot(path) == snapshot(calm), f"cancelled {point}"


async def test_a_call_that_is_cancelled_while_it_waits_for_the_writer_is_given_up(prepared: Path) -> None:
    loop, there, gone = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    submitted = asyncio.Event()
    submit = Writer.submit

    def told(writer: Writer, waiting: Waiting) -> None:
        submit(writer, waiting)
        if there.is_set():
            loop.call_soon(submitted.set)

    def hold(step: str, moment: Moment) -> None:
        if (step, moment) == ("commit", "before") and not gone.is_set():
            loop.call_soon_threadsafe(there.set)
            assert gone.wait(SECONDS)

    with pytest.MonkeyPatch.context() as patch, visiting(hold):
        patch.setattr(Writer, "submit", told)
        async with txmemory.open_async(f"sqlite:///{prepared}") as store:
            first = asyncio.create_task(write(store))
            await there.wait()
            second = asyncio.create_task(
                store.writer("run", TOKEN).write("second", [Memory("late", id="late")])
            )
            await submitted.wait()
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            gone.set()
            await first
            assert must(await store.writer("run", TOKEN).applied("second")) is None
            assert must(await store.get("late")) is None
