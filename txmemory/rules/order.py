"""Orders as data: tuples of columns, from which Python's sort key and SQL's ORDER BY are both made."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

RECALL = ("created_at", "id")
"""Descending: the newest first, ties by id."""
EXPIRED = ("expires_at", "id")
"""Ascending: what expired first goes first."""
EVICTION = ("created_at", "id")
"""Ascending: the oldest goes first."""


def sort_key(order: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The key that sorts values with these attributes (an id may stand in their address) in that order."""
    first, second = (attrgetter("address.id" if column == "id" else column) for column in order)
    return lambda value: (first(value), second(value))
