"""The connections of a pooler: those of its clients, and those to the server, which the clients have by turns."""

import asyncio
import secrets
import struct
from typing import Any, Protocol

import psycopg

from txmemory.testing.wire import ENCRYPTION, Rounds, Splitter

LEFT_BEHIND = """
SELECT 'prepared ' || name FROM pg_prepared_statements
UNION ALL SELECT 'setting ' || name FROM pg_settings WHERE source = 'session'
UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
UNION ALL SELECT 'channel ' || channel FROM pg_listening_channels() AS channel
UNION ALL SELECT 'temporary ' || relname FROM pg_class WHERE relnamespace = pg_my_temp_schema()
UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE is_holdable
UNION ALL SELECT 'role ' || current_user WHERE current_user <> session_user
"""
"""What a server session keeps that outlives a transaction: nothing, of a client that may share it."""

_SPOKEN = {"client_encoding", "application_name"}
"""What a client may ask for in its startup; any other setting would be one of a session that it does not have."""


class Sharing(Protocol):
    """What connections need of their pooler, in its thread."""

    clients: "dict[bytes, Client]"
    parameters: dict[str, str]
    """What the server says of its sessions."""
    names: dict[str, str]
    """Whom and what clients have to ask for."""

    def wait_for_server(self, client: "Client") -> None:
        """Gives the client a server connection as soon as one is free."""

    def look_at(self, server: "Server") -> None:
        """Takes note of what a transaction that has ended has left behind."""

    def hand_back(self, server: "Server") -> None:
        """The connection is the next client's, as it is."""

    def lose(self, server: "Server") -> None:
        """Ends a server connection that nobody may have again, and makes another."""

    def forget(self, client: "Client") -> None:
        """The client is gone."""

    def cancel(self, key: bytes) -> None:
        """Cancels what the client with this key is having done, if anything."""


class Server(asyncio.Protocol):
    """A connection to the server: the driver's, while no client has it."""

    def __init__(self, pooler: Sharing, connection: psycopg.Connection[Any]) -> None:
        self._pooler, self.connection = pooler, connection
        self.client: Client | None = None
        self.used_by = b""
        self._closed = False
        self._splitter = Splitter("backend")

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.Transport = transport

    def data_received(self, data: bytes) -> None:
        self._splitter.feed(data)
        while (client := self.client) is not None and (found := self._splitter.next()) is not None:
            kind, message = found
            client.rounds.answered(kind)
            ends = kind == "ReadyForQuery" and message.endswith(b"I") and client.rounds.settled
            if ends:  # looked at before the client goes on, so that it finds what was seen
                self._pooler.look_at(self)
            client.transport.write(message)
            if ends:
                self.client = client.server = None
                self._pooler.hand_back(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closed:
            return
        if self.client is not None:
            self.client.server = None
            self.client.refuse("the server connection was lost")
        self._pooler.lose(self)

    def look(self) -> set[str]:
        """What the session keeps."""
        while True:
            try:
                return {found for (found,) in self.connection.execute(LEFT_BEHIND).fetchall()}
            except psycopg.errors.QueryCanceled:
                pass  # asked for by the client before, and too late

    def close(self) -> None:
        """Ends it for whoever has it."""
        self._closed = True
        self.connection.close()
        self.transport.abort()


class Client(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, pooler: Sharing) -> None:
        self._pooler = pooler
        self.server: Server | None = None
        self.key = secrets.token_bytes(8)
        self.rounds = Rounds()
        self._splitter = Splitter("frontend")
        self._unsent: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.Transport = transport
        self._pooler.clients[self.key] = self

    def data_received(self, data: bytes) -> None:
        self._splitter.feed(data)
        while not self.transport.is_closing() and (found := self._splitter.next()) is not None:
            self._received(*found)
        if self.server is not None:
            self.send_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pooler.forget(self)

    def _received(self, kind: str, message: bytes) -> None:
        if kind in ENCRYPTION:
            self.transport.write(b"N")
        elif kind == "StartupMessage":
            self._greet(message)
        elif kind in {"CancelRequest", "Terminate"}:
            if kind == "CancelRequest":
                self._pooler.cancel(message[8:16])
            self.transport.close()
        else:
            self.rounds.asked(kind)
            if not self._unsent and self.server is None:
                self._unsent.append(message)
                self._pooler.wait_for_server(self)
            else:
                self._unsent.append(message)

    def send_on(self) -> None:
        """Passes on to the server what has come."""
        assert self.server is not None
        self.server.transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _greet(self, message: bytes) -> None:
        words = message[8:-2].decode().split("\0")
        asked = dict(zip(words[::2], words[1::2], strict=True))
        if any(asked.pop(name, None) != value for name, value in self._pooler.names.items()):
            self.refuse("no such user or database")
        elif asked.keys() - _SPOKEN or asked.get("client_encoding", "UTF8") != "UTF8":
            self.refuse("unsupported startup parameter")
        else:
            reported = [
                _message(b"S", f"{name}\0{value}\0".encode())
                for name, value in self._pooler.parameters.items()
            ]
            opened = (_message(b"R", bytes(4)), *reported, _message(b"K", self.key), _message(b"Z", b"I"))
            self.transport.write(b"".join(opened))
            self.rounds.answered("ReadyForQuery")

    def refuse(self, why: str) -> None:
        """Says so as a server does that ends the session, and ends it."""
        self.transport.write(_message(b"E", f"SFATAL\0VFATAL\0C08P01\0M{why}\0\0".encode()))
        self.transport.close()


def _message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack("!I", len(body) + 4) + body
