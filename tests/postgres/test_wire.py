"""A stream of bytes is the same messages however it arrives, and a fault is about a message that somebody sends."""

import struct

import pytest

from txmemory.testing.faults import Cut, Planned
from txmemory.testing.wire import Direction, Message, Splitter

STREAM = b"".join(
    (
        struct.pack("!ii", 8, 80877103),
        struct.pack("!ii", 13, 3 << 16) + b"user\0",
        b"Q" + struct.pack("!i", 13) + b"SELECT 1\0",
        b"S" + struct.pack("!i", 4),
        b"!" + struct.pack("!i", 5) + b"?",
        b"X" + struct.pack("!i", 4),
    )
)
KINDS = ["SSLRequest", "StartupMessage", "Query", "Sync", "Unknown", "Terminate"]


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_a_stream_is_the_same_messages_in_pieces_of_any_size(size: int) -> None:
    splitter = Splitter("frontend")
    found: list[tuple[str, bytes]] = []
    for start in range(0, len(STREAM), size):
        splitter.feed(STREAM[start : start + size])
        while (message := splitter.next()) is not None:
            found.append(message)
    assert [kind for kind, _ in found] == KINDS
    assert b"".join(data for _, data in found) == STREAM


@pytest.mark.parametrize("direction", ["frontend", "backend"])
def test_bytes_of_another_protocol_are_refused(direction: Direction) -> None:
    splitter = Splitter(direction)
    splitter.feed(b"\0\0\0\0\0\0\0\0")
    with pytest.raises(ValueError, match="protocol"):
        splitter.next()


@pytest.mark.parametrize(("direction", "kind"), [("frontend", "DataRow"), ("backend", "Execute")])
def test_a_message_that_nobody_sends_is_refused(direction: Direction, kind: str) -> None:
    with pytest.raises(ValueError, match=kind):
        Message(direction, kind)


@pytest.mark.parametrize(
    "on",
    [Message("backend", "ReadyForQuery"), Message("frontend", "Terminate"), Message("frontend", "Flush")],
    ids=lambda on: on.kind,
)
def test_a_reply_to_what_has_none_is_refused(on: Message) -> None:
    with pytest.raises(ValueError, match=on.kind):
        Planned(Cut(on, "reply"))
