#!/usr/bin/env python3
"""One client: every kind of call against the commit floor, at synchronous=FULL and NORMAL."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.sizes import Sizes
from scripts.benching.timing import TEXT, Clock, Floor, Operation, ratios
from txmemory import Bounds, Memory, Store, must

Setting = Literal["FULL", "NORMAL", "CPU"]
"""`synchronous`; CPU is NORMAL in processor time, which a busy machine does not lengthen: what gates."""
MANY = 100
REPLACED = 5
TARGETS = {
    ("write", "FULL"): (1.7, 1.5),
    ("write", "NORMAL"): (12.0, 9.0),
    ("replay, equal token", "FULL"): (0.3, None),
    ("write_many of 100, per write", "FULL"): (0.25, 0.15),
    ("applied, equal token", "FULL"): (0.3, None),
}
"""Of a case at a setting: the target and the later goal."""


class Calls:
    """The calls that are measured, on one store; each call of one does a fresh piece of work."""

    def __init__(self, store: Store, sizes: Sizes) -> None:
        self._number = count()
        self._writer = store.writer("run", token=1)
        self._replacing = store.within("replaced").writer("replacing", token=1)
        self._bounded = store.within("bounded").writer("bounded", token=1)
        self._beside = store.within("beside").writer("beside", token=1)
        self._bounds = Bounds(max_memories=sizes.bound)
        self._sources: list[str] = []
        must(self._writer.write("known", [Memory(TEXT)]))
        fill(store.within("bounded"), sizes.bound)

    def write(self) -> None:
        """One memory under a new key."""
        must(self._writer.write(f"step-{next(self._number)}", [Memory(TEXT)]))

    def replay(self) -> None:
        """The same key again."""
        assert must(self._writer.write("known", [Memory(TEXT)])).replayed

    def applied(self) -> None:
        """A look at a known key."""
        assert must(self._writer.applied("known")) is not None

    def write_many(self) -> None:
        """A hundred memories under a key each, in one transaction."""
        first = next(self._number)
        for answer in must(
            self._writer.write_many([(f"many-{first}-{place}", [Memory(TEXT)]) for place in range(MANY)])
        ):
            must(answer)

    def replace(self) -> None:
        """Five memories in the place of the last five."""
        memories = [Memory(TEXT) for _ in range(REPLACED)]
        key = f"step-{next(self._number)}"
        outcome = must(self._replacing.replace(key, memories, self._sources)).outcome
        assert outcome.status == "stored"
        self._sources = [memory.id for memory in memories]

    def bounded(self) -> None:
        """One memory into a namespace at its bound: another one goes."""
        key = f"step-{next(self._number)}"
        outcome = must(self._bounded.write(key, [Memory(TEXT)], bounds=self._bounds)).outcome
        assert len(outcome.evicted) == 1


def fill(store: Store, memories: int) -> None:
    """Puts so many memories into the namespace."""
    writer = store.writer(f"filling-{memories}", token=1)
    for first in range(0, memories, 1_000):
        must(writer.write(f"{first}", [Memory(TEXT) for _ in range(min(1_000, memories - first))]))


@contextmanager
def opened(folder: Path, name: str, synchronous: str) -> Iterator[Store]:
    """A store in a file of its own."""
    with txmemory.open(f"sqlite:///{folder}/{name}.db?synchronous={synchronous}") as store:
        yield store


def figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table."""
    settings: tuple[tuple[Setting, Clock], ...] = (
        ("FULL", time.perf_counter_ns),
        ("NORMAL", time.perf_counter_ns),
        ("CPU", time.process_time_ns),
    )
    rows: list[Figure] = []
    for setting, clock in settings:
        place = folder / setting
        place.mkdir()
        rows.extend(_against_floor(place, sizes, setting, clock))
    return [*rows, _beside(folder, sizes)]


def _against_floor(folder: Path, sizes: Sizes, setting: Setting, clock: Clock) -> list[Figure]:
    synchronous = "FULL" if setting == "FULL" else "NORMAL"
    times = sizes.full if synchronous == "FULL" else sizes.normal
    floor = Floor(folder, synchronous)
    with opened(folder, f"single-{synchronous}", synchronous) as store:
        calls = Calls(store, sizes)
        cases: dict[str, tuple[Operation, int]] = {
            "write": (calls.write, times),
            "replay, equal token": (calls.replay, times),
            "write_many of 100, per write": (calls.write_many, sizes.many),
            "applied, equal token": (calls.applied, times),
            "replace of 5": (calls.replace, times),
            f"write at a bound of {sizes.bound:,}": (calls.bounded, times),
        }
        found = ratios(cases, floor, times, sizes.rounds, clock)
    floor.close()
    rows = []
    for name, values in found.items():
        target, goal = TARGETS.get((name, synchronous), (None, None))
        each = tuple(value / MANY for value in values) if "per write" in name else values
        gating = setting == "CPU"
        rows.append(Figure(f"{setting:6} {name}", each, target=target, goal=goal, gating=gating))
    return rows


def _beside(folder: Path, sizes: Sizes) -> Figure:
    """The bounded write in a store that holds much more, against the same in a store that does not."""
    with opened(folder, "alone", "NORMAL") as alone, opened(folder, "beside", "NORMAL") as beside:
        fill(beside.within("others"), sizes.beside)
        few, much = Calls(alone, sizes), Calls(beside, sizes)
        cases: dict[str, tuple[Operation, int]] = {"much": (much.bounded, sizes.normal)}
        found = ratios(cases, few.bounded, sizes.normal, sizes.rounds, time.process_time_ns)
    name = f"CPU    bounded write beside {sizes.beside:,} others, to alone"
    return Figure(name, found["much"], target=1.4, gating=True)
