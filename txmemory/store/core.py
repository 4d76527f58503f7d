"""What every handle of one open store shares, and what a handle adds to a call before it becomes a command."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from txmemory.drive import Patience
from txmemory.memories.translate import Expected, Source, bounds_of, guards_of, puts_of, sources_of
from txmemory.memories.values import Bounds, Memory
from txmemory.model import command as wanted
from txmemory.model.address import Namespace, checked_namespace, checked_tenant
from txmemory.model.command import OnMismatch
from txmemory.model.commit import Bound

AnyBackend = TypeVar("AnyBackend")
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

    def over(self, backend: AnyBackend) -> "Handle[AnyBackend]":
        """The same over a backend that is in a caller's transaction, where nothing can be tried again."""
        return replace(self, backend=backend, patience=replace(self.patience, attempts=1))

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

    def limits(self, bounds: Bounds | None) -> tuple[Bound, ...]:
        """The bounds of one call: its own, else those of the handle."""
        return bounds_of(self.namespace, self.bounds if bounds is None else bounds)

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
