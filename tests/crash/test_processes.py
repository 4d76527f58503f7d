"""Several processes, and several threads, on one SQLite file at the same time."""

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import txmemory
from tests.crash.snapshot import snapshot
from txmemory import Contended, Fenced, Memory, Receipt, either, must
from txmemory.testing.crashing import Point, at, stopped, visiting
from txmemory.testing.processes import Child, fork
from txmemory.testing.racing import race, race_async

SECONDS = 60.0
DEADLINE = 1.0
"""Seconds that a call may wait for others."""
Work = Callable[[int], object]


def barrier(parties: int) -> Barrier:
    """A barrier that forked processes share."""
    return multiprocessing.get_context("fork").Barrier(parties, timeout=SECONDS)


def all_at_once(processes: int, work: Work) -> list[Any]:
    """What each of so many processes answers, in order."""
    children: list[Child] = []
    try:
        for place in range(processes):

            def run(_line: "Connection[Any, Any]", place: int = place) -> object:
                return work(place)

            children.append(fork(run))
        return [child.answer() for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_two_processes_with_one_key_agree_two_hundred_times_and_one_of_them_wrote(tmp_path: Path) -> None:
    """R2: the same outcome for both, exactly one replayed."""
    path, together = tmp_path / "raced.db", barrier(2)
    rounds = 200

    def work(place: int) -> list[Receipt]:
        receipts = []
        with txmemory.open(f"sqlite:///{path}") as store:
            for number in range(rounds):
                together.wait()
                add = [Memory(f"of process {place}", id=f"{number} {place}")]
                receipts.append(must(store.writer("run", 1).write(str(number), add)))
        return receipts

    one, other = all_at_once(2, work)
    for first, second in zip(one, other, strict=True):
        assert first.outcome == second.outcome
        assert sorted((first.replayed, second.replayed)) == [False, True]
        assert first.diverged == first.replayed
    found = snapshot(path)
    assert (len(found.items), len(found.ledger), len(found.events)) == (rounds, rounds, rounds)


def test_of_two_processes_that_replace_the_same_memories_one_stores_and_the_loser_stays_lost(
    tmp_path: Path,
) -> None:
    """B1: from different scopes and processes."""
    path, together = tmp_path / "raced.db", barrier(2)
    rounds = 50

    def work(place: int) -> list[tuple[str, str]]:
        ended: list[tuple[str, str]] = []
        with txmemory.open(f"sqlite:///{path}") as store:
            for number in range(rounds):
                sources = [f"{number} {each}" for each in range(5)]
                must(store.writer("sources", 1).write(str(number), [Memory("tea", id=id) for id in sources]))
                together.wait()
                writer = store.writer(f"replacer {place}", 1)
                add = [Memory("the sum", id=f"{number} sum {place}")]
                first, again = (must(writer.replace(str(number), add, sources)).outcome for _ in range(2))
                assert first == again
                ended.append((first.status, again.status))
        return ended

    for one, other in zip(*all_at_once(2, work), strict=True):
        assert sorted((one, other)) == [("stored", "stored"), ("superseded", "superseded")]
    assert len(snapshot(path).items) == rounds


def test_eight_processes_write_five_hundred_times_each_and_nothing_is_refused_or_lost(tmp_path: Path) -> None:
    """C3: no lock surfaces, every row is there."""
    path, together = tmp_path / "shared.db", barrier(8)

    def work(place: int) -> int:
        with txmemory.open(f"sqlite:///{path}") as store:
            together.wait()
            writer = store.writer(f"run {place}", 1)
            return sum(not must(writer.write(str(number), [Memory("tea")])).replayed for number in range(500))

    assert all_at_once(8, work) == 8 * [500]
    found = snapshot(path)
    assert (len(found.items), len(found.ledger), len(found.events)) == (4_000, 4_000, 4_000)


def test_eight_processes_open_twenty_fresh_files_each_at_once(tmp_path: Path) -> None:
    """C3: of one file each time, which one of them makes."""
    together = barrier(8)

    def work(place: int) -> int:
        for number in range(20):
            together.wait()
            with txmemory.open(f"sqlite:///{tmp_path / f'{number}.db'}") as store:
                must(store.writer("run", 1).write(f"of {place}", [Memory("tea")]))
        return 20

    assert all_at_once(8, work) == 8 * [20]
    assert [len(snapshot(tmp_path / f"{number}.db").items) for number in range(20)] == 20 * [8]


def test_eight_threads_write_five_hundred_times_each_through_one_store(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with txmemory.open(f"sqlite:///{path}") as store:

        def work(place: int) -> int:
            writer = store.writer("one run for all", 1)
            receipts = [must(writer.write(f"{place} {number}", [Memory("tea")])) for number in range(500)]
            return len({receipt.outcome.seq for receipt in receipts})

        assert race(*(partial(work, place) for place in range(8))) == 8 * [500]
    found = snapshot(path)
    assert (len(found.items), len(found.ledger), len(found.events)) == (4_000, 4_000, 4_000)


def test_a_process_that_stands_still_and_comes_back_after_its_successor_is_fenced(tmp_path: Path) -> None:
    """F3: it is `Fenced`, and what it meant to write is not there."""
    path = tmp_path / "shared.db"

    def work(line: "Connection[Any, Any]") -> object:
        with txmemory.open(f"sqlite:///{path}") as store:
            writer = store.writer("run", 1)
            must(writer.write("first", [Memory("tea", id="first")]))
            line.send("stands still")
            line.recv()
            return either(writer.write("second", [Memory("late", id="late")]))

    with fork(work) as child:
        child.expect("stands still")
        child.stop()
        with txmemory.open(f"sqlite:///{path}") as store:
            assert must(store.writer("run", 2).applied("second")) is None
        child.say("go on")
        child.go_on()
        assert isinstance(child.answer(), Fenced)
    assert {id for id, _, _ in snapshot(path).items} == {"first"}


def stopped_inside_its_transaction(path: Path) -> Child:
    """A process that stands still just before it would commit."""

    def work(_line: "Connection[Any, Any]") -> object:
        with txmemory.open(f"sqlite:///{path}") as own, visiting(at(Point("commit", "before"), stopped)):
            return either(own.writer("run", 1).write("stopped", [Memory("tea", id="stopped")]))

    child = fork(work)
    child.stopped()
    return child


def named(answer: object) -> tuple[int, ...]:
    """The processes that a refusal names."""
    assert isinstance(answer, Contended)
    return answer.held_by


def holding(child: Child) -> tuple[int, ...]:
    """Whom a refusal names while this child holds the file: Linux says who holds a lock."""
    return (child.pid,) if sys.platform == "linux" else ()


def test_a_process_stopped_inside_its_transaction_blocks_others_for_their_deadline_and_no_longer(
    tmp_path: Path,
) -> None:
    """C7, F10: looks and writes alike; the deadline is the promise, so these tests alone look at a clock."""
    path = tmp_path / "shared.db"
    with txmemory.open(f"sqlite:///{path}") as store:
        must(store.writer("run", 1).write("before", [Memory("tea", id="before")]))

    def timed(place: int) -> tuple[object, float]:
        began = time.monotonic()
        if place % 2:
            answer: object = either(store.writer("run", 2).applied("stopped"))
        else:
            answer = either(store.writer(f"beside {place}", 1).write("key", [Memory("tea")]))
        return answer, time.monotonic() - began

    with (
        stopped_inside_its_transaction(path) as child,
        txmemory.open(f"sqlite:///{path}", deadline=DEADLINE) as store,
    ):
        for answer, seconds in race(*(partial(timed, place) for place in range(8))):
            assert answer == Contended()
            assert named(answer) == holding(child)
            assert seconds < 2 * DEADLINE
        assert must(store.get("before")) is not None
        child.go_on()
        assert isinstance(child.answer(), Receipt)
        assert must(store.writer("run", 2).applied("stopped")) is not None
    assert {id for id, _, _ in snapshot(path).items} == {"before", "stopped"}


async def test_a_process_stopped_inside_its_transaction_blocks_who_awaits_for_the_deadline_and_no_longer(
    tmp_path: Path,
) -> None:
    """C7, F10: and the event loop goes on meanwhile."""
    path = tmp_path / "shared.db"
    with txmemory.open(f"sqlite:///{path}") as blocking:
        must(blocking.writer("run", 1).write("before", [Memory("tea", id="before")]))
    with stopped_inside_its_transaction(path) as child:
        async with txmemory.open_async(f"sqlite:///{path}", deadline=DEADLINE) as store:

            async def timed(place: int) -> tuple[object, float]:
                began = time.monotonic()
                if place % 2:
                    answer: object = either(await store.writer("run", 2).applied("stopped"))
                else:
                    answer = either(await store.writer(f"beside {place}", 1).write("key", [Memory("tea")]))
                return answer, time.monotonic() - began

            for answer, seconds in await race_async(*(partial(timed, place) for place in range(8))):
                assert answer == Contended()
                assert named(answer) == holding(child)
                assert seconds < 2 * DEADLINE
            assert must(await store.get("before")) is not None
            child.go_on()
            assert isinstance(await asyncio.to_thread(child.answer), Receipt)
            assert must(await store.writer("run", 2).applied("stopped")) is not None
