"""One store object in several hands: after a fork, after and during close, and when its process ends."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.crash.snapshot import snapshot
from txmemory import Closed, ForkedStore, InMemoryStore, Memory, Store, must
from txmemory.testing.crashing import Point, at, visiting
from txmemory.testing.processes import fork, spawn

SECONDS = 60.0


def write(store: Store, key: str) -> object:
    return must(store.writer("run", 1).write(key, [Memory("tea", id=key)]))


def refused(store: Store) -> list[str]:
    """By which name each kind of call is refused."""
    calls: tuple[Callable[[], object], ...] = (
        lambda: write(store, "late"),
        lambda: store.writer("run", 1).applied("before"),
        lambda: store.store(Memory("late")),
        lambda: store.get("before"),
        lambda: store.tenant("other").within("deeper").count(),
    )
    names = []
    for call in calls:
        try:
            call()
        except (Closed, ForkedStore) as refusal:
            names.append(type(refusal).__name__)
    return names


def test_after_a_fork_the_child_is_refused_by_name_and_harms_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"

    def work(line: "Connection[Any, Any]") -> list[str]:
        names = refused(store)
        line.send("refused")
        assert line.recv() == "close"
        store.close()
        with pytest.raises(ForkedStore):  # the engine's locks on this file would be hollow here
            txmemory.open(url)
        with txmemory.open(f"{url}.other") as other:
            write(other, "of the child")
        return names + refused(store)

    with txmemory.open(url) as store:
        write(store, "before")
        with fork(work) as child:
            child.expect("refused")
            write(store, "while the child lives")
            child.say("close")
            assert child.answer() == 5 * ["ForkedStore"] + 5 * ["Closed"]
        write(store, "after")
        assert must(store.count()) == 3
    assert {id for id, _, _ in snapshot(tmp_path / "shared.db").items} == {
        "before", "while the child lives", "after",
    }  # fmt: skip


ENDS_AFTER_A_FORK = """
import os, sys
import txmemory
from txmemory import Memory, must
from txmemory.testing.processes import joined

line = joined()
store = txmemory.open(sys.argv[1])
must(store.writer("run", 1).write("before", [Memory("tea", id="before")]))
must(store.count())
if os.fork() == 0:
    sys.exit()  # as any program ends: everything that the fork copied is finalised
os.wait()
must(store.writer("run", 1).write("after", [Memory("tea", id="after")]))
line.send(must(store.count()))
line.recv()
os._exit(0)
"""


def test_a_forked_child_that_ends_like_any_program_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    program = [sys.executable, "-W", "ignore", "-c", ENDS_AFTER_A_FORK, f"sqlite:///{path}"]
    with spawn(program) as child:
        assert child.hear() == 2
        with txmemory.open(f"sqlite:///{path}") as other:  # another process, while the first is still there
            write(other, "other")
            assert must(other.count()) == 3
        child.say("end")
        assert child.wait() == 0
    assert len(snapshot(path).items) == 3


def test_a_store_that_is_a_value_is_read_and_written_in_a_forked_child() -> None:
    """C14: it is nobody's, so nothing of it has to be opened anew."""
    store, _ = InMemoryStore.empty().write("run", 2, "before", [Memory("tea", id="before")])

    def work(_line: "Connection[Any, Any]") -> list[str]:
        assert must(store.write("run", 2, "before", [Memory("tea", id="before")])[1]).replayed
        later, receipt = store.write("run", 2, "of the child", [Memory("tea", id="of the child")])
        assert not must(receipt).replayed
        return sorted(memory.id for memory in must(later.recall()))

    with fork(work) as child:
        assert child.answer() == ["before", "of the child"]
    assert must(store.count()) == 1


async def test_after_a_fork_an_awaited_store_is_refused_too(tmp_path: Path) -> None:
    async with txmemory.open_async(f"sqlite:///{tmp_path / 'shared.db'}") as store:
        must(await store.count())

        def work(_line: "Connection[Any, Any]") -> str:
            with pytest.raises(ForkedStore):
                asyncio.run(store.writer("run", 1).write("key", [Memory("tea")]))
            with pytest.raises(ForkedStore):
                asyncio.run(store.count())
            asyncio.run(store.close())
            return "refused"

        with fork(work) as child:
            assert await asyncio.to_thread(child.answer) == "refused"
        must(await store.writer("run", 1).write("key", [Memory("tea")]))


def test_closed_while_eight_threads_write_each_call_is_answered_or_closed_and_no_answer_was_wrong(
    tmp_path: Path,
) -> None:
    path = tmp_path / "closing.db"
    store = txmemory.open(f"sqlite:///{path}")
    writing = threading.Semaphore(0)
    answered: list[set[str]] = [set() for _ in range(8)]
    ended: list[BaseException | None] = [None] * 8

    def write_on(place: int) -> None:
        number = 0
        try:
            while True:
                write(store, f"{place}/{number}")
                answered[place].add(f"{place}/{number}")
                number += 1
                writing.release()
        except BaseException as error:  # noqa: BLE001  # looked at below
            ended[place] = error

    threads = [threading.Thread(target=write_on, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(400):
        assert writing.acquire(timeout=SECONDS)
    store.close()
    for thread in threads:
        thread.join(SECONDS)
    assert [type(error) for error in ended] == 8 * [Closed]
    assert {id for id, _, _ in snapshot(path).items} == set[str]().union(*answered)
    assert refused(store) == 5 * ["Closed"]


def test_close_waits_for_the_transaction_that_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "closing.db"
    under_way, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        under_way.set()
        assert go_on.wait(SECONDS)

    store = txmemory.open(f"sqlite:///{path}")
    with visiting(at(Point("commit", "before"), hold)):
        writer = threading.Thread(target=write, args=(store, "key"))
        writer.start()
        assert under_way.wait(SECONDS)
        closer = threading.Thread(target=store.close)
        closer.start()
        go_on.set()
        writer.join(SECONDS)
        closer.join(SECONDS)
    assert {id for id, _, _ in snapshot(path).items} == {"key"}


def test_a_process_that_ends_with_an_open_store_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "left.db"

    def work(_line: "Connection[Any, Any]") -> None:
        store = txmemory.open(f"sqlite:///{path}")
        for number in range(20):
            write(store, str(number))
        os.kill(os.getpid(), signal.SIGTERM)

    with fork(work) as child:
        assert child.wait() == -signal.SIGTERM
    assert len(snapshot(path).items) == 20
