"""Faults at the named steps of transactions. They cost nothing: where none is set, nothing is there.

The steps are the guard's primitives (`txmemory.backends.primitives.Tables`), those of claims
(`txmemory.backends.leasing.Claims`), and `begin` and `commit` of SQLite's writer and of the portable backend's
transaction.
"""

import functools
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeVar

from txmemory.backends.portable.tables import PortableTables
from txmemory.backends.portable.transacting import Transaction
from txmemory.backends.primitives import Tables
from txmemory.backends.sql.claiming import StatementClaims
from txmemory.backends.sqlite.tables import SqliteTables
from txmemory.backends.sqlite.writer import Waiting, Writer

Answer = TypeVar("Answer")
Moment = Literal["before", "after"]
Visit = Callable[[str, Moment], object]
"""Is called just before and just after a step, on the thread that carries it out."""

GUARD_STEPS = tuple(
    name for name, value in vars(Tables).items() if callable(value) and not name.startswith("_")
)
STEPS = ("begin", *GUARD_STEPS, "commit")
CLAIM_STEPS = ("hold", "leave", "note")
_OWNERS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("begin", "commit"), (Writer, Transaction)),
    **dict.fromkeys(GUARD_STEPS, (SqliteTables, PortableTables)),
    **dict.fromkeys(CLAIM_STEPS, (StatementClaims,)),
}
SECONDS = 60.0
"""How long a thread is waited for: only a hang is ever this long."""


@dataclass(frozen=True, slots=True)
class Point:
    """Just before or just after the `nth` call of a step."""

    step: str
    moment: Moment
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.moment} {self.step} {self.nth}"


@contextmanager
def visiting(visit: Visit) -> Iterator[None]:
    """Inside the block `visit` is called around every step of every SQLite and portable store of this process."""
    with ExitStack() as undo:
        for step, owners in _OWNERS.items():
            for owner in owners:
                original = getattr(owner, step)
                undo.callback(setattr if step in vars(owner) else _uncovered, owner, step, original)
                setattr(owner, step, _visited(step, original, visit))
        yield


def _uncovered(owner: type, step: str, _inherited: object) -> None:
    delattr(owner, step)


def _visited(step: str, original: Callable[..., Any], visit: Visit) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*arguments: object, **named: object) -> Any:
        visit(step, "before")
        answer = original(*arguments, **named)
        visit(step, "after")
        return answer

    return call


class Trace:
    """A visit that notes every point it is taken to."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._calls: Counter[str] = Counter()

    def __call__(self, step: str, moment: Moment) -> None:
        """Notes the point."""
        if moment == "before":
            self._calls[step] += 1
        self.points.append(Point(step, moment, self._calls[step]))


def at(point: Point, deed: Callable[[], object]) -> Visit:
    """A visit that does `deed` at the point, once."""
    trace = Trace()

    def visit(step: str, moment: Moment) -> None:
        trace(step, moment)
        if trace.points[-1] == point:
            deed()

    return visit


def killed() -> NoReturn:
    """A deed: SIGKILL for this process."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process outlived its SIGKILL")


def stopped() -> None:
    """A deed: SIGSTOP for this process; it goes on from here with SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


class Injected(sqlite3.OperationalError):
    """An error as the engine raises it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.sqlite_errorname = code


def failing(code: str) -> Callable[[], NoReturn]:
    """A deed: the engine's error of that name, such as `SQLITE_BUSY`."""

    def fail() -> NoReturn:
        raise Injected(code)

    return fail


class _Held:
    """A commit that waits, and that the writer cannot begin before all that belong with it wait as well."""

    def __init__(self, waiting: Waiting, complete: threading.Event) -> None:
        self._waiting = waiting
        self._complete = complete
        self.commit = waiting.commit
        self.ends = waiting.ends
        self.answer = waiting.answer
        self.fail = waiting.fail

    def claim(self) -> bool:
        assert self._complete.wait(SECONDS), "a call was not made"
        return self._waiting.claim()


def sharing(first: Callable[[], Answer], *others: Callable[[], Answer], visit: Visit) -> list[Answer]:
    """The answers of calls of which `first` has a transaction alone and all `others` share the next one.

    The first transaction is held at its beginning until the others wait behind it. `visit` is called around the steps
    of both.
    """
    begun, complete, missing = threading.Event(), threading.Event(), threading.Semaphore(len(others) - 1)
    submit = Writer.submit

    def counted(writer: Writer, waiting: Waiting) -> None:
        if not begun.is_set() or complete.is_set():
            submit(writer, waiting)
            return
        submit(writer, _Held(waiting, complete))
        if not missing.acquire(blocking=False):
            complete.set()

    def hold() -> None:
        begun.set()
        assert complete.wait(SECONDS), "a call was not made"

    held = at(Point("begin", "before"), hold)

    def both(step: str, moment: Moment) -> None:
        held(step, moment)
        visit(step, moment)

    with ExitStack() as undo:
        setattr(Writer, "submit", counted)  # noqa: B010  # a plain assignment to a method is no typed Python
        undo.callback(setattr, Writer, "submit", submit)
        undo.enter_context(visiting(both))
        threads = undo.enter_context(ThreadPoolExecutor(1 + len(others)))
        answers = [threads.submit(first)]
        assert begun.wait(SECONDS), "the first call began no transaction"
        answers += [threads.submit(other) for other in others]
        return [answer.result() for answer in answers]
