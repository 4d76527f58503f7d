"""Whether a store may be opened and used: not across a fork, and not after close."""

import itertools
import os
import threading
from collections import Counter

from txmemory.port import Closed, ForkedStore

_generations = itertools.count()
_generation = [next(_generations)]
"""Which process this is, counted through its forks: the process id would have to be asked of the system."""


_held: Counter[object] = Counter()
"""What this process has open, by whatever tells one thing from another."""
_inherited: set[object] = set()
"""What was open in the process that this one was forked from."""
_counting = [threading.Lock()]


def _forked() -> None:
    _generation[0] = next(_generations)
    _counting[0] = threading.Lock()
    _inherited.update(_held)
    _held.clear()


def refuse_inherited(thing: object) -> None:
    """Raises `ForkedStore` for what was open across a fork: the engine's locks on it would be hollow here."""
    if thing in _inherited:
        raise ForkedStore(
            "the file was open when this process was forked: use it in a process started afresh"
        )


def hold(thing: object) -> None:
    """Notes that this process has it open."""
    with _counting[0]:
        _held[thing] += 1


def let_go(thing: object) -> None:
    """Notes that this process has it open once less."""
    with _counting[0]:
        _held[thing] -= 1
        if _held[thing] <= 0:
            del _held[thing]


os.register_at_fork(after_in_child=_forked)


class Lifetime:
    """Of an open store: remembers the process that opened it, and whether it has been closed."""

    __slots__ = ("_generation", "closed")

    def __init__(self) -> None:
        self._generation = _generation[0]
        self.closed = False

    @property
    def inherited(self) -> bool:
        """Whether this process got the store by a fork."""
        return _generation[0] != self._generation

    def check(self) -> None:
        """Raises `Closed` or `ForkedStore` where a call may not go on."""
        if self.closed:
            raise Closed("the store is closed")
        if _generation[0] != self._generation:
            raise ForkedStore("the store was opened in another process: fork first, and open then")

    def close(self) -> None:
        """Refuses every later call."""
        self.closed = True
