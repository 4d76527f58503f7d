"""The past as a caller names it, and what is answered out of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from txmemory.model import limits
from txmemory.model.address import checked_scope
from txmemory.model.canonical import checked_integer
from txmemory.model.item import microseconds

Value = TypeVar("Value")
Other = TypeVar("Other")

When = datetime | tuple[str, int]
"""A time of record, or an event by its scope and its place in it, which stands for the time of that event."""
Point = int | tuple[str, int]
"""The same, checked: microseconds, or scope and seq."""


@dataclass(frozen=True, slots=True)
class AsOf(Generic[Value]):
    """What was there at `at`, that moment included.

    `settled`: nothing that is under way or still to come can change this but what expires. Where it is False, a write
    of that moment may still be about to commit, or it could not be told; asked again a little later it is nearly
    always True.
    """

    value: Value
    settled: bool
    at: datetime

    def map(self, make: Callable[[Value], Other]) -> "AsOf[Other]":
        """The same with what `make` makes of the value."""
        return AsOf(make(self.value), self.settled, self.at)


def checked_when(as_of: object) -> Point:
    """An aware datetime as microseconds, or a scope and a seq from 1 on."""
    match as_of:
        case datetime():
            return microseconds(as_of, "as_of")
        case tuple((scope, seq)):
            return checked_scope(scope), checked_integer(seq, "the seq of as_of", 1, limits.INTEGER_MOST)
        case _:
            raise TypeError("as_of must be an aware datetime or (scope, seq)")
