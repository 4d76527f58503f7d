"""The one writer of a store: it commits what is waiting together.

SQLite lets one writer at a time and has no queue; a thread that serves all callers of its process makes one, and an
fsync that is shared. A caller is answered only after the commit that made its own durable. Where nobody writes and
nobody waits, a caller that blocks anyway does the work itself: the hand-over would take longer than the work.
"""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from txmemory.backends.lifetime import hold, let_go
from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sqlite.connecting import (
    Place,
    ask_in_turns,
    fault_of,
    fault_of_commit,
    fetched,
    take_write_lock,
    translated,
)
from txmemory.backends.sqlite.reading import Rows
from txmemory.backends.sqlite.tables import SqliteTables
from txmemory.model.commit import Reported, Transaction
from txmemory.port import Closed, Fault, Lost

TOGETHER = 256
"""Commits that share one durable commit at the most."""


class Waiting(Protocol):
    """A commit whose caller waits."""

    commit: Transaction
    ends: float
    """When its caller gives up, by the monotonic clock."""

    def claim(self) -> bool:
        """True once: for the writer that begins it, or for the caller that gives it up."""
        ...

    def answer(self, reply: Reported) -> None:
        """Wakes the caller with what was met."""
        ...

    def fail(self, error: BaseException) -> None:
        """Wakes the caller with an exception."""
        ...


class _Failed(Exception):
    """A durable commit that was not made; `cause` is what its callers are to know."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class _NotBegun(_Failed):
    """The write lock was not to be had."""


class _Broken(_Failed):
    """One commit of a batch could not be carried out; the batch is undone."""


def _for_one(error: BaseException) -> BaseException:
    """A fault of its own for each caller: what is raised in a thread grows that thread's trace."""
    return type(error)(error.code) if isinstance(error, Fault) else error


