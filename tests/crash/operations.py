"""Every operation that changes something, on a store that was prepared for it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import txmemory
from txmemory import Bounds, Filter, Memory, Store, either, must
from txmemory.testing.clock import START, FakeClock

SCOPE = "run"
TOKEN = 7
Run = Callable[[Store, int], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """A call that a worker makes with a token.

    A plain one has no key, so it is not made again after a crash. One that is not resendable is never made again by
    the store itself when its answer is lost. One that decides by what it has read is more than one request.
    """

    name: str
    run: Run
    plain: bool = False
    resendable: bool = True
    decides: bool = False

    def __str__(self) -> str:
        return self.name


def opened(path: Path) -> Store:
    """A store whose clock stands still, so that two runs of the same calls leave the same behind."""
    return txmemory.open(f"sqlite:///{path}", clock=FakeClock())


def prepare(path: Path) -> None:
    """What `fill` leaves, in a file."""
    clock = FakeClock(START - timedelta(hours=1))
    with txmemory.open(f"sqlite:///{path}", clock=clock) as store:
        fill(store, clock)


def fill(store: Store, clock: FakeClock) -> None:
    """Three memories, oldest first, each under a key."""
    for id in ("first", "second", "third"):
        must(store.writer(SCOPE, 1).write(f"before {id}", [Memory(f"the {id}", id=id)]))
        clock.advance(timedelta(minutes=1))


def copy(path: Path, to: Path) -> Path:
    """A copy of a database that nobody has open, with the log that a killed process left beside it."""
    for end in ("", "-wal"):
        if Path(f"{path}{end}").exists():
            shutil.copyfile(f"{path}{end}", f"{to}{end}")
    return to


def _write_many(store: Store, token: int) -> object:
    writes = [
        ("before first", [Memory("the first, told otherwise", id="first")]),
        ("key", [Memory("green", id="new")]),
        ("key, too", [Memory("tea", id="second")]),
    ]
    return either(store.writer(SCOPE, token).write_many(writes))


def _bounded(store: Store, token: int) -> object:
    add = [Memory("green", id="new"), Memory("tea", id="newer")]
    return either(store.writer(SCOPE, token).write("key", add, bounds=Bounds(max_memories=3)))


def _look(store: Store, token: int) -> object:
    return either(store.writer(SCOPE, token).applied("key"))


def _forget(store: Store, token: int) -> object:
    return either(store.writer(SCOPE, token).forget_applied("before second"))


def _store(store: Store, _token: int) -> object:
    return either(store.store(Memory("plain", id="second")))


def _store_all(store: Store, _token: int) -> object:
    return either(store.store_all([Memory("plain", id="new"), Memory("plain", id="second")]))


def _swap(store: Store, _token: int) -> object:
    return either(store.swap([Memory("the sum", id="sum")], ["first", "gone", "third"]))


def _update(store: Store, _token: int) -> object:
    return either(store.update("second", lambda memory: memory.with_content(f"{memory.content}, changed")))


def _delete_matching(store: Store, _token: int) -> object:
    return either(store.delete_matching(Filter.before(START - timedelta(minutes=59))))


def _delete_listed(store: Store, _token: int) -> object:
    return either(store.delete_matching(Filter.custom(lambda memory: memory.id != "second")))


def _trim(store: Store, _token: int) -> object:
    return either(store.trim(Bounds(max_memories=2, max_age=timedelta(minutes=58, seconds=30))))


def _write(*memories: Memory) -> Run:
    return lambda store, token: either(store.writer(SCOPE, token).write("key", memories))


def _replace(*remove: str) -> Run:
    add = [Memory("the sum", id="sum")]
    return lambda store, token: either(store.writer(SCOPE, token).replace("key", add, remove))


OPERATIONS = (
    Operation("write something new", _write(Memory("green tea", id="new"), Memory("black tea", id="newer"))),
    Operation("write over something", _write(Memory("changed", id="second"))),
    Operation("write and evict", _bounded),
    Operation("replace", _replace("first", "third")),
    Operation("replace superseded", _replace("first", "gone")),
    Operation("write many, one replayed", _write_many),
    Operation("look with a newer token", _look),
    Operation("forget", _forget, resendable=False),
    Operation("seal", lambda store, token: either(store.writer(SCOPE, token).seal()), resendable=False),
    Operation("store", _store, plain=True, resendable=False),
    Operation("delete", lambda store, _: either(store.delete("second")), plain=True, resendable=False),
    Operation("clear", lambda store, _: either(store.clear()), plain=True, resendable=False),
    Operation("store all", _store_all, plain=True, resendable=False),
    Operation("swap", _swap, plain=True, resendable=False),
    Operation("update", _update, plain=True, resendable=False, decides=True),
    Operation("delete matching", _delete_matching, plain=True, resendable=False),
    Operation("delete what was found", _delete_listed, plain=True, resendable=False, decides=True),
    Operation("trim", _trim, plain=True, resendable=False),
)
ONE_REQUEST = tuple(operation for operation in OPERATIONS if not operation.decides)
"""Those that are one request, which a server can be looked at over."""
