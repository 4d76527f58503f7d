"""How much a namespace of memories may hold."""

from dataclasses import dataclass
from datetime import timedelta

from txmemory.model import limits
from txmemory.model.address import Namespace
from txmemory.model.canonical import checked_integer
from txmemory.model.commit import Bound
from txmemory.model.item import TIME_LEAST, TIME_MOST

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a namespace may hold after a write through which they are given, one of the two or both.

    `max_memories`, 0 .. 100,000: the oldest go first, by their timestamps, which a memory that is stored over an id
    without one of its own keeps. `max_age`, above 0: what has an older timestamp goes. More than
    1,000 that would have to go is `TooManyToEvict`; `trim` evicts any number.

    >>> from datetime import timedelta
    >>> Bounds(max_memories=1_000, max_age=timedelta(days=90))
    Bounds(max_memories=1000, max_age=datetime.timedelta(days=90))
    """

    max_memories: int | None = None
    max_age: timedelta | None = None

    def __post_init__(self) -> None:
        if self.max_memories is None and self.max_age is None:
            raise ValueError("bounds name neither max_memories nor max_age")
        if self.max_memories is not None:
            most = checked_integer(self.max_memories, "max_memories", 0, limits.BOUND_MOST)
            object.__setattr__(self, "max_memories", most)
        if self.max_age is not None:
            if not isinstance(self.max_age, timedelta):
                raise TypeError("max_age must be a timedelta")
            if self.max_age <= timedelta(0):
                raise ValueError("max_age must be above 0")


def bounds_of(namespace: Namespace, bounds: Bounds | None) -> tuple[Bound, ...]:
    """The bounds of one namespace."""
    if bounds is None:
        return ()
    if not isinstance(bounds, Bounds):
        raise TypeError("bounds must be a Bounds")
    # Nothing is older than all of time, and every database can count to that.
    age = None if bounds.max_age is None else min(bounds.max_age // _MICROSECOND, TIME_MOST - TIME_LEAST)
    return (Bound(namespace, bounds.max_memories, age),)
