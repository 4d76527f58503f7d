"""Whether an open store may be used: not after close, and not in a process that it was not opened in."""

import os

from txmemory.port import Closed, ForkedStore


class ProcessGuard:
    """Remembers the process that opened a store, and whether it has been closed."""

    __slots__ = ("_closed", "_process")

    def __init__(self) -> None:
        self._process = os.getpid()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def inherited(self) -> bool:
        """Whether this process got the store by a fork."""
        return os.getpid() != self._process

    def check(self) -> None:
        """Raises `Closed` or `ForkedStore` where a call may not go on."""
        if self._closed:
            raise Closed("the store is closed")
        if self.inherited:
            raise ForkedStore("the store was opened in another process: open it anew after a fork")

    def close(self) -> None:
        """Refuses every later call."""
        self._closed = True
