"""What every handle of one open store shares, and what a handle adds to a call before it becomes a command."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from txmemory.drive import Patience
from txmemory.log.verifying import Extent, Part
from txmemory.memories.bounds import Bounds, bounds_of
from txmemory.memories.translate import Expected, Source, ends_of, guards_of, put_of, puts_of, sources_of
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Namespace, checked_namespace, checked_scope, checked_tenant
from txmemory.model.command import OnMismatch
from txmemory.model.commit import Bound, Put
from txmemory.model.item import Stored

AnyBackend = TypeVar("AnyBackend", covariant=True)
Other = TypeVar("Other")
MEMORIES: Namespace = ("memories",)


@dataclass(frozen=True, slots=True)
class Handle(Generic[AnyBackend]):
    """Where a handle stands: backend, patience, tenant, namespace, and the bounds of every write through it."""

    backend: AnyBackend
    patience: Patience
    require_fence: bool
    tenant: str = field(default="default", repr=False)
    namespace: Namespace = field(default=MEMORIES, repr=False)
    bounds: Bounds | None = None
    joined: bool = False
    """Whether what it does is part of a caller's transaction."""

    def over(self, backend: Other) -> "Handle[Other]":
        """The same over a backend that is in a caller's transaction, where nothing can be tried again."""
        once = replace(self.patience, attempts=1)
        return Handle(
            backend, once, self.require_fence, self.tenant, self.namespace, self.bounds, joined=True
        )

    def of_tenant(self, name: str) -> "Handle[AnyBackend]":
        """The same in another tenant."""
        return replace(self, tenant=checked_tenant(name))

    def within(self, parts: tuple[str, ...], bounds: Bounds | None) -> "Handle[AnyBackend]":
        """The same in a namespace below this one."""
        bounds_of(self.namespace, bounds)  # checked before it is needed
        return replace(
            self,
            namespace=checked_namespace((*self.namespace, *parts)),
            bounds=self.bounds if bounds is None else bounds,
        )

    def part(self, scope: str | None, of: Extent) -> Part:
        """What is to be verified."""
        if of not in ("namespace", "tenant", "store"):
            raise ValueError("of must be namespace, tenant or store")
        if scope is not None:
            return Part(self.tenant, checked_scope(scope))
        if of == "namespace":
            return Part(self.tenant, namespace=self.namespace)
        return Part(self.tenant if of == "tenant" else None)

    def limits(self, bounds: Bounds | None) -> tuple[Bound, ...]:
        """The bounds of one call: its own, else those of the handle."""
        return bounds_of(self.namespace, self.bounds if bounds is None else bounds)

    def bound(self, bounds: Bounds | None) -> Bound:
        """The bound that a call cannot do without."""
        for bound in self.limits(bounds):
            return bound
        raise ValueError("neither the call nor the handle names bounds")

    def write(
        self,
        kind: Literal["write", "replace"],
        key: str,
        add: Iterable[Memory],
        remove: Iterable[Source],
        expect: Expected | None,
        bounds: Bounds | None,
        on_mismatch: OnMismatch,
    ) -> wanted.Write:
        """A keyed write or replacement as a command, detached and checked."""
        return wanted.Write(
            kind=kind,
            key=key,
            puts=puts_of(self.namespace, add),
            expect=guards_of(self.namespace, expect),
            sources=sources_of(self.namespace, remove) if kind == "replace" else (),
            bounds=self.limits(bounds),
            given_bounds=bounds is not None,
            on_mismatch=on_mismatch,
        )

    def swap(
        self, add: Iterable[Memory], remove: Iterable[Memory | str], bounds: Bounds | None
    ) -> wanted.Swap | None:
        """Memories to store and ids to end without a key; None where there is nothing of either."""
        command = wanted.Swap(
            puts_of(self.namespace, add), ends_of(self.namespace, remove), self.limits(bounds)
        )
        return command if command.puts or command.ends else None

    def changed_by(self, change: Callable[[Memory], Memory]) -> Callable[[Stored], Put]:
        """The caller's change of a memory as one of an item."""
        if not callable(change):
            raise TypeError("change must be callable")
        return lambda stored: put_of(self.namespace, change(Memory.found(stored)))

    def write_many(
        self,
        writes: Iterable[tuple[str, Iterable[Memory]]],
        bounds: Bounds | None,
        on_mismatch: OnMismatch,
    ) -> wanted.WriteMany:
        """Several keyed writes as one command."""
        each: list[wanted.Write] = []
        for pair in writes:
            match pair:
                case (key, add):
                    each.append(self.write("write", key, add, (), None, bounds, on_mismatch))
                case _:
                    raise TypeError("write_many takes (key, memories) pairs")
        return wanted.WriteMany(tuple(each))
