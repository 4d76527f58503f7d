"""A transaction-pooling proxy in front of PostgreSQL: many clients share a few connections to the server.

From the first message of a transaction to its end a client has a server connection for itself; then the next client
has it, as it was left: nothing is reset. What the transactions have left behind is looked for after each of them.
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from psycopg.conninfo import make_conninfo

from txmemory.testing.pooled import Client, Server

_REPORTED = (
    *("server_version", "server_encoding", "client_encoding", "application_name", "is_superuser"),
    *("session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes"),
    *("standard_conforming_strings", "default_transaction_read_only", "in_hot_standby", "search_path"),
)
_PATIENCE = 30


class Pooler:
    """Runs on a thread and an event loop of its own, on a loopback port, and is gone with this process.

    It lets everybody in, and is to the server who the URL says.
    """

    def __init__(self, url: str, servers: int = 2) -> None:
        self._conninfo = make_conninfo(
            url, sslmode="disable", gssencmode="disable", connect_timeout=_PATIENCE
        )
        self._size = servers
        self._servers: set[Server] = set()
        self._making: set[asyncio.Task[None]] = set()
        self._idle: deque[Server] = deque()
        self._waiting: deque[Client] = deque()
        self.clients: dict[bytes, Client] = {}
        """Those that are there, by the key with which they may cancel what they ask."""
        self.left_behind: set[str] = set()
        """What transactions have left behind on server connections so far."""
        self.transactions = 0
        """How many have ended."""
        self.pids: set[int] = set()
        """The server's processes behind all connections that were made to it."""
        self.handed_on = 0
        """How many of them began on a server connection that another client had used last."""
        started: Future[int] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(started)), name="pooler", daemon=True
        )
        self._thread.start()
        self.port: int = started.result(_PATIENCE)
        """The port on 127.0.0.1 to connect to instead of the server's."""

    @classmethod
    @contextmanager
    def started(cls, url: str, servers: int = 2) -> Iterator[Self]:
        """A pooler with so many connections to the database of the URL."""
        pooler = cls(url, servers)
        try:
            yield pooler
        finally:
            pooler.close()

    def close(self) -> None:
        """Ends every connection and the pooler with them."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    async def _run(self, started: "Future[int]") -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            for _ in range(self._size):
                await self._connect()
            listening = await self._loop.create_server(lambda: Client(self), "127.0.0.1", 0)
        except BaseException as error:  # noqa: BLE001 - whoever has started it is told
            started.set_exception(error)
            return
        started.set_result(listening.sockets[0].getsockname()[1])
        await self._ended.wait()
        listening.close()
        for client in tuple(self.clients.values()):
            client.transport.abort()
        await asyncio.gather(*self._making, return_exceptions=True)
        for server in tuple(self._servers):
            server.close()
        await asyncio.sleep(0)  # the ends of connections are told in the next round of the loop

    # What follows runs in the pooler's thread.

    async def _connect(self) -> None:
        connection = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        info = connection.info
        self.parameters = {name: value for name in _REPORTED if (value := info.parameter_status(name))}
        self.names = {"user": info.user, "database": info.dbname}
        self.pids.add(info.backend_pid)
        self._servers.add(server := Server(self, connection))
        # A socket of the driver's connection: that itself is asked between two transactions only.
        await self._loop.create_connection(lambda: server, sock=socket.socket(fileno=_copy(connection)))
        self._idle.append(server)
        self._assign()

    def wait_for_server(self, client: Client) -> None:
        """Gives the client a server connection as soon as one is free."""
        self._waiting.append(client)
        self._assign()

    def _assign(self) -> None:
        while self._idle and self._waiting:
            client, server = self._waiting.popleft(), self._idle.popleft()
            if server.used_by not in {b"", client.key}:
                self.handed_on += 1
            server.used_by, server.client, client.server = client.key, client, server
            client.send_on()

    def look_at(self, server: Server) -> None:
        """Takes note of what a transaction that has ended has left behind."""
        self.left_behind |= server.look()
        self.transactions += 1

    def hand_back(self, server: Server) -> None:
        """The connection is the next client's, as it is."""
        self._idle.append(server)  # behind all others, so that a client rarely has the same again
        self._assign()

    def lose(self, server: Server) -> None:
        """Ends a server connection that nobody may have again, and makes another."""
        if server in self._idle:
            self._idle.remove(server)
        self._servers.remove(server)
        server.close()
        if not self._ended.is_set():
            self._making.add(making := self._loop.create_task(self._connect()))
            making.add_done_callback(self._making.discard)

    def forget(self, client: Client) -> None:
        """The client is gone; what it had begun ends with its server connection."""
        self.clients.pop(client.key, None)
        if client in self._waiting:
            self._waiting.remove(client)
        if (server := client.server) is not None:
            client.server = server.client = None
            self.lose(server)

    def cancel(self, key: bytes) -> None:
        """Cancels what the client with this key is having done, if anything. No other client can have it yet."""
        client = self.clients.get(key)
        if client is not None and client.server is not None:
            client.server.connection.cancel_safe(timeout=_PATIENCE)


def _copy(connection: psycopg.Connection[Any]) -> int:
    with socket.socket(fileno=connection.fileno()) as held:
        copy = held.dup()
        held.detach()
        return copy.detach()
