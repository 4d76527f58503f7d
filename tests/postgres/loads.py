"""How much clients do."""

from typing import NamedTuple


class Load(NamedTuple):
    """So many clients at once."""

    clients: int
    keys: int
    """Of each client: every other one in a scope that all share."""


FULL = Load(20, 40)
SMALL = Load(6, 10)
"""Where a call is many round trips."""
