#!/usr/bin/env python3
"""Where the microseconds of one keyed write go: every stage is wrapped from outside, the product knows nothing."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from scripts.benching.single import opened
from scripts.benching.sizes import Sizes
from scripts.benching.timing import TEXT, Floor, burst
from txmemory import Memory, Store, must
from txmemory.backends.sqlite import writer
from txmemory.backends.sqlite.tables import SqliteTables
from txmemory.rules import planning, settling
from txmemory.store.core import Handle

WRITES = 200
CALIBRATION = 2_000
PRIMITIVES = (
    "advance_fence",
    "applied",
    "lock_heads",
    "now",
    "change_heads",
    "append_revisions",
    "append_events",
    "move_scope",
    "record",
)
STAGES: tuple[tuple[str, Any, str], ...] = (
    ("command and fingerprint", Handle, "write"),
    ("planning", planning, "write"),
    ("BEGIN IMMEDIATE", writer.Writer, "begin"),
    ("guard, its own part", SqliteTables, "carried_out"),
    *((f"guard: {name}", SqliteTables, name) for name in PRIMITIVES),
    ("COMMIT", writer.Writer, "commit"),
    ("settling", settling, "write"),
)
"""A stage's name, and the function that is one: whose it is, and its name there."""


class Clock:
    """Adds up what each stage takes, less what the stages inside it take."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, int] = defaultdict(int)
        """Nanoseconds, until somebody begins anew."""
        self._inside = [0]
        self._overhead = 0
        self._overhead = self._measured_overhead()

    def wrapped(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time written down."""

        def timed(*given: Any, **named: Any) -> Any:
            self._inside.append(0)
            began = time.process_time_ns()
            try:
                return function(*given, **named)
            finally:
                elapsed = time.process_time_ns() - began
                self.spent[stage] += elapsed - self._inside.pop()
                self._inside[-1] += elapsed + self._overhead

        return timed

    def _measured_overhead(self) -> int:
        """Nanoseconds that a call takes longer for being timed, which its caller's stage is not charged with."""
        timed = self.wrapped("nothing", lambda: None)
        began = time.process_time_ns()
        for _ in range(CALIBRATION):
            timed()
        return (time.process_time_ns() - began - self.spent.pop("nothing")) // CALIBRATION


@contextmanager
def replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """The function in the place of the one of this name, which the owner has or inherits."""
    original = owner.__dict__.get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if original is None:
            delattr(owner, name)
        else:
            setattr(owner, name, original)


def profile(folder: Path, sizes: Sizes) -> str:
    """The stages as a table: microseconds of processor time, and times the commit floor, at synchronous=NORMAL."""
    writes = max(10, WRITES * sizes.rounds // 21)
    floor = Floor(folder, "NORMAL")
    clock = time.process_time_ns
    rounds: list[dict[str, float]] = []
    with opened(folder, "profile", "NORMAL") as store:
        plain = _writing(store, "plain")
        burst(plain, writes)
        for number in range(sizes.rounds):
            found = {"floor": burst(floor, writes, clock), "whole": burst(plain, writes, clock)}
            found.update(_round(store, f"round-{number}", writes))
            rounds.append(found)
    floor.close()
    unit = statistics.median(each["floor"] for each in rounds)
    names = [name for name in rounds[0] if name not in ("floor", "whole")]
    lines = [f"{'stage of one keyed write, NORMAL':36} {'us':>8} {'x floor':>8}"]
    for name in [*names, "whole", "floor"]:
        median = statistics.median(each[name] for each in rounds)
        lines.append(f"{_TITLES.get(name, name):36} {median:8.1f} {median / unit:8.2f}")
    return "\n".join(lines)


_TITLES = {"whole": "whole call, not instrumented (median)", "floor": "commit floor (median)"}


def _writing(store: Store, scope: str) -> Callable[[], object]:
    handle = store.writer(scope, token=1)
    number = iter(range(1_000_000))

    def write() -> None:
        must(handle.write(f"step-{next(number)}", [Memory(TEXT)]))

    return write


def _round(store: Store, scope: str, writes: int) -> dict[str, float]:
    """Median microseconds of each stage, with what lies between the stages as a stage of its own."""
    handle = store.writer(scope, token=1)
    clock = Clock()
    each: list[dict[str, int]] = []
    made = clock.wrapped("Memory(...)", Memory)
    call = clock.wrapped("the rest: drive, hand-over, Results", handle.write)
    with ExitStack() as stack:
        for stage, owner, name in STAGES:
            stack.enter_context(replaced(owner, name, clock.wrapped(stage, getattr(owner, name))))
        for number in range(writes):
            clock.spent.clear()
            must(call(f"step-{number}", [made(TEXT)]))
            each.append(dict(clock.spent))
    order = ("Memory(...)", *(stage for stage, _, _ in STAGES), "the rest: drive, hand-over, Results")
    return {stage: statistics.median(one.get(stage, 0) for one in each) / 1_000 for stage in order}
