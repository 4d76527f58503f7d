"""The clock of this machine, where neither the caller nor a database has one."""

import time


def system_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1_000
