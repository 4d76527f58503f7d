"""Connections to one SQLite file, and what the engine's errors mean.

No code here or elsewhere asks for a checkpoint: SQLite before 3.51.3 can corrupt a file whose processes do so
themselves, and its automatic checkpoints, which run under the write lock, keep the write-ahead log bounded.
"""

import os
import random
import sqlite3
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import quote

from txmemory.port import Busy, CannotOpen, Corrupted, Down, Lost

SYNCHRONOUS = ("FULL", "NORMAL", "EXTRA")
MINIMUM = (3, 35, 0)
CACHE = 32_768
"""KiB of pages that a connection keeps at the most. In a large namespace each memory of an entity lies on pages of
its own, half a dozen from the roots of two trees down, and each that is not kept costs a system call."""
PAUSE = 0.01
"""Seconds between two questions for the write lock, at the most."""

_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT")
_CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH")
"""Damaged, or with other tables than its schema version says: our statements meet no error and break no rule."""


def code_of(error: sqlite3.Error) -> str:
    """The engine's own name of an error, which holds nothing of a caller's."""
    return getattr(error, "sqlite_errorname", None) or type(error).__name__


def fault_of(error: sqlite3.Error) -> Exception:
    """What an error of the engine means to a caller, without the engine's text, which may quote rows."""
    code = code_of(error)
    if isinstance(error, sqlite3.ProgrammingError):
        return error  # ours, not the engine's: it speaks of statements and bindings alone
    if _is_no_text(error):
        return Corrupted("NO_TEXT")
    if code.startswith(_BUSY):
        return Busy(code)
    if code.startswith(_CORRUPT):
        return Corrupted(code)
    return Down(code)


def _is_no_text(error: sqlite3.Error) -> bool:
    """Whether a text was read that is no UTF-8, which the driver says by itself, without a code of the engine."""
    return type(error) is sqlite3.OperationalError and getattr(error, "sqlite_errorname", None) is None


def fetched(
    connection: sqlite3.Connection | sqlite3.Cursor,
    statement: str,
    values: Mapping[str, object],
    *,
    doubting: bool = False,
) -> list[tuple[Any, ...]]:
    """All rows that a statement reads. Text that is no UTF-8 is an error, or if it is doubted, bytes."""
    try:
        return connection.execute(statement, values).fetchall()
    except sqlite3.OperationalError as error:
        if not (doubting and _is_no_text(error)):
            raise
    owner = connection.connection if isinstance(connection, sqlite3.Cursor) else connection
    owner.text_factory = _text_or_bytes
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        owner.text_factory = str


def _text_or_bytes(stored: bytes) -> str | bytes:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def fault_of_commit(error: sqlite3.Error) -> Exception:
    """What an error of COMMIT means: but for a lock or a full disk, what reached the disk is not known."""
    code = code_of(error)
    return fault_of(error) if code.startswith(("SQLITE_BUSY", "SQLITE_FULL")) else Lost(code)


class _Translating:
    """A class, since a generator would cost more than many a statement that it surrounds."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise fault_of(error) from None


_TRANSLATING = _Translating()


def translated() -> AbstractContextManager[None]:
    """Raises the engine's errors as faults, their chain cut."""
    return _TRANSLATING


Identity = tuple[int, int] | None
"""Device and number of a file; None for a database in memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """A SQLite database: a file's absolute path or None for memory; how durable; seconds to wait for a lock."""

    path: str | None = field(repr=False)
    synchronous: str
    patience: float

    def connect(self, *, create: bool = False) -> sqlite3.Connection:
        """A connection in autocommit mode. Without `create` a missing file is an error, not a new store."""
        if self.path is None:
            connection = self._connected(":memory:")
        else:
            mode = "rwc" if create else "rw"
            connection = self._connected(f"file:{quote(self.path)}?mode={mode}")
        try:
            connection.execute(f"PRAGMA synchronous={self.synchronous}")
            connection.execute(f"PRAGMA cache_size={-CACHE}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _connected(self, name: str) -> sqlite3.Connection:
        return sqlite3.connect(
            name,
            uri=True,
            timeout=self.patience,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )

    def identity(self) -> Identity:
        """Which file stands at the path now; `Down` where none does.

        SQLite itself goes on with a file that was removed or replaced, and nobody would ever read it again.
        """
        if self.path is None:
            return None
        try:
            found = os.stat(self.path)  # noqa: PTH116  # asked for every commit
        except OSError:
            raise Down("FILE_REMOVED") from None
        return found.st_dev, found.st_ino


def ask_in_turns(connection: sqlite3.Connection) -> None:
    """Prepares a connection for `take_write_lock`: the engine answers at once whether the lock is free."""
    connection.execute("PRAGMA busy_timeout=0")


def take_write_lock(connection: sqlite3.Connection, patience: float) -> None:
    """Begins a transaction that writes, once nobody else does; without patience it is tried once.

    The engine's own waiting asks ever more seldom, down to ten times a second, and beside busier processes that is
    too seldom to get the lock in many seconds: the pauses here are random and never longer than 10 milliseconds.
    """
    ends = 0.0
    longest = 0.0005
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            ends = ends or time.monotonic() + patience
            remaining = ends - time.monotonic()
            if not code_of(error).startswith(_BUSY) or patience <= 0 or remaining <= 0:
                raise
            time.sleep(min(random.uniform(0, longest), remaining))
            longest = min(2 * longest, PAUSE)


def use_write_ahead_log(connection: sqlite3.Connection, patience: float) -> None:
    """Switches the file to write-ahead logging and verifies it.

    The switch does not wait for others by itself (the busy handler is not asked), so it is tried again here.
    """
    ends = time.monotonic() + patience
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not code_of(error).startswith(_BUSY) or time.monotonic() > ends:
                raise
            time.sleep(random.uniform(0.001, 0.02))
        else:
            if mode not in ("wal", "memory"):
                raise CannotOpen("the file system does not support write-ahead logging")
            return
