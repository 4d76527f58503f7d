"""A store as one immutable value: every call that may change it answers the store to use next."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from returns.result import Result, Success

from txmemory.backends.inmemory.backend import InMemory
from txmemory.backends.inmemory.state import State
from txmemory.backends.opening import Options
from txmemory.drive import Patience, run
from txmemory.flow import writing
from txmemory.flow.requests import Answer, Flow
from txmemory.memories.bounds import Bounds
from txmemory.memories.filter import Filter, condition_of
from txmemory.memories.translate import Expected, Source, put_of
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Address, Presenter, checked_id
from txmemory.model.command import OnMismatch
from txmemory.model.outcome import Outcome, Receipt
from txmemory.rules.settling import (
    AppliedRefusal,
    EntryRefusal,
    ForgetRefusal,
    ManyRefusal,
    PlainRefusal,
    SealRefusal,
    StoreRefusal,
    UpdateRefusal,
    WriteRefusal,
)
from txmemory.store.core import Handle
from txmemory.store.sync.reads import Reads

_ALL = Filter.all()


@dataclass(frozen=True, slots=True, eq=False)
class InMemoryStore(Reads):
    """A store that is a value: applied keys and fencing tokens are part of it.

    Every call that may change something answers (the store to use next, result) and leaves this one as it was. Going
    on with an older value forgets what happened since, the fence included. A change copies the store's maps: meant
    for tests, simulation and small sets. `InMemoryStore.empty()` is the first.

    >>> store = InMemoryStore.empty()
    >>> later, receipt = store.write("run-1", 1, "step-1", [Memory("green tea")])
    >>> store.count().unwrap(), later.count().unwrap()
    (0, 1)
    """

    _handle: Handle[InMemory]

    @classmethod
    def empty(cls, *, clock: Callable[[], datetime] | None = None) -> "InMemoryStore":
        """A store that holds nothing."""
        backend = InMemory(State(), Options("memory://", clock).microseconds_clock(), None)
        return cls(Handle(backend, Patience(), require_fence=False))

    def __repr__(self) -> str:
        return "<InMemoryStore>"

    def tenant(self, name: str) -> "InMemoryStore":
        """The same store, standing in another tenant."""
        return InMemoryStore(self._handle.of_tenant(name))

    def within(self, *parts: str, bounds: Bounds | None = None) -> "InMemoryStore":
        """The same store, standing in a namespace below this one."""
        return InMemoryStore(self._handle.within(parts, bounds))

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
        command = self._handle.write("write", key, add, (), expect, bounds, on_mismatch)
        return self._next(
            writing.write(command, self._handle.tenant, Presenter(scope, token, generation, holder))
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
        command = self._handle.write("replace", key, add, remove, expect, bounds, on_mismatch)
        return self._next(
            writing.write(command, self._handle.tenant, Presenter(scope, token, generation, holder))
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
        command = self._handle.write_many(writes, bounds, on_mismatch)
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.write_many(command, self._handle.tenant, presenter))

    def applied(
        self, scope: str, token: int, key: str, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[Outcome | None, AppliedRefusal]]:
        """The outcome recorded for the key; with a newer token the next store fences older ones."""
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.applied(wanted.Applied(key), self._handle.tenant, presenter))

    def forget_applied(
        self, scope: str, token: int, key: str, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[bool, ForgetRefusal]]:
        """Takes the key away and answers whether it was there."""
        presenter = Presenter(scope, token, generation, holder)
        return self._next(writing.forget_applied(wanted.ForgetApplied(key), self._handle.tenant, presenter))

    def seal(
        self, scope: str, token: int, *, holder: str | None = None, generation: int = 0
    ) -> tuple["InMemoryStore", Result[int, SealRefusal]]:
        """Finishes the scope and answers how many keys it frees."""
        return self._next(writing.seal(self._handle.tenant, Presenter(scope, token, generation, holder)))

    def store(
        self, memory: Memory, *, bounds: Bounds | None = None
    ) -> tuple["InMemoryStore", Result[Outcome, StoreRefusal]]:
        """Stores one memory without a key."""
        command = wanted.Swap((put_of(self._handle.namespace, memory),), (), self._handle.limits(bounds))
        return self._next(writing.swap(command, self._handle.tenant))

    def store_all(
        self, memories: Iterable[Memory], *, bounds: Bounds | None = None
    ) -> tuple["InMemoryStore", Result[Outcome | None, StoreRefusal]]:
        """Stores all of these memories or none. See `Store.store_all`."""
        return self.swap(memories, (), bounds=bounds)

    def swap(
        self, add: Iterable[Memory], remove: Iterable[Memory | str], *, bounds: Bounds | None = None
    ) -> tuple["InMemoryStore", Result[Outcome | None, StoreRefusal]]:
        """Stores all of `add` and ends what is there of `remove`. See `Store.swap`."""
        command = self._handle.swap(add, remove, bounds)
        if command is None:
            return self, Success(None)
        return self._next(writing.swap(command, self._handle.tenant))

    def update(
        self, id: str, change: Callable[[Memory], Memory]
    ) -> tuple["InMemoryStore", Result[Outcome, UpdateRefusal]]:
        """Stores what `change` makes of the memory with this id. See `Store.update`."""
        handle = self._handle
        address, changed = Address(handle.namespace, checked_id(id)), handle.changed_by(change)
        return self._next(writing.update(handle.tenant, address, changed, handle.limits(None)))

    def delete(self, id: str) -> tuple["InMemoryStore", Result[bool, PlainRefusal]]:
        """Ends the memory with this id and answers whether it was there."""
        command = wanted.Delete(Address(self._handle.namespace, checked_id(id)))
        store, result = self._next(writing.delete(command, self._handle.tenant))
        return store, result.map(lambda outcome: bool(outcome.removed))

    def delete_matching(self, filter: Filter) -> tuple["InMemoryStore", Result[int, PlainRefusal]]:
        """Ends every memory that the filter accepts and answers how many."""
        command = wanted.DeleteMatching(self._handle.namespace, condition_of(filter))
        return self._next(writing.delete_matching(command, self._handle.tenant))

    def clear(self) -> tuple["InMemoryStore", Result[int, PlainRefusal]]:
        """Ends every memory of this namespace and answers how many; applied keys and tokens stay."""
        store, result = self._next(writing.clear(wanted.Clear(self._handle.namespace), self._handle.tenant))
        return store, result.map(lambda outcome: len(outcome.removed))

    def trim(self, bounds: Bounds | None = None) -> tuple["InMemoryStore", Result[int, PlainRefusal]]:
        """Evicts what is over the bounds, or over those of this handle, and answers how many that were."""
        return self._next(writing.trim(self._handle.bound(bounds), self._handle.tenant))

    def _next(self, flow: Flow[Answer]) -> tuple["InMemoryStore", Answer]:
        backend = self._handle.backend.copy()
        answer = run(flow, backend, self._handle.patience)
        if not backend.changed:
            return self, answer
        return InMemoryStore(replace(self._handle, backend=backend)), answer
