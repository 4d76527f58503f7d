"""The open store: handles on tenants and namespaces, plain calls."""

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from returns.result import Failure, Result, Success

from txmemory.drive import run_async
from txmemory.flow import writing
from txmemory.flow.requests import Flow
from txmemory.memories.bounds import Bounds
from txmemory.memories.filter import Filter, condition_of
from txmemory.memories.translate import put_of
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Address, Presenter, checked_id
from txmemory.model.outcome import Outcome
from txmemory.model.refusal import FenceRequired, Refusal
from txmemory.port import AsyncBackend
from txmemory.rules.settling import PlainRefusal, StoreRefusal, UpdateRefusal
from txmemory.store.aio.checking import AsyncChecking
from txmemory.store.aio.reads import AsyncReads
from txmemory.store.aio.scopes import AsyncScopes
from txmemory.store.aio.writer import AsyncWriter
from txmemory.store.core import Handle

_ALL = Filter.all()
Value = TypeVar("Value")
AnyRefusal = TypeVar("AnyRefusal", bound=Refusal)


class AsyncStore(AsyncReads, AsyncScopes, AsyncChecking):
    """An open store, standing in one namespace of one tenant. Made by `txmemory.open_async`; safe to share.

    Handles made by `tenant` and `within` share the backend; closing one closes it for all.
    """

    _handle: Handle[AsyncBackend]

    def __init__(self, handle: Handle[AsyncBackend]) -> None:
        super().__init__(handle)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the store for all its handles; a call after it raises `Closed`. Closing twice is fine."""
        await self._handle.backend.close()

    def tenant(self, name: str) -> "AsyncStore":
        """The same place in another tenant: nothing is shared between tenants. 1 to 128 bytes."""
        return AsyncStore(self._handle.of_tenant(name))

    def within(self, *parts: str, bounds: Bounds | None = None) -> "AsyncStore":
        """The namespace below this one, such as `within("users", "ada")`; `bounds` holds for writes through it."""
        return AsyncStore(self._handle.within(parts, bounds))

    def joined(self, connection: object) -> "AsyncStore":
        """The same handle inside the transaction of a connection of yours: your writes and its own commit together.

        `connection` is a `psycopg.AsyncConnection` to this store's database, or a `sqlite3.Connection` to its file,
        on the thread that it belongs to; for a portable store it is an `AsyncConnection` of SQLAlchemy. Begin a
        transaction first (psycopg without autocommit has done so). What this handle writes and reads, it does in that
        transaction; you commit or roll back, and closing the handle closes nothing of yours. A connection that cannot
        be joined is a `TypeError` or a `ValueError`, here or at the first call, before anything is written.

        **What it answers holds only once your COMMIT has succeeded.** Rolled back, nothing remains, neither the key
        nor the raised token; what `applied` proved ends with it.

        **After `Contended` or `Unavailable`, and after an exception, roll back.** Nothing was stored and nothing is
        tried again. PostgreSQL has aborted the transaction by then (on a portable store a savepoint undid the call),
        **and answers its COMMIT with a ROLLBACK and without an error**; SQLite may have rolled it back. A savepoint
        of yours around the call is enough to go on. Any other refusal leaves the transaction as it was, to commit or
        to roll back.

        **Call it last.** It locks the scope (on SQLite the file) until the transaction ends: whoever else wants it
        waits, and a call on the store itself from the same thread waits for its whole deadline. PostgreSQL ends
        a transaction that stays idle for longer than the store's deadline after such a write, unless the session
        has an `idle_in_transaction_session_timeout` of its own; it has to be at READ COMMITTED. On SQLite begin with
        BEGIN IMMEDIATE or write first: a transaction that has only read is `Contended` where others write.
        """
        return AsyncStore(self._handle.over(self._handle.backend.joined(connection)))

    def writer(
        self, scope: str, token: int, *, holder: str | None = None, generation: int = 0
    ) -> AsyncWriter:
        """Keyed writes into this namespace, fenced by `token` (0 .. 2^63-1) within `scope`, a run or a job.

        `holder` tells apart two processes that hold an equal token: the first that is named keeps it. The token of a
        claim, passed on to another process, is presented with its generation and no holder.
        """
        return AsyncWriter(self._handle, Presenter(scope, token, generation, holder))

    async def store(
        self, memory: Memory, *, bounds: Bounds | None = None
    ) -> Result[Outcome, StoreRefusal | FenceRequired]:
        """Stores one memory, over what its id had. Neither fenced nor recorded: a retry stores again."""
        handle = self._handle
        command = wanted.Swap((put_of(handle.namespace, memory),), (), handle.limits(bounds))
        return await self._plain(writing.swap(command, handle.tenant))

    async def store_all(
        self, memories: Iterable[Memory], *, bounds: Bounds | None = None
    ) -> Result[Outcome | None, StoreRefusal | FenceRequired]:
        """Stores all of these memories or none of them, at most 1,000; an id twice counts as its last.

        Neither fenced nor recorded. None is nothing to do: it opens no transaction and answers None.
        """
        return await self.swap(memories, (), bounds=bounds)

    async def swap(
        self, add: Iterable[Memory], remove: Iterable[Memory | str], *, bounds: Bounds | None = None
    ) -> Result[Outcome | None, StoreRefusal | FenceRequired]:
        """Stores all of `add` and ends what is there of `remove`, by its id alone, in one transaction.

        Neither fenced nor recorded, and content with less than `replace`: an id that is gone is skipped. At most
        1,000 ids; one that is both added and removed is a `ValueError`. With nothing of either it answers None.
        """
        handle = self._handle
        command = handle.swap(add, remove, bounds)
        if command is None:
            return Success(None)
        return await self._plain(writing.swap(command, handle.tenant))

    async def update(
        self, id: str, change: Callable[[Memory], Memory]
    ) -> Result[Outcome, UpdateRefusal | FenceRequired]:
        """Stores what `change` makes of the memory with this id; nobody's change in between is lost.

        `change` is called outside every transaction, and again when somebody was quicker, at most 5 times, after
        which the call is `Contended`. It has to keep the id (`IdChanged`), and what it raises comes out here.
        """
        handle = self._handle
        address = Address(handle.namespace, checked_id(id))
        changed = handle.changed_by(change)
        return await self._plain(writing.update(handle.tenant, address, changed, handle.limits(None)))

    async def delete(self, id: str) -> Result[bool, PlainRefusal | FenceRequired]:
        """Ends the memory with this id and answers whether it was there."""
        handle = self._handle
        command = wanted.Delete(Address(handle.namespace, checked_id(id)))
        result = await self._plain(writing.delete(command, handle.tenant))
        return result.map(lambda outcome: bool(outcome.removed))

    async def delete_matching(self, filter: Filter) -> Result[int, PlainRefusal | FenceRequired]:
        """Ends every memory that the filter accepts, in one transaction, and answers how many.

        Where the database cannot decide the filter, what matches is read first, as by a `recall`, and ended as it was
        read. When somebody has changed some of it meanwhile that is done again, at most 5 times, and is then
        `Contended`.
        """
        handle = self._handle
        command = wanted.DeleteMatching(handle.namespace, condition_of(filter))
        return await self._plain(writing.delete_matching(command, handle.tenant))

    async def clear(self) -> Result[int, PlainRefusal | FenceRequired]:
        """Ends every memory of this namespace and answers how many. Applied keys and tokens stay."""
        handle = self._handle
        result = await self._plain(writing.clear(wanted.Clear(handle.namespace), handle.tenant))
        return result.map(lambda outcome: len(outcome.removed))

    async def trim(self, bounds: Bounds | None = None) -> Result[int, PlainRefusal | FenceRequired]:
        """Evicts what is over the bounds, or over those of this handle, and answers how many that were.

        In transactions of at most 1,000 evictions each, so that it can be broken off and begun again.
        """
        return await self._plain(writing.trim(self._handle.bound(bounds), self._handle.tenant))

    async def _plain(
        self, flow: Flow[Result[Value, AnyRefusal]]
    ) -> Result[Value, AnyRefusal | FenceRequired]:
        if self._handle.require_fence:
            return Failure(FenceRequired())
        return await run_async(flow, self._handle.backend, self._handle.patience)
