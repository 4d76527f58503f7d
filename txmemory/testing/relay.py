"""One connection through a proxy: its bytes as messages, passed on when they are due, up to where a fault is."""

import selectors
import socket
import struct
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

from txmemory.testing.faults import Cut, Planned, Seen, Stall, Where
from txmemory.testing.wire import ENCRYPTION, Direction, Message, Question, Rounds, Splitter

_CHUNK = 65536
_BACKLOG = 1 << 20
_RESET = struct.pack("ii", 1, 0)


class Road(Protocol):
    """What a connection needs of its proxy."""

    passed: dict[Direction, int]

    def due(self, direction: Direction) -> float:
        """When something that has just come is to be passed on."""

    def note(self, seen: Seen) -> Planned | None:
        """Takes note of a message and says what happens at it."""

    def count_trip(self) -> None:
        """A client has its answer."""

    def watch(self, end: socket.socket, events: int, data: "tuple[Connection, Flow] | None") -> None:
        """Wakes the loop for these events of a socket, or not at all for none."""


@dataclass(slots=True)
class Parcel:
    """Bytes that are to be passed on at a time, and what happens after them."""

    due: float
    data: bytearray
    then: Planned | Literal["end"] | None = None


class Flow:
    """One direction of a connection."""

    def __init__(self, direction: Direction, source: socket.socket, target: socket.socket) -> None:
        self.direction, self.source, self.target = direction, source, target
        self.splitter = Splitter(direction)
        self.parcels: deque[Parcel] = deque()
        self.paused = False
        self.ended = False
        self.held = b""

    def put(self, due: float, data: bytes, then: Planned | Literal["end"] | None = None) -> None:
        last = self.parcels[-1] if self.parcels else None
        if last is None or last.due != due or last.then is not None:
            self.parcels.append(last := Parcel(due, bytearray()))
        last.data += data
        last.then = then

    def reads(self) -> bool:
        return not (self.paused or self.ended) and sum(len(parcel.data) for parcel in self.parcels) < _BACKLOG

    def late(self, now: float) -> bool:
        """Whether something should have been passed on that the other side does not take."""
        return bool(self.parcels) and self.parcels[0].due <= now


class Connection:
    """A client, its connection to the server, and the messages between them."""

    def __init__(self, number: int, proxy: Road, client: socket.socket, server: socket.socket) -> None:
        self.number, self._proxy, self._client, self._server = number, proxy, client, server
        self.flows = (Flow("frontend", client, server), Flow("backend", server, client))
        self.rounds = Rounds()
        self.closed = False
        self._doomed = False
        self._awaited: list[tuple[Planned, Question]] = []
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.settimeout(0)

    def read(self, flow: Flow) -> None:
        """Takes what has come; a connection whose bytes make no sense ends like a broken one."""
        if self.closed or not flow.reads():
            return
        try:
            chunk = flow.source.recv(_CHUNK)
            flow.splitter.feed(chunk)
            self._split(flow)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            self.close(reset=True)
            return
        if not chunk:
            flow.ended = True
            flow.put(self._proxy.due(flow.direction), b"", "end")

    def _split(self, flow: Flow) -> None:
        due = self._proxy.due(flow.direction)
        while not flow.paused and (found := flow.splitter.next()) is not None:
            kind, data = found
            if kind in ENCRYPTION:
                # A server without encryption says so; the proxy is one, because it has to read along.
                self.flows[1].put(due, b"N")
                continue
            planned, where = self._fault(flow.direction, kind, len(data))
            if planned is None:
                flow.put(due, data)
            else:
                self._happen(planned, flow, due, data, where)

    def _fault(self, direction: Direction, kind: str, size: int) -> tuple[Planned | None, Where]:
        """What happens at this message, of which note is taken, and where."""
        if kind == "Unknown":
            return None, "before"
        message = Message(direction, kind)
        happening = self._proxy.note(Seen(self.number, message, size))
        if direction == "frontend":
            question = self.rounds.asked(kind)
            if happening is not None and happening.fault.where == "reply":
                self._awaited.append((happening, question))
                happening = None
        else:
            begun = [
                (planned, question)
                for planned, question in self._awaited
                if self.rounds.begins(kind, question)
            ]
            if self.rounds.answered(kind):
                self._proxy.count_trip()
            if begun:
                self._awaited.remove(begun[0])
                return begun[0][0], "before"
        return happening, happening.fault.where if happening is not None else "before"

    def _happen(self, planned: Planned, flow: Flow, due: float, data: bytes, where: Where) -> None:
        half = {"before": 0, "reply": 0, "inside": len(data) // 2, "after": len(data)}[where]
        flow.put(due, data[:half], planned)
        match planned.fault:
            case Cut():
                self._doomed = True
                for each in self.flows:
                    each.paused = True
            case Stall(only=only):
                self.pause(only)
                if flow.paused:
                    flow.held = data[half:]
                else:
                    flow.put(due, data[half:])
            case _ as never:
                assert_never(never)

    def pause(self, only: Direction | None) -> None:
        """Passes on what has come, and nothing else."""
        for flow in self.flows:
            flow.paused = flow.paused or only in {None, flow.direction}

    def release(self) -> None:
        """Goes on where it was paused."""
        for flow in self.flows:
            if flow.paused and not self._doomed:
                flow.paused = False
                flow.put(self._proxy.due(flow.direction), flow.held)
                flow.held = b""
                self._split(flow)

    def deliver(self, now: float) -> None:
        """Passes on what is due."""
        for flow in self.flows:
            while not self.closed and flow.late(now):
                parcel = flow.parcels[0]
                try:
                    sent = flow.target.send(parcel.data) if parcel.data else 0
                except BlockingIOError:
                    break
                except OSError:
                    self.close(reset=True)
                    return
                self._proxy.passed[flow.direction] += sent
                del parcel.data[:sent]
                if not parcel.data:
                    flow.parcels.popleft()
                    self._after(parcel, flow)

    def _after(self, parcel: Parcel, flow: Flow) -> None:
        if parcel.then == "end":
            self.close(reset=False)
        elif parcel.then is not None:
            # Said first: whoever sees the connection break finds that the fault has been reached.
            parcel.then.done()
            if isinstance(parcel.then.fault, Cut):
                # A reset may overtake bytes: who has been sent some last gets an ordinary end after them.
                sent = parcel.then.fault.where in {"inside", "after"}
                self.close(reset=True, after=flow.target if sent else None)

    def close(self, *, reset: bool, after: socket.socket | None = None) -> None:
        """Ends both sides, but not that of `after`, with a reset."""
        if self.closed:
            return
        self.closed = True
        for end in (self._client, self._server):
            self._proxy.watch(end, 0, None)
            with suppress(OSError):
                if reset and end is not after:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                else:
                    end.shutdown(socket.SHUT_WR)
            end.close()

    def let_go(self) -> None:
        """Closes what this process holds of both sides, without a word to them."""
        self.closed = True
        self._client.close()
        self._server.close()

    def watch(self, now: float) -> None:
        """Says what the loop is to wait for."""
        for flow, back in (self.flows, self.flows[::-1]):
            reading = selectors.EVENT_READ if flow.reads() else 0
            self._proxy.watch(
                flow.source, reading | (selectors.EVENT_WRITE if back.late(now) else 0), (self, flow)
            )