class Writer:
    """Runs commits over one connection: on its own thread in the order of arrival, or at once on a caller's."""

    def __init__(
        self,
        place: Place,
        connection: sqlite3.Connection,
        check: Callable[[sqlite3.Connection], None],
        statements: GuardStatements[str],
        clock: Callable[[], int],
    ) -> None:
        self.between = threading.Lock()
        """Held while a transaction is open."""
        self.place = place
        self._check = check
        self._statements = statements
        self._clock = clock
        self._locked_at: int | None = None
        """The clock as it was first read in the last transaction: what is older was committed before that began."""
        self._first_reading = True
        self._identity = place.identity()
        self._held: object = self._identity or self  # a database in memory is nobody else's
        hold(self._held)
        self._connection: sqlite3.Connection | None = connection
        ask_in_turns(connection)
        self._tables = SqliteTables(connection, statements, self._now)
        self._turn = 0
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._accepting = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="txmemory-writer", daemon=True)
        self._thread.start()

    def submit(self, waiting: Waiting) -> None:
        """Puts a commit in the queue."""
        with self._accepting:
            if self._closed:
                raise Closed("the store is closed")
            self._waiting.put(waiting)

    def at_once(self, commit: Transaction) -> Reported | None:
        """What the commit met, done here and now; None where others write or wait: it has to be submitted.

        A replay by the newest token writes nothing here either: the guard finds the fence standing and the key there.
        """
        if self.between.locked() or not self._waiting.empty():
            return None
        turn = self._turn
        with self.between:
            if self._closed:
                raise Closed("the store is closed")
            if turn != self._turn:
                return None  # another was quicker, and may have been long
            self._turn += 1
            try:
                return self._transact(self._usable(), [commit], 0.0)[0]
            except _NotBegun:
                return None  # another process writes, or nobody may
            except _Broken as broken:
                cause = broken.cause
        raise cause

    def fetch(self, statement: str, values: Mapping[str, object], /, *, doubting: bool = False) -> Rows:
        """All rows of one statement over the writer's connection, never inside a transaction."""
        with self.between:
            if self._closed:
                raise Closed("the store is closed")
            with translated():
                return fetched(self._usable(), statement, values, doubting=doubting)

    def settled(self, at: int) -> bool:
        """Whether all that is as old as that is committed: since then the write lock was held here, or it is free.

        It waits for nobody. Where others write just now and nothing is known of a later moment, that is a no.
        """
        if at >= self._clock():
            return False
        known = self._locked_at if self.place.identity() == self._identity else None
        return (known is not None and at < known) or self._is_free()

    def _is_free(self) -> bool:
        if not self.between.acquire(blocking=False):
            return False
        try:
            if self._closed:
                raise Closed("the store is closed")
            connection = self._usable()
            try:
                take_write_lock(connection, 0.0)
            except sqlite3.Error:
                return False
            try:
                self._first_reading = True
                self._now()
            finally:
                self._undo(connection)
        finally:
            self.between.release()
        return True

    def _now(self) -> int:
        """The clock, which is read under the write lock alone."""
        now = self._clock()
        if self._first_reading or self._locked_at is None or now < self._locked_at:
            self._locked_at = now
        self._first_reading = False
        return now

    def stop(self) -> None:
        """Takes no more; the thread and the connection end with what was submitted."""
        with self._accepting:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)

    def close(self) -> None:
        """Stops, and waits until that is done."""
        self.stop()
        self._thread.join()

    def _serve(self) -> None:
        last = False
        while not last:
            batch: list[Waiting] = []
            waiting = self._waiting.get()
            while waiting is not None:
                if waiting.claim():
                    batch.append(waiting)
                if len(batch) == TOGETHER:
                    break
                try:
                    waiting = self._waiting.get_nowait()
                except queue.Empty:
                    break
            last = waiting is None
            if batch:
                self._write(batch)
        with self.between:
            if self._connection is not None:
                self._connection.close()
        let_go(self._held)

    def _write(self, batch: Sequence[Waiting]) -> None:
        ends = min(waiting.ends for waiting in batch)
        try:
            with self.between:
                commits = [waiting.commit for waiting in batch]
                replies = self._transact(self._usable(), commits, ends - time.monotonic())
        except _Broken as broken:  # nothing of the batch was made: let each meet its own fate
            if len(batch) == 1:
                batch[0].fail(broken.cause)
            else:
                for waiting in batch:
                    self._write([waiting])
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is the callers' to know
            for waiting in batch:
                waiting.fail(_for_one(error.cause if isinstance(error, _NotBegun) else error))
        else:
            for waiting, reply in zip(batch, replies, strict=True):
                waiting.answer(reply)

    def _transact(
        self, connection: sqlite3.Connection, commits: Sequence[Transaction], patience: float
    ) -> list[Reported]:
        """Runs the commits in one durable one, all or nothing, whatever interrupts it."""
        try:
            try:
                self.begin(connection, patience)
            except sqlite3.Error as error:
                raise _NotBegun(fault_of(error)) from None
            self._first_reading = True
            changes = connection.total_changes
            replies = self._carried_out(commits)
            if connection.total_changes > changes:
                self._make_durable(connection)
            else:
                self._undo(connection)  # replays and refusals leave nothing that a commit could lose
        except BaseException:
            self._undo(connection)
            raise
        return replies

    def _carried_out(self, commits: Sequence[Transaction]) -> list[Reported]:
        try:
            return [self._tables.carried_out(commit) for commit in commits]
        except sqlite3.Error as error:
            raise _Broken(fault_of(error)) from None
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the caller's to know
            raise _Broken(error) from None

    def begin(self, connection: sqlite3.Connection, patience: float) -> None:
        """Takes the file's write lock, waiting for it as long as that."""
        take_write_lock(connection, patience)

    def commit(self, connection: sqlite3.Connection) -> None:
        """Makes the transaction durable."""
        connection.execute("COMMIT")

    def _make_durable(self, connection: sqlite3.Connection) -> None:
        try:
            self.commit(connection)
        except sqlite3.Error as error:
            fault = fault_of_commit(error)
            if isinstance(fault, Lost):
                self._undo(connection)
                self._drop()  # what reached the disk is not known, and neither is what this connection believes
            raise fault from None

    def _undo(self, connection: sqlite3.Connection) -> None:
        """Rolls back, unless the engine already has: a blind ROLLBACK would mask the cause."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()

    def _drop(self) -> None:
        if self.place.path is not None and self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _usable(self) -> sqlite3.Connection:
        """The connection, if its file still stands at its path; else a new one, if what stands there is a store."""
        identity = self.place.identity()
        if self._connection is not None and self._connection.in_transaction:
            self._undo(self._connection)  # an undo was interrupted
        if self._connection is None or identity != self._identity:
            self._drop()
            with translated():
                connection = self.place.connect()
                try:
                    self._check(connection)
                    ask_in_turns(connection)
                    tables = SqliteTables(connection, self._statements, self._now)
                except BaseException:
                    connection.close()
                    raise
            self._tables, self._identity, self._locked_at = tables, identity, None
            self._connection = connection  # last: an interrupt before it leaves a writer that connects anew
        return self._connection
