"""Who holds the write lock of a file, where the system tells."""

import os
from pathlib import Path

_LOCKS = Path("/proc/locks")
_WRITE_LOCK = 120
"""The byte of the index beside the write-ahead log that a writer locks; it is part of SQLite's file format."""


def writers_of(path: str | None) -> tuple[int, ...]:
    """The processes that hold the file's write lock, by number; none where that cannot be found out.

    It is asked when a caller has waited in vain, never before: what is answered may be over by then.
    """
    if path is None:
        return ()
    try:
        index = Path(f"{path}-shm").stat()
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:  # no write-ahead log, or no Linux
        return ()
    place = f"{os.major(index.st_dev):02x}:{os.minor(index.st_dev):02x}:{index.st_ino}"
    found = {_holder(line.split(), place) for line in lines}
    return tuple(sorted(found - {0}))


def _holder(fields: list[str], place: str) -> int:
    """The process of a line that says who holds the lock at that place; 0 for any other line."""
    match fields:
        case [_, "POSIX", _, "WRITE", pid, where, first, last] if where == place:
            held = int(first) <= _WRITE_LOCK and (last == "EOF" or int(last) >= _WRITE_LOCK)
            return int(pid) if held and int(pid) > 0 else 0
        case _:
            return 0
