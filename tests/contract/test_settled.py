"""What is settled stays as it was answered, while several write; and how a store on a file knows."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import txmemory
from txmemory import AsOf, Memory, Store, must
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import sharing
from txmemory.testing.racing import race
from txmemory.testing.roles import with_options
from txmemory.testing.shared import new_schema

ASKED = 20_000
"""How often it is asked at the most."""
SETTLED = 40
SECOND = timedelta(seconds=1)


@pytest.fixture(params=["memory", "file", "server"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Store]]:
    """Three handles that write, and one that reads, by real clocks; each with a connection of its own if it can."""
    match request.param:
        case "memory":
            with txmemory.open("memory://") as store:
                yield [store] * 4
            return
        case "file":
            url = f"sqlite:///{tmp_path / 'memory.db'}?synchronous=NORMAL"
        case _:
            server = request.getfixturevalue("server")
            url = with_options(server, schema=new_schema(server))
    with ExitStack() as opened:
        yield [opened.enter_context(txmemory.open(url, deadline=30.0)) for _ in range(4)]


def test_what_is_settled_is_answered_the_same_for_ever(stores: list[Store]) -> None:
    """L12: asked of moments that are hardly over, beside keyed and plain writes of new ids and known ones."""
    *writers, reader = stores
    over = threading.Event()
    answers: list[AsOf[list[Memory]]] = []

    def write(number: int) -> None:
        store, writer = writers[number], writers[number].writer(f"run-{number}", 1)
        for step in count():
            if over.is_set():
                return
            known, new = (
                Memory(f"{step}", id=f"{number}-{step % 5}"),
                Memory("new", id=f"{number}-{step % 400}"),
            )
            match step % 4:
                case 0:
                    must(
                        writer.write(f"{step}", [new if step % 8 else known, Memory(f"{step}", id="shared")])
                    )
                case 1:
                    must(store.store(new if step % 3 else known))
                case 2:
                    must(store.delete(known.id))
                case _:
                    must(store.store_all([known, Memory(f"{step}", id="shared")]))

    def read() -> None:
        try:
            while sum(answer.settled for answer in answers) < SETTLED and len(answers) < ASKED:
                answers.append(must(reader.recall(limit=100_000, as_of=datetime.now(UTC))))
        finally:
            over.set()

    race(read, *(partial(write, number) for number in range(len(writers))))
    settled = [answer for answer in answers if answer.settled]
    assert len(settled) == SETTLED
    for answer in settled:
        again = must(reader.recall(limit=100_000, as_of=answer.at))
        assert rows(again.value) == rows(answer.value)


def rows(memories: list[Memory]) -> list[tuple[str, int | None]]:
    return [(memory.id, memory.revision) for memory in memories]


# ---- a store on a file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@contextmanager
def another_writes(path: Path) -> Iterator[sqlite3.Connection]:
    """While somebody holds the file's write lock."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def test_where_another_writes_a_moment_is_not_settled_and_nobody_waits(path: Path) -> None:
    """With a deadline that is nearly over; and once it is settled it stays so, whoever writes."""
    clock = FakeClock()
    url = f"sqlite:///{path}"
    with txmemory.open(url, clock=clock) as writer, txmemory.open(url, clock=clock, deadline=1.0) as reader:
        moment = must(writer.store(Memory("tea"))).at
        clock.advance(SECOND)
        with another_writes(path):
            assert must(reader.count(as_of=moment)) == AsOf(1, settled=False, at=moment)
        assert must(reader.count(as_of=moment)).settled
        with another_writes(path):
            assert must(reader.count(as_of=moment)).settled
            assert not must(reader.count(as_of=clock())).settled


def test_a_store_that_has_written_knows_that_what_was_before_is_settled(path: Path) -> None:
    """It held the lock itself: no question of it is left, and it takes none."""
    clock = FakeClock()
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        moment = must(store.store(Memory("tea"))).at
        clock.advance(SECOND)
        must(store.store(Memory("tea")))
        with another_writes(path):
            assert must(store.count(as_of=moment)) == AsOf(1, settled=True, at=moment)
            assert not must(store.count(as_of=moment + SECOND)).settled


def test_a_question_leaves_the_lock_to_those_who_write(path: Path) -> None:
    clock = FakeClock()
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        moment = must(store.store(Memory("tea"))).at
        clock.advance(SECOND)
        assert must(store.count(as_of=moment)).settled
        with another_writes(path) as connection:
            connection.execute("COMMIT")
        must(store.store(Memory("tea")))


def test_another_file_at_the_same_place_has_a_past_of_its_own(path: Path) -> None:
    """C9: what was known of the one that was replaced says nothing of it."""
    clock = FakeClock()
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        moment = must(store.store(Memory("tea"))).at
        clock.advance(SECOND)
        must(store.store(Memory("tea")))
        with txmemory.open(f"sqlite:///{path}.new", clock=clock) as other:
            must(other.store(Memory("coffee")))
        for end in ("", "-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        path.with_name(f"{path.name}.new").rename(path)
        clock.advance(SECOND)
        with another_writes(path):
            assert must(store.count(as_of=moment)) == AsOf(0, settled=False, at=moment)
        assert must(store.count(as_of=clock() - SECOND)) == AsOf(1, settled=True, at=clock() - SECOND)


def test_a_file_that_has_become_read_only_is_read_as_of_a_time(path: Path) -> None:
    """C9: whether anybody still writes it cannot be told there."""
    clock = FakeClock()
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        moment = must(store.store(Memory("tea"))).at
    clock.advance(SECOND)
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        store._handle.backend.writer._connection.execute("PRAGMA query_only = 1")  # type: ignore[attr-defined]  # ours
        assert must(store.count(as_of=moment)) == AsOf(1, settled=False, at=moment)


def test_in_a_file_what_a_batch_has_read_of_the_clock_settles_only_what_was_before_it(tmp_path: Path) -> None:
    """L12: three calls share a transaction, each reads the clock, and none is committed yet."""
    clock, times = FakeClock(), list[datetime]()

    def ticking() -> datetime:
        clock.advance(SECOND)
        times.append(clock())
        return times[-1]

    with txmemory.open(f"sqlite:///{tmp_path / 'shared.db'}", clock=ticking) as store:
        answers: list[tuple[datetime, AsOf[int]]] = []

        def look(step: str, moment: str) -> None:
            if (step, moment) == ("commit", "before"):
                answers.extend([(at, must(store.count(as_of=at))) for at in [*times]])

        calls = [partial(store.store, Memory("tea", id=id)) for id in "abcd"]
        sharing(*calls, visit=look)
        settled = [(at, answer.value) for at, answer in answers if answer.settled]
        assert settled
        assert [must(store.count(as_of=at)).value for at, _ in settled] == [value for _, value in settled]
        assert not all(answer.settled for _, answer in answers)
