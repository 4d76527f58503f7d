"""What a caller wants, detached from the caller's objects and valid once built."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from txmemory.model import limits
from txmemory.model.address import Address, Namespace, checked_key, namespace_text
from txmemory.model.canonical import GeneratedId, digest
from txmemory.model.commit import Bound, Guard, Put
from txmemory.model.filter import Condition

FINGERPRINT_VERSION = 1
OnMismatch = Literal["return", "refuse"]


@dataclass(frozen=True, slots=True)
class Write:
    """Apply a key: store `puts`, after `expect` held; a `replace` also needs and ends all of `sources`.

    An id that is put twice counts as its last occurrence, at that place. An id both put and named as a source, or
    over 1,000 items, is a `ValueError`. `bounds` are of the namespaces written to; `given_bounds` says that the call
    named them, so that they are part of what was asked.
    """

    kind: Literal["write", "replace"]
    key: str = field(repr=False)
    puts: tuple[Put, ...]
    expect: tuple[Guard, ...] = ()
    sources: tuple[Guard, ...] = ()
    bounds: tuple[Bound, ...] = ()
    given_bounds: bool = False
    on_mismatch: OnMismatch = "return"
    fingerprint: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", checked_key(self.key))
        if self.on_mismatch not in ("return", "refuse"):
            raise ValueError('on_mismatch must be "return" or "refuse"')
        if len(self.puts) > 1:
            object.__setattr__(self, "puts", last_occurrences(self.puts))
        if self.sources:
            object.__setattr__(self, "sources", distinct_guards(self.sources))
            if not {guard.address for guard in self.sources}.isdisjoint(put.address for put in self.puts):
                raise ValueError("an id is both added and removed")
        most = len(self.puts) + len(self.expect) + len(self.sources)
        if most > limits.COMMIT_ITEMS and len(self.addresses) > limits.COMMIT_ITEMS:
            raise ValueError(f"a write names more than {limits.COMMIT_ITEMS} items")
        object.__setattr__(self, "fingerprint", digest(*self._given()))

    def _given(self) -> list[str | int | None]:
        """What the caller gave, part by part; ids that we made and the clock are left out."""
        given: list[str | int | None] = [FINGERPRINT_VERSION, self.kind, len(self.puts)]
        for (namespace, id), item in self.puts:
            ours = isinstance(id, GeneratedId)
            given += (namespace_text(namespace), None if ours else id, item.digest.hex(), item.created_at)
        for guards in (self.expect, self.sources):
            given.append(len(guards))
            for guard in sorted(guards, key=lambda each: each.address.order) if guards else ():
                (namespace, id), revision = guard
                ours = isinstance(id, GeneratedId)
                given += (namespace_text(namespace), None if ours else id, revision)
        if self.given_bounds:
            for bound in self.bounds:
                given += (namespace_text(bound.namespace), bound.most)
                if bound.age is not None:
                    given += ("age", bound.age)
        return given

    @property
    def addresses(self) -> set[Address]:
        """Every address that the write names."""
        named = {put.address for put in self.puts}
        named.update(guard.address for guard in (*self.expect, *self.sources))
        return named


@dataclass(frozen=True, slots=True)
class WriteMany:
    """Several writes in one transaction, each under its own key, each judged on its own.

    1 to 1,000 writes with distinct keys that name disjoint items, together at most 1,000 items.
    """

    writes: tuple[Write, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.writes) <= limits.COMMIT_ENTRIES:
            raise ValueError(f"write_many takes 1 to {limits.COMMIT_ENTRIES} writes")
        if len({write.key for write in self.writes}) < len(self.writes):
            raise ValueError("a key is named twice in one write_many")
        named = [address for write in self.writes for address in write.addresses]
        if len(named) > limits.COMMIT_ITEMS:
            raise ValueError(f"a write_many names more than {limits.COMMIT_ITEMS} items")
        if len(set(named)) < len(named):
            raise ValueError("two writes of one write_many name the same item")


@dataclass(frozen=True, slots=True)
class Applied:
    """Ask whether a key is applied."""

    key: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", checked_key(self.key))


@dataclass(frozen=True, slots=True)
class ForgetApplied:
    """Take an applied key away, so that it can be applied again."""

    key: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", checked_key(self.key))


@dataclass(frozen=True, slots=True)
class Swap:
    """Store `puts`, then end `ends`, without a key; what is not there to end is left alone.

    An id that is put twice counts as its last occurrence. An id both put and ended, or over 1,000 items, is a
    `ValueError`.
    """

    puts: tuple[Put, ...]
    ends: tuple[Address, ...] = ()
    bounds: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "puts", last_occurrences(self.puts))
        object.__setattr__(self, "ends", tuple(dict.fromkeys(self.ends)))
        if not {put.address for put in self.puts}.isdisjoint(self.ends):
            raise ValueError("an id is both added and removed")
        if len(self.puts) + len(self.ends) > limits.COMMIT_ITEMS:
            raise ValueError(f"one call names more than {limits.COMMIT_ITEMS} items")


@dataclass(frozen=True, slots=True)
class Delete:
    """End one item without a key; one that is not there is left alone."""

    address: Address


@dataclass(frozen=True, slots=True)
class DeleteMatching:
    """End every item of a namespace that the condition accepts, without a key."""

    namespace: Namespace = field(repr=False)
    condition: Condition


@dataclass(frozen=True, slots=True)
class Clear:
    """End every item of a namespace without a key."""

    namespace: Namespace = field(repr=False)


def last_occurrences(puts: tuple[Put, ...]) -> tuple[Put, ...]:
    """Of an address that is put twice the last occurrence, at its place."""
    if len({put.address for put in puts}) == len(puts):
        return puts
    last = {put.address: place for place, put in enumerate(puts)}
    return tuple(put for place, put in enumerate(puts) if last[put.address] == place)


def distinct_guards(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Each address once, an exact revision winning over any; two revisions of one address are a `ValueError`."""
    distinct: dict[Address, Guard] = {}
    for guard in guards:
        known = distinct.get(guard.address)
        if known is None or known.revision is None:
            distinct[guard.address] = guard
        elif guard.revision not in (None, known.revision):
            raise ValueError("an id is named with two revisions")
    return tuple(distinct.values())
