"""A store as one immutable value: every call that may change it answers the store to use next."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from returns.result import Result

from txmemory.backends.inmemory import InMemory, State
from txmemory.backends.opening import Options
from txmemory.drive import Patience, run
from txmemory.flow import reading, searching, writing
from txmemory.flow.reading import ReadRefusal
from txmemory.flow.requests import Answer, Flow
from txmemory.memories.filter import Filter, condition_of
from txmemory.memories.scored import ScoredMemory
from txmemory.memories.translate import (
    Expected,
    HistoryEntry,
    Source,
    history_entry_from,
    put_of,
)
from txmemory.memories.values import Bounds, Memory
from txmemory.model import command as wanted
from txmemory.model import limits
from txmemory.model.address import Address, Presenter, checked_id, checked_scope
from txmemory.model.canonical import checked_integer, checked_text
from txmemory.model.command import OnMismatch
from txmemory.model.outcome import Outcome, Receipt
from txmemory.rules import words
from txmemory.rules.settling import (
    AppliedRefusal,
    EntryRefusal,
    ForgetRefusal,
    ManyRefusal,
    PlainRefusal,
    SealRefusal,
    StoreRefusal,
    WriteRefusal,
)
from txmemory.store.core import Handle

_ALL = Filter.all()


@dataclass(frozen=True, slots=True, eq=False)
class InMemoryStore:
    """A store that is a value: applied keys and fencing tokens are part of it.

    Every call that may change something answers (the store to use next, result) and leaves this one as it was. Going
    on with an older value forgets what happened since, the fence included. A change copies the store's maps: meant
    for tests, simulation and small sets. `InMemoryStore.empty()` is the first.

    >>> store = InMemoryStore.empty()
    >>> later, receipt = store.write("run-1", 1, "step-1", [Memory("green tea")])
    >>> store.count().unwrap(), later.count().unwrap()
    (0, 1)
    """

    handle: Handle[InMemory]

    @classmethod
    def empty(cls, *, clock: Callable[[], datetime] | None = None) -> "InMemoryStore":
        """A store that holds nothing."""
        backend = InMemory(State(), Options("memory://", clock).microseconds_clock(), None)
        return cls(Handle(backend, Patience(), require_fence=False))

    def __repr__(self) -> str:
        return "<InMemoryStore>"

    def tenant(self, name: str) -> "InMemoryStore":
        """The same store, standing in another tenant."""
        return InMemoryStore(self.handle.of_tenant(name))

    def within(self, *parts: str, bounds: Bounds | None = None) -> "InMemoryStore":
        """The same store, standing in a namespace below this one."""
        return InMemoryStore(self.handle.within(parts, bounds))

    def write(
        self,
        scope: str,
        token: int,
        key: str,
        add: Iterable[Memory],
        *,
        expect: Expected | None = None,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
        holder: str | None = None,
        generation: int = 0,
    ) -> tuple["InMemoryStore", Result[Receipt, WriteRefusal]]:
        """Stores `add` exactly once under the key. See `Writer.write`."""
        command = self.handle.write("write", key, add, (), expect, bounds, on_mismatch)
        return self._next(
            writing.write(command, self.handle.tenant, Presenter(scope, token, generation, holder))
        )

    def replace(
        self,
        scope: str,
        token: int,
        key: str,
        add: Iterable[Memory],
        remove: Iterable[Source],
        *,
        expect: Expected | None = None,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
        holder: str | None = None,
        generation: int = 0,
    ) -> tuple["InMemoryStore", Result[Receipt, WriteRefusal]]:
        """Stores `add` and ends all of `remove` once, or does nothing for ever. See `Writer.replace`."""
        command = self.handle.write("replace", key, add, remove, expect, bounds, on_mismatch)
        return self._next(
            writing.write(command, self.handle.tenant, Presenter(scope, token, generation, holder))
        )

    def write_many(
        self,
        scope: str,
        token: int,
        writes: Iterable[tuple[str, Iterable[Memory]]],
        *,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
        holder: str | None = None,
        generation: int = 0,
    ) -> tuple["InMemoryStore", Result[tuple[Result[Receipt, EntryRefusal], ...], ManyRefusal]]:
        """Several writes at once, each under its own key. See `Writer.write_many`."""
        command = self.handle.write_many(writes, bounds, on_mismatch)
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.write_many(command, self.handle.tenant, presenter))

    def applied(
        self, scope: str, token: int, key: str, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[Outcome | None, AppliedRefusal]]:
        """The outcome recorded for the key; with a newer token the next store fences older ones."""
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.applied(wanted.Applied(key), self.handle.tenant, presenter))

    def forget_applied(
        self, scope: str, token: int, key: str, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[bool, ForgetRefusal]]:
        """Takes the key away and answers whether it was there."""
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.forget_applied(wanted.ForgetApplied(key), self.handle.tenant, presenter))

    def seal(
        self, scope: str, token: int, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[int, SealRefusal]]:
        """Finishes the scope and answers how many keys it frees."""
        return self._next(writing.seal(self.handle.tenant, Presenter(scope, token, generation, holder)))

    def store(
        self, memory: Memory, *, bounds: Bounds | None = None
    ) -> tuple["InMemoryStore", Result[Outcome, StoreRefusal]]:
        """Stores one memory without a key."""
        command = wanted.Store(put_of(self.handle.namespace, memory), self.handle.limits(bounds))
        return self._next(writing.store(command, self.handle.tenant))

    def delete(self, id: str) -> tuple["InMemoryStore", Result[bool, PlainRefusal]]:
        """Ends the memory with this id and answers whether it was there."""
        command = wanted.Delete(Address(self.handle.namespace, checked_id(id)))
        store, result = self._next(writing.delete(command, self.handle.tenant))
        return store, result.map(lambda outcome: bool(outcome.removed))

    def clear(self) -> tuple["InMemoryStore", Result[int, PlainRefusal]]:
        """Ends every memory of this namespace and answers how many; applied keys and tokens stay."""
        store, result = self._next(writing.clear(wanted.Clear(self.handle.namespace), self.handle.tenant))
        return store, result.map(lambda outcome: len(outcome.removed))

    def get(self, id: str) -> Result[Memory | None, ReadRefusal]:
        """The memory with this id, or None."""
        found = self._read(reading.get(self.handle.tenant, Address(self.handle.namespace, checked_id(id))))
        return found.map(lambda stored: None if stored is None else Memory.found(stored))

    def exists(self, id: str) -> Result[bool, ReadRefusal]:
        """Whether a memory with this id is there."""
        return self.get(id).map(lambda memory: memory is not None)

    def recall(self, filter: Filter = _ALL, limit: int = 100) -> Result[list[Memory], ReadRefusal]:
        """The newest `limit` memories that the filter accepts."""
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        flow = reading.recall(self.handle.tenant, self.handle.namespace, condition_of(filter), limit)
        return self._read(flow).map(lambda found: [Memory.found(each) for each in found])

    def search(
        self, query: str, top_k: int = 10, filter: Filter = _ALL
    ) -> Result[list[ScoredMemory], ReadRefusal]:
        """The `top_k` memories that answer the query's words best. See `Store.search`."""
        sought = words.sought(checked_text(query, "query", limits.QUERY_BYTES, empty=True))
        checked_integer(top_k, "top_k", 0, limits.INTEGER_MOST)
        handle = self.handle
        flow = searching.search(handle.tenant, handle.namespace, condition_of(filter), sought, top_k)
        return self._read(flow).map(lambda found: [ScoredMemory.found(*each) for each in found])

    def count(self, filter: Filter = _ALL) -> Result[int, ReadRefusal]:
        """How many memories the filter accepts."""
        return self._read(reading.count(self.handle.tenant, self.handle.namespace, condition_of(filter)))

    def history(self, id: str) -> Result[list[HistoryEntry], ReadRefusal]:
        """Every revision that this id ever had, oldest first."""
        flow = reading.history(self.handle.tenant, Address(self.handle.namespace, checked_id(id)))
        return self._read(flow).map(lambda found: [history_entry_from(each) for each in found])

    def keys(self, scope: str, *, after: str = "", limit: int = 1_000) -> Result[list[str], ReadRefusal]:
        """Applied keys of a scope by code point, behind `after`."""
        checked_text(after, "after", limits.TEXT_KEY_BYTES, empty=True)
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        return self._read(reading.keys(self.handle.tenant, checked_scope(scope), after, limit))

    def applied_count(self, scope: str | None = None) -> Result[int, ReadRefusal]:
        """How many applied keys the scope, or the tenant, holds."""
        return self._read(
            reading.key_count(self.handle.tenant, None if scope is None else checked_scope(scope))
        )

    def _read(self, flow: Flow[Answer]) -> Answer:
        return run(flow, self.handle.backend, self.handle.patience)

    def _next(self, flow: Flow[Answer]) -> tuple["InMemoryStore", Answer]:
        backend = self.handle.backend.copy()
        answer = run(flow, backend, self.handle.patience)
        if not backend.changed:
            return self, answer
        return InMemoryStore(replace(self.handle, backend=backend)), answer
