"""Reads of committed rows: each is fetched whole, so that no reader holds the write-ahead log."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from txmemory.backends.sqlite.connecting import Identity, Place, fetched, translated

Rows = list[tuple[Any, ...]]
IDLE_READERS = 8


class Readers:
    """Connections for reading a file: one is taken for each statement and laid back, so any thread may read."""

    def __init__(self, place: Place, check: Callable[[sqlite3.Connection], None]) -> None:
        self._place = place
        self._check = check
        self._idle: list[tuple[Identity, sqlite3.Connection]] = []
        self._closed = False

    def __call__(self, statement: str, values: Mapping[str, object], /, *, doubting: bool = False) -> Rows:
        """All rows of one statement, as of one moment."""
        identity = self._place.identity()
        with translated():
            connection = self._connection(identity)
            try:
                rows = fetched(connection, statement, values, doubting=doubting)
            except BaseException:
                connection.close()
                raise
        self._idle.append((identity, connection))
        if self._closed:
            self.close()
        elif len(self._idle) > IDLE_READERS:
            with suppress(IndexError):
                self._idle.pop()[1].close()
        return rows

    def _connection(self, identity: Identity) -> sqlite3.Connection:
        """One to the file that stands at the path now."""
        with suppress(IndexError):
            while True:
                known, connection = self._idle.pop()
                if known == identity:
                    return connection
                connection.close()
        connection = self._place.connect()
        try:
            self._check(connection)
            connection.execute("PRAGMA query_only=1")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Closes what is idle, and each that is in use when its read ends."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop()[1].close()
