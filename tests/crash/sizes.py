"""How long the long tests are: short in every run, at full length where `TXMEMORY_TEST_LONG` is set."""

import os

LONG = bool(os.environ.get("TXMEMORY_TEST_LONG"))


def size(short: int, full: int) -> int:
    """How many of something."""
    return full if LONG else short
