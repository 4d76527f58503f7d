"""The SQLite backend: commits go through the one writer, reads over connections of their own."""

import asyncio
import math
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.sql import narrowing
from txmemory.backends.sql.replaying import replayed
from txmemory.backends.sqlite.dialect import guard_statements, read_statements
from txmemory.backends.sqlite.holding import writers_of
from txmemory.backends.sqlite.joining import AsyncJoinedSqlite, JoinedSqlite
from txmemory.backends.sqlite.reading import Readers
from txmemory.backends.sqlite.writer import Writer
from txmemory.model.commit import Commit, RemoveWhere, Reply, Reported, Transaction
from txmemory.model.query import Page, Query, Settled
from txmemory.model.verifying import Intact
from txmemory.port import Busy, Closed

Row = TypeVar("Row")
Answer = TypeVar("Answer")
READING_THREADS = 4


class _Blocked:
    """A commit whose caller blocks on a lock, the cheapest thing that a thread can wait for."""

    __slots__ = ("_claim", "_done", "_error", "_reply", "commit", "ends")

    def __init__(self, commit: Transaction, ends: float) -> None:
        self.commit = commit
        self.ends = ends
        self._claim = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()
        self._reply: Reported | None = None
        self._error: BaseException | None = None

    def claim(self) -> bool:
        return self._claim.acquire(blocking=False)

    def answer(self, reply: Reported) -> None:
        self._reply = reply
        self._done.release()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._done.release()

    def wait(self) -> Reported:
        """What was met. Late or interrupted, a commit that the writer has not begun is given up, untouched."""
        try:
            in_time = self._done.acquire(timeout=max(0.0, self.ends - time.monotonic()))
        except BaseException:
            self.claim()
            raise
        if not in_time:
            if self.claim():
                raise Busy("DEADLINE")
            self._done.acquire()
        if self._error is not None:
            raise self._error
        assert self._reply is not None, "answered or failed"
        return self._reply


class _Awaited:
    """A commit whose caller awaits a future of an event loop."""

    def __init__(self, commit: Transaction, ends: float) -> None:
        self.commit = commit
        self.ends = ends
        self._claim = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Reported] = self._loop.create_future()

    def claim(self) -> bool:
        return self._claim.acquire(blocking=False)

    def answer(self, reply: Reported) -> None:
        self._wake(self.future.set_result, reply)

    def fail(self, error: BaseException) -> None:
        self._wake(self.future.set_exception, error)

    def _wake(self, settle: Callable[[Answer], object], answer: Answer) -> None:
        def wake() -> None:
            if not self.future.done():
                settle(answer)

        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(wake)

    async def wait(self) -> Reported:
        """What was met. Cancelled or late, a commit that the writer has not begun is given up, untouched."""
        try:
            await asyncio.wait([self.future], timeout=max(0.0, self.ends - time.monotonic()))
        except asyncio.CancelledError:
            self.claim()
            self.future.cancel()
            raise
        if not self.future.done() and self.claim():
            raise Busy("DEADLINE")
        return await self.future


