"""PostgreSQL's messages of protocol 3: a stream of bytes is split into them, and questions are told from answers."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Direction = Literal["frontend", "backend"]
"""Who sends: the client is the frontend, the server the backend."""

NAMES: dict[Direction, dict[bytes, str]] = {
    "frontend": {
        b"B": "Bind",
        b"C": "Close",
        b"D": "Describe",
        b"E": "Execute",
        b"F": "FunctionCall",
        b"H": "Flush",
        b"P": "Parse",
        b"Q": "Query",
        b"S": "Sync",
        b"X": "Terminate",
        b"c": "CopyDone",
        b"d": "CopyData",
        b"f": "CopyFail",
        b"p": "Password",
    },
    "backend": {
        b"1": "ParseComplete",
        b"2": "BindComplete",
        b"3": "CloseComplete",
        b"A": "NotificationResponse",
        b"C": "CommandComplete",
        b"D": "DataRow",
        b"E": "ErrorResponse",
        b"G": "CopyInResponse",
        b"H": "CopyOutResponse",
        b"I": "EmptyQueryResponse",
        b"K": "BackendKeyData",
        b"N": "NoticeResponse",
        b"R": "Authentication",
        b"S": "ParameterStatus",
        b"T": "RowDescription",
        b"V": "FunctionCallResponse",
        b"W": "CopyBothResponse",
        b"Z": "ReadyForQuery",
        b"c": "CopyDone",
        b"d": "CopyData",
        b"n": "NoData",
        b"s": "PortalSuspended",
        b"t": "ParameterDescription",
        b"v": "NegotiateProtocolVersion",
    },
}
# What comes before a client may send typed messages, by the code in it; any other code is a protocol's version.
_OPENINGS = {80877102: "CancelRequest", 80877103: "SSLRequest", 80877104: "GSSENCRequest"}
ENCRYPTION = frozenset({"SSLRequest", "GSSENCRequest"})
"""Questions for an encrypted connection, which the server answers with one byte."""

# The answers that end an extended question, and how the answer to each question begins.
_ENDS = {
    "ParseComplete": "Parse",
    "BindComplete": "Bind",
    "CloseComplete": "Close",
    "RowDescription": "Describe",
    "NoData": "Describe",
    "CommandComplete": "Execute",
    "EmptyQueryResponse": "Execute",
    "PortalSuspended": "Execute",
}
_ALSO = {"ParameterDescription": "Describe", "DataRow": "Execute"} | dict.fromkeys(
    ("CopyInResponse", "CopyOutResponse", "CopyBothResponse"), "Execute"
)
_BEGINS = _ENDS | _ALSO
_UNASKED = frozenset({"NoticeResponse", "NotificationResponse", "ParameterStatus"})
_WHOLE = frozenset({"Query", "FunctionCall", "StartupMessage", "Password"})
ANSWERED = frozenset(_BEGINS.values()) | _WHOLE | {"Sync"}
"""Messages of a client that have an answer of their own."""


@dataclass(frozen=True, slots=True)
class Message:
    """A type of message and who sends it, by its name in PostgreSQL's documentation."""

    direction: Direction
    kind: str

    def __post_init__(self) -> None:
        known = {*NAMES[self.direction].values()}
        if self.direction == "frontend":
            known |= {*_OPENINGS.values(), "StartupMessage"}
        if self.kind not in known:
            raise ValueError(f"no message of the {self.direction} is called {self.kind}")


class Splitter:
    """Takes a stream apart into messages, however its bytes arrive."""

    def __init__(self, direction: Direction) -> None:
        self._names = NAMES[direction]
        self._opening = direction == "frontend"
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Adds bytes to the stream."""
        self._buffer += chunk

    def next(self) -> tuple[str, bytes] | None:
        """The name and the bytes of the next message that is complete. `ValueError` if the stream has none."""
        tag = 0 if self._opening else 1
        if len(self._buffer) < tag + 4:
            return None
        length = int.from_bytes(self._buffer[tag : tag + 4], "big")
        if length < (8 if self._opening else 4):
            raise ValueError("this is not PostgreSQL's protocol")
        if len(self._buffer) < tag + length:
            return None
        data = bytes(self._buffer[: tag + length])
        del self._buffer[: tag + length]
        if not self._opening:
            return self._names.get(data[:1], "Unknown"), data
        kind = _OPENINGS.get(int.from_bytes(data[4:8], "big"), "StartupMessage")
        self._opening = kind in ENCRYPTION
        return kind, data


@dataclass(frozen=True, slots=True)
class Question:
    """A message that was sent: the round it belongs to, and how many of its type went before it in that round."""

    kind: str
    round: int
    index: int


class Rounds:
    """Tells which answers belong to which questions. A round ends with the server's ReadyForQuery.

    Round -1 is the opening of the connection. Exact however many rounds are sent ahead.
    """

    def __init__(self) -> None:
        self._asking, self._answering = 0, -1
        self._asked: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self._previous = ""
        self._open = False

    def asked(self, kind: str) -> Question:
        """Takes note of a message to the server."""
        if self._answering < 0:
            return Question(kind, -1, 0)
        question = Question(kind, self._asking, self._asked[kind])
        self._asked[kind] += 1
        self._open = self._open or kind != "Terminate"
        # The server passes over a Sync in front of what is copied in: the one after it is the one it answers.
        passed_over = kind == "Sync" and self._previous in {"CopyDone", "CopyFail"}
        if kind in {"Query", "FunctionCall"} or (kind == "Sync" and not passed_over):
            self._asking += 1
            self._asked.clear()
        self._previous = kind
        return question

    @property
    def settled(self) -> bool:
        """Whether everything that was asked has its answer."""
        return self._asking == self._answering and not self._asked

    def begins(self, kind: str, question: Question) -> bool:
        """Whether a message of the server, not yet taken note of, is where the answer to the question begins."""
        if question.round != self._answering or kind in _UNASKED:
            return False
        if kind in {"ErrorResponse", "ReadyForQuery"} or question.kind in _WHOLE:
            return True
        return _BEGINS.get(kind) == question.kind and self._answered[question.kind] == question.index

    def answered(self, kind: str) -> bool:
        """Takes note of a message of the server: whether it ends a round trip other than the opening."""
        if kind in _ENDS:
            self._answered[_ENDS[kind]] += 1
        if kind != "ReadyForQuery":
            return False
        waited, self._open = self._open, False
        self._answering += 1
        self._answered.clear()
        return waited
