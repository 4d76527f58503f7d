"""What a proxy is told to do to a connection, at which of its messages, and what it tells of them."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from txmemory.testing.wire import ANSWERED, Direction, Message

Where = Literal["before", "inside", "after", "reply"]
"""The point at a message: nothing of it passed on, half of it, all of it; or all, and nothing of its answer."""

_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Cut:
    """Ends both sides of a connection at a message, after `skip` others of its type on the same connection."""

    on: Message
    where: Where = "before"
    skip: int = 0
    connection: int | None = None
    """The number of the connection, from 0 in the order they were made; the first to get there if not given."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Passes nothing on from a message until `release`, as `Cut` finds it, in one direction or in both."""

    on: Message
    where: Where = "before"
    skip: int = 0
    connection: int | None = None
    only: Direction | None = None


@dataclass(slots=True)
class Planned:
    """A fault that happens once."""

    fault: Cut | Stall
    _reached: threading.Event = field(default_factory=threading.Event)
    _seen: Counter[int] = field(default_factory=Counter)
    _due: bool = True

    @property
    def reached(self) -> bool:
        """Whether it has happened: true before a client can learn of it."""
        return self._reached.is_set()

    def wait(self, seconds: float = _PATIENCE) -> None:
        """Waits until it has happened."""
        if not self._reached.wait(seconds):
            raise TimeoutError(f"nothing came to {self.fault}")

    def __post_init__(self) -> None:
        on = self.fault.on
        if self.fault.where == "reply" and (on.direction == "backend" or on.kind not in ANSWERED):
            raise ValueError(f"{on} has no reply of its own")

    def happens(self, message: Message, connection: int) -> bool:
        """Whether this message, of which it takes note, is the one. Never true again after that."""
        fault = self.fault
        if message != fault.on or fault.connection not in {None, connection}:
            return False
        self._seen[connection] += 1
        due = self._due and self._seen[connection] > fault.skip
        self._due = self._due and not due
        return due

    def done(self) -> None:
        """It has happened."""
        self._reached.set()


@dataclass(frozen=True, slots=True)
class Seen:
    """A message that came to the proxy: never what is in it."""

    connection: int
    message: Message
    size: int