class Sqlite:
    """An open SQLite store."""

    def __init__(self, writer: Writer, readers: Readers | None, clock: Callable[[], int]) -> None:
        self.lifetime = Lifetime()
        self.writer = writer
        self._readers = readers
        self._fetch = readers or writer.fetch  # a database in memory has one connection
        # A store that nobody closed leaves no thread behind.
        weakref.finalize(self, _stop, writer, self.lifetime)
        self._clock = clock

    def replayed(self, commit: Commit) -> Reply | None:
        """What is recorded, where that can be told without a lock."""
        return replayed(guard_statements(), self._fetch, commit)

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Does the commit at once; where others write a replay is read, all else handed to the writer's thread."""
        self.lifetime.check()
        ends = time.monotonic() + deadline
        _spell(commit)
        reply = self.writer.at_once(commit)
        if reply is not None:
            return reply
        known = self.replayed(commit) if isinstance(commit, Commit) else None
        if known is not None:
            return known
        waiting = _Blocked(commit, ends)
        self.writer.submit(waiting)
        try:
            return waiting.wait()
        except Busy as busy:
            raise self.told(busy) from None

    def told(self, busy: Busy) -> Busy:
        """The same, and who holds the file."""
        return Busy(busy.code, raced=busy.raced, held_by=writers_of(self.writer.place.path))

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from committed rows."""
        self.lifetime.check()
        if isinstance(query, Settled):
            settled: Page[Any] = Page((self.writer.settled(query.at),))
            return settled
        asked = read_statements().asked(query, self._clock)
        page: Page[Any] = asked.page(
            [self._fetch(asked.statement, each, doubting=asked.doubting) for each in asked.bindings]
        )
        return page

    def joined(self, connection: object) -> JoinedSqlite:
        """A backend inside the transaction of a connection to the same file."""
        self.lifetime.check()
        return JoinedSqlite(self.writer.place, connection, self._clock)

    def close(self) -> None:
        """Finishes what was submitted. In a forked child it only refuses later calls: nothing here is its own."""
        inherited = self.lifetime.inherited
        self.lifetime.close()
        if not inherited:
            self.writer.close()
            if self._readers is not None:
                self._readers.close()


def _spell(commit: Transaction) -> None:
    """Spells what a removal by condition runs, before the transaction: the condition's shape is the caller's."""
    if isinstance(commit, Commit) and commit.presenter is None:
        for entry in commit.entries:
            for change in entry.changes:
                if isinstance(change, RemoveWhere):
                    guard_statements().matching(narrowing.shape(change.condition))


def _stop(writer: Writer, lifetime: Lifetime) -> None:
    if (
        not lifetime.inherited
    ):  # in a forked child there is no such thread, and its locks may be held for ever
        writer.stop()


class AsyncSqlite:
    """The same for callers that await: the same writer, a few threads for reads, no second driver.

    The look that answers replays has a thread of its own, so that writes do not queue behind reads.
    """

    def __init__(self, backend: Sqlite) -> None:
        self._backend = backend
        self._readers = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="txmemory-reader")
        self._looks = ThreadPoolExecutor(1, thread_name_prefix="txmemory-look")
        self._closing: asyncio.Future[None] | None = None

    async def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Answers a replay from a read; else hands the commit to the writer and awaits it."""
        self._backend.lifetime.check()
        ends = time.monotonic() + deadline
        if isinstance(commit, Commit) and commit.presenter is not None:
            known = await _on(self._looks, lambda: self._backend.replayed(commit), ends)
            if known is not None:
                return known
        _spell(commit)
        waiting = _Awaited(commit, ends)
        self._backend.writer.submit(waiting)
        try:
            return await waiting.wait()
        except Busy as busy:
            raise self._backend.told(busy) from None

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers from committed rows, on a thread."""
        self._backend.lifetime.check()
        whole = isinstance(
            query, Intact
        )  # of a large file it takes as long as reading it does, which nobody waits for
        ends = math.inf if whole else time.monotonic() + deadline
        return await _on(self._readers, lambda: self._backend.read(query, deadline), ends)

    def joined(self, connection: object) -> AsyncJoinedSqlite:
        """The same, on the thread of the caller, whose connection it is."""
        return AsyncJoinedSqlite(self._backend.joined(connection))

    async def close(self) -> None:
        """Refuses every later call at once, and waits until what was submitted is finished, cancelled or not."""
        inherited = self._backend.lifetime.inherited
        self._backend.lifetime.close()
        if inherited:
            return
        self._backend.writer.stop()
        if self._closing is None:
            self._closing = asyncio.get_running_loop().run_in_executor(self._looks, self._backend.close)
            self._looks.shutdown(wait=False)
            self._readers.shutdown(wait=False)
        await asyncio.shield(self._closing)


async def _on(threads: ThreadPoolExecutor, call: Callable[[], Answer], ends: float) -> Answer:
    """What the call answers on one of these threads; `Busy` when none had it done in time."""
    try:
        answer = asyncio.get_running_loop().run_in_executor(threads, call)
    except RuntimeError:
        raise Closed("the store is closed") from None
    try:
        await asyncio.wait([answer], timeout=max(0.0, ends - time.monotonic()))
        if not answer.done():
            raise Busy("DEADLINE")
    except BaseException:
        answer.cancel()
        raise
    return answer.result()
