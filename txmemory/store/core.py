"""What every handle of one open store shares, and what a handle adds to a call before it becomes a command."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from inspect import iscoroutinefunction
from secrets import token_hex
from typing import Generic, Literal, TypeVar

from txmemory.drive import Patience
from txmemory.log.verifying import Extent, Part
from txmemory.memories.bounds import Bounds, bounds_of
from txmemory.memories.translate import Expected, Source, ends_of, guards_of, put_of, puts_of, sources_of
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Namespace, checked_namespace, checked_scope, checked_tenant
from txmemory.model.command import OnMismatch
from txmemory.model.commit import Bound, Guard, Put
from txmemory.model.item import Stored
from txmemory.model.outcome import Receipt
from txmemory.rules.bounds import tightest

AnyBackend = TypeVar("AnyBackend", covariant=True)
Other = TypeVar("Other")
MEMORIES: Namespace = ("memories",)


def ttl_of(ttl: timedelta, name: str = "ttl") -> int:
    """A length of time in microseconds."""
    if not isinstance(ttl, timedelta):
        raise TypeError(f"{name} must be a timedelta")
    return ttl // timedelta(microseconds=1)


def refuse_uncallable_async(function: object, name: str) -> None:
    """`TypeError` for what cannot be called; what is called is awaited."""
    if not callable(function):
        raise TypeError(f"{name} must be callable")


def refuse_uncallable(function: object, name: str) -> None:
    """`TypeError` for what cannot be called, or would have to be awaited: before it is called, and paid for."""
    refuse_uncallable_async(function, name)
    if iscoroutinefunction(function):
        raise TypeError(f"{name} must answer at once, not when it is awaited")


def always() -> bool:
    """A writer that was given its token holds it, as far as is known here."""
    return True


@dataclass(frozen=True, slots=True)
class Step:
    """What a step of a run has stored, now or by an earlier attempt (`receipt.replayed`)."""

    receipt: Receipt
    memories: tuple[Memory, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class Piece:
    """What `together` stores and ends in one namespace."""

    tenant: str
    puts: tuple[Put, ...] = ()
    sources: tuple[Guard, ...] = ()
    bounds: tuple[Bound, ...] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def together(tenant: str, key: str, pieces: Sequence[Piece], on_mismatch: OnMismatch) -> wanted.Write:
    """The pieces as one keyed command."""
    for piece in pieces:
        if not isinstance(piece, Piece):
            raise TypeError("together takes pieces: what storing and removing answer")
        if piece.tenant != tenant:
            raise ValueError("a piece is of another tenant")
    sources = tuple([source for piece in pieces for source in piece.sources])
    return wanted.Write(
        kind="replace" if sources else "write",
        key=key,
        puts=tuple([put for piece in pieces for put in piece.puts]),
        sources=sources,
        bounds=tightest(bound for piece in pieces for bound in piece.bounds),
        on_mismatch=on_mismatch,
    )


@dataclass(frozen=True, slots=True)
class Handle(Generic[AnyBackend]):
    """Where a handle stands: backend, patience, tenant, namespace, and the bounds of every write through it."""

    backend: AnyBackend
    patience: Patience
    require_fence: bool
    tenant: str = field(default="default", repr=False)
    namespace: Namespace = field(default=MEMORIES, repr=False)
    bounds: Bounds | None = None
    nonce: str = field(default_factory=lambda: token_hex(6), repr=False)
    """Of the opened store: it tells apart two holders of claims that have the same name."""
    check_timeline: bool = False
    """Whether a claim looks at the timeline of the server."""
    joined: bool = False
    """Whether what it does is part of a caller's transaction."""

    def apart(self) -> "Handle[AnyBackend]":
        """The same as a holder of its own, whoever else has its name."""
        return replace(self, nonce=token_hex(6))

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

    def piece(self, add: Iterable[Memory], remove: Iterable[Source]) -> Piece:
        """What `together` stores and ends here."""
        return Piece(
            self.tenant, puts_of(self.namespace, add), sources_of(self.namespace, remove), self.limits(None)
        )

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
