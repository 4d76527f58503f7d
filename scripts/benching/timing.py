#!/usr/bin/env python3
"""The commit floor, and the clockwork of interleaved rounds: each burst of a case stands beside one of the floor."""

import sqlite3
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

TEXT = "y" * 400
"""The unit of work stores one memory of this text."""

Operation = Callable[[], object]
Clock = Callable[[], int]


class Floor:
    """The cheapest durable commit: one row, inserted over a raw connection with the same settings."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        self._connection = sqlite3.connect(folder / f"floor-{synchronous}.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={synchronous}")
        self._connection.execute("CREATE TABLE floor (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")

    def __call__(self) -> None:
        """Inserts one row and commits it."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute("INSERT INTO floor (text) VALUES (?)", (TEXT,))
        execute("COMMIT")

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def burst(operation: Operation, times: int, clock: Clock = time.perf_counter_ns) -> float:
    """The median microseconds of one operation."""
    elapsed = []
    for _ in range(times):
        began = clock()
        operation()
        elapsed.append(clock() - began)
    return statistics.median(elapsed) / 1_000


def ratios(
    cases: Mapping[str, tuple[Operation, int]],
    floor: Operation,
    floors: int,
    rounds: int,
    clock: Clock = time.perf_counter_ns,
) -> dict[str, tuple[float, ...]]:
    """For each case (an operation, and how many make a burst) the ratios to the floor, one a round."""
    for operation, _ in cases.values():
        operation()
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (operation, times) in cases.items():
            beside = burst(floor, floors, clock)
            found[name].append(burst(operation, times, clock) / beside)
    return {name: tuple(values) for name, values in found.items()}
