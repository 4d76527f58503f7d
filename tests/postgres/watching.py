"""What is there and what is gone: processes, and servers that answer."""

import time
from collections.abc import Callable
from pathlib import Path

import psycopg

PATIENCE = 60.0


def until(true: Callable[[], bool]) -> None:
    """Waits for what has no event to wait for, like the end of a process of somebody else's."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether there is such a process. One that nobody has waited for yet has ended all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes(pid: int) -> set[int]:
    """A process and everything that descends from it."""
    found = {pid}
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        found.update(*(processes(int(child)) for child in children.read_text(encoding="ascii").split()))
    return found


def run_by(pid: int) -> int:
    """The user whose process it is."""
    return Path(f"/proc/{pid}").stat().st_uid


def answers(url: str) -> bool:
    """Whether one can connect."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
