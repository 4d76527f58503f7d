"""Memories to items and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import cast

from txmemory.memories.values import Memory
from txmemory.model import limits
from txmemory.model.address import Address, Namespace, Ref, checked_id
from txmemory.model.canonical import checked_integer
from txmemory.model.commit import Guard, Put
from txmemory.model.event import Reason
from txmemory.model.item import Revision, Stored, moment
from txmemory.model.lease import name_of

Source = Memory | Ref | str | tuple[str, int]
"""What a replacement ends: a memory as it was read, a ref of an outcome, an id, or an id at a revision."""
Expected = Mapping[str, int | None]
"""What a write expects at ids: a live revision, or None for nothing."""


@dataclass(frozen=True, slots=True)
class Ended:
    """When a revision was the newest no longer, by the holder who was named, and why: what the next one says."""

    at: datetime
    by: str | None = field(repr=False)
    reason: Reason


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One revision in the life of an id. `memory` is None where it was removed; `reason` says why it came or went.

    `reason` is one of stored, replaced, deleted, cleared, evicted, expired; `by` the holder who was named; `ended` is
    None while it is the newest.
    """

    revision: int
    memory: Memory | None
    at: datetime
    by: str | None = field(repr=False)
    reason: Reason
    ended: Ended | None = None


def puts_of(namespace: Namespace, memories: Iterable[Memory]) -> tuple[Put, ...]:
    """What stores these memories."""
    if isinstance(memories, Memory):
        raise TypeError("add must be a sequence of Memory")
    return tuple([put_of(namespace, memory) for memory in memories])


def put_of(namespace: Namespace, memory: Memory) -> Put:
    """What stores this memory."""
    if not isinstance(memory, Memory):
        raise TypeError("only a Memory can be stored")
    return Put(Address(namespace, memory.id), memory.item)


def guards_of(namespace: Namespace, expect: Expected | None) -> tuple[Guard, ...]:
    """The expectations as guards."""
    if expect is None:
        return ()
    if not isinstance(expect, Mapping):
        raise TypeError("expect must map ids to revisions")
    return tuple(
        Guard(
            Address(namespace, checked_id(id)),
            0
            if revision is None
            else checked_integer(revision, "an expected revision", 1, limits.INTEGER_MOST),
        )
        for id, revision in expect.items()
    )


def sources_of(namespace: Namespace, remove: Iterable[Source]) -> tuple[Guard, ...]:
    """What must all be there to be replaced; a memory that was read must be there as it was read."""
    if isinstance(remove, str | Memory):
        raise TypeError("remove must be a sequence of memories, ids or (id, revision)")
    return tuple([_source(namespace, each) for each in remove])


def ends_of(namespace: Namespace, remove: Iterable[Memory | str]) -> tuple[Address, ...]:
    """What shall be there no more, at whatever revision."""
    if isinstance(remove, str | Memory):
        raise TypeError("remove must be a sequence of memories or ids")
    return tuple([_source(namespace, each).address for each in remove])


def _source(namespace: Namespace, source: Source) -> Guard:
    match source:
        case Memory(id=id, revision=revision, namespace=where):
            if where not in (None, namespace):
                raise ValueError("a memory to remove was read in another namespace")
            return Guard(Address(namespace, id), revision)
        case Ref(namespace=where, id=id, revision=revision):
            if where != namespace:
                raise ValueError("a ref to remove is of another namespace")
            return Guard(Address(namespace, id), revision)
        case str():
            return Guard(Address(namespace, checked_id(source)))
        case (id, revision):
            checked = checked_integer(revision, "a revision to remove", 1, limits.INTEGER_MOST)
            return Guard(Address(namespace, checked_id(id)), checked)
        case _:
            raise TypeError("remove takes memories, refs, ids or (id, revision)")


def history_from(revisions: Sequence[Revision]) -> list[HistoryEntry]:
    """A history, oldest first, as the caller sees it: each revision ends with the next."""
    ends = [Ended(moment(each.at), _by(each), cast(Reason, each.reason)) for each in revisions[1:]]
    return [_entry(each, ended) for each, ended in zip_longest(revisions, ends)]


def _by(revision: Revision) -> str | None:
    return None if revision.by is None else name_of(revision.by)


def _entry(revision: Revision, ended: Ended | None) -> HistoryEntry:
    memory = None
    if revision.item is not None:
        stored = Stored(revision.address, revision.revision, revision.item, revision.created_at)
        memory = Memory.found(stored)
    reason = cast(Reason, revision.reason)
    return HistoryEntry(revision.revision, memory, moment(revision.at), _by(revision), reason, ended)
