"""A proxy in front of PostgreSQL that knows its messages: it cuts, stalls, delays and counts at any of them.

It runs in a thread of this process, on a loopback port, and is gone with the process.
"""

import os
import selectors
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from txmemory.testing.faults import Cut, Planned, Seen, Stall
from txmemory.testing.relay import Connection, Flow
from txmemory.testing.wire import Direction, Message

__all__ = ["Counts", "Cut", "Message", "Planned", "Proxy", "Seen", "Stall"]

_REMEMBERED = 100_000
_COARSE = 0.002
"""A selector sleeps in milliseconds: closer to its end than this, a delay is waited for awake."""
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Counts:
    """What has come to the proxy. A round trip is a time that the client has waited for the server."""

    round_trips: int
    messages: dict[Direction, int]
    bytes: dict[Direction, int]


class Proxy:
    """Stands between clients and a server. Every method may be called from any thread; threads share nothing else."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._woken, self._waking = socket.socketpair()
        for end in (self._listener, self._woken, self._waking):
            end.settimeout(0)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._connections: list[Connection] = []
        self._accepted = 0
        self._plans: list[Planned] = []
        self._stalled: set[Direction] = set()
        self._delays: dict[Direction, float] = {"frontend": 0.0, "backend": 0.0}
        self._closing = False
        self.port: int = self._listener.getsockname()[1]
        """The port on 127.0.0.1 to connect to instead of the server's."""
        self._forget()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()
        _open.add(self)

    @classmethod
    @contextmanager
    def started(cls, host: str, port: int) -> Iterator[Self]:
        """A proxy in front of this server."""
        proxy = cls(host, port)
        try:
            yield proxy
        finally:
            proxy.close()

    def close(self) -> None:
        """Ends every connection and the proxy with them."""
        with self._lock:
            self._closing = True
        self._wake()
        self._thread.join()

    def plan(self, fault: Cut | Stall) -> Planned:
        """Lets a fault happen once, at the first message from now on that it is about."""
        planned = Planned(fault)
        with self._lock:
            self._plans.append(planned)
        return planned

    def cut(self) -> None:
        """Ends both sides of every connection at once, with a reset."""
        with self._lock:
            for connection in self._connections:
                connection.close(reset=True)

    def stall(self, only: Direction | None = None) -> None:
        """Passes nothing on any more, in one direction or both, on no connection, until `release`."""
        with self._lock:
            self._stalled |= {"frontend", "backend"} if only is None else {only}
            for connection in self._connections:
                connection.pause(only)

    def release(self) -> None:
        """Ends every stall: what was held back is passed on."""
        with self._lock:
            self._stalled.clear()
            for connection in self._connections:
                connection.release()
        self._wake()

    def delay(self, *, frontend: float = 0.0, backend: float = 0.0) -> None:
        """From now on passes everything on so many seconds after it came, by who has sent it."""
        with self._lock:
            self._delays = {"frontend": frontend, "backend": backend}

    def forget(self) -> None:
        """Starts to count from nothing."""
        with self._lock:
            self._forget()

    @property
    def round_trips(self) -> int:
        """Times that clients have waited for the server's answers, without the opening of their connections."""
        return self.counts.round_trips

    @property
    def messages(self) -> tuple[Seen, ...]:
        """The messages that have come, oldest first; of very many the latest."""
        with self._lock:
            return tuple(self._seen)

    @property
    def counts(self) -> Counts:
        """How much has come, and how much was passed on."""
        with self._lock:
            return Counts(self._trips, dict(self._messages), dict(self.passed))

    def _forget(self) -> None:
        self._trips = 0
        self._seen: deque[Seen] = deque(maxlen=_REMEMBERED)
        self._messages: dict[Direction, int] = {"frontend": 0, "backend": 0}
        self.passed: dict[Direction, int] = {"frontend": 0, "backend": 0}

    def _wake(self) -> None:
        with suppress(OSError):
            self._waking.send(b"!")

    # What follows runs with the lock held, most of it in the proxy's thread.

    def due(self, direction: Direction) -> float:
        """When something that has just come is to be passed on."""
        return time.perf_counter() + self._delays[direction]

    def note(self, seen: Seen) -> Planned | None:
        """Takes note of a message and says what happens at it."""
        self._seen.append(seen)
        self._messages[seen.message.direction] += 1
        happening = None
        for planned in self._plans:
            if happening is None and planned.happens(seen.message, seen.connection):
                happening = planned
        return happening

    def count_trip(self) -> None:
        """A client has its answer."""
        self._trips += 1

    def watch(self, end: socket.socket, events: int, data: tuple[Connection, Flow] | None) -> None:
        """Wakes the loop for these events of a socket, or not at all for none."""
        known = self._selector.get_map().get(end)
        if known is None and events:
            self._selector.register(end, events, data)
        elif known is not None and not events:
            self._selector.unregister(end)
        elif known is not None and known.events != events:
            self._selector.modify(end, events, data)

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closing:
                    self._end()
                    return
                pause = self._deliver()
            ready = self._selector.select(pause)
            with self._lock:
                for key, _ in ready:
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.data is None:
                        with suppress(BlockingIOError):
                            self._woken.recv(_REMEMBERED)
                    else:
                        connection, flow = key.data
                        connection.read(flow)

    def _deliver(self) -> float | None:
        """Passes on what is due; the seconds for which nothing more will be."""
        now = time.perf_counter()
        for connection in self._connections:
            connection.deliver(now)
            if not connection.closed:
                connection.watch(now)
        self._connections = [connection for connection in self._connections if not connection.closed]
        waiting = [
            flow.parcels[0].due
            for connection in self._connections
            for flow in connection.flows
            if flow.parcels and not flow.late(now)
        ]
        if not waiting:
            return None
        return max(0.0, min(waiting) - now - _COARSE)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        try:
            server = socket.create_connection(self._server, _PATIENCE)
        except OSError:
            client.close()
            return
        connection = Connection(self._accepted, self, client, server)
        self._accepted += 1
        for direction in self._stalled:
            connection.pause(direction)
        self._connections.append(connection)

    def _end(self) -> None:
        for connection in self._connections:
            connection.close(reset=True)
        self.let_go()

    def let_go(self) -> None:
        """Closes what this process holds; in a forked copy that leaves the connections of its parent as they are."""
        self._selector.close()
        for connection in self._connections:
            connection.let_go()
        for end in (self._listener, self._woken, self._waking):
            end.close()


_open: "weakref.WeakSet[Proxy]" = weakref.WeakSet()


def _let_go() -> None:
    """A copy of a socket would keep a connection open that the proxy has cut."""
    for proxy in tuple(_open):
        proxy.let_go()
        _open.discard(proxy)


os.register_at_fork(after_in_child=_let_go)
