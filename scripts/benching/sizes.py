#!/usr/bin/env python3
"""How much a benchmark does, and where."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""Where a process of the benchmark is started: the clone."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of rounds, of operations and of rows."""

    rounds: int
    full: int
    """Operations of one burst where each waits for the disk."""
    normal: int
    """Operations of one burst where none does."""
    many: int
    """Calls of write_many, of 100 writes each, in one burst."""
    bound: int
    beside: int
    """Memories in the namespace beside the bounded one."""
    counted: int
    disk: int
    crowd: int
    """Writes of each thread, process or task."""
    runs: int
    """Of the crowds."""
    starts: int
    """Fresh interpreters of each kind."""
    rows: int
    """Memories in the namespace that has grown."""
    few: int
    """Memories in the one that has not."""
    gone: int
    """Memories that a bound has evicted before."""
    events: int
    """Of the log that is verified."""


USUAL = Sizes(
    rounds=21,
    full=15,
    normal=60,
    many=2,
    bound=1_000,
    beside=100_000,
    counted=20,
    disk=3_000,
    crowd=250,
    runs=3,
    starts=9,
    rows=1_000_000,
    few=1_000,
    gone=100_000,
    events=1_000_000,
)
SMALL = Sizes(
    rounds=1,
    full=3,
    normal=3,
    many=1,
    bound=10,
    beside=100,
    counted=5,
    disk=100,
    crowd=5,
    runs=1,
    starts=1,
    rows=5_000,
    few=500,
    gone=1_000,
    events=2_000,
)
