"""What can be asked of an open store: now, and most of it as of a time."""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from returns.result import Result

from txmemory.drive import run_async
from txmemory.flow import past, reading, searching
from txmemory.flow.requests import Answer, Flow
from txmemory.memories.filter import Filter, condition_of
from txmemory.memories.scored import ScoredMemory
from txmemory.memories.statistics import MemoryStats, stats_from
from txmemory.memories.translate import HistoryEntry, history_from
from txmemory.memories.values import Memory
from txmemory.model import limits
from txmemory.model.address import Address, checked_id, checked_scope
from txmemory.model.canonical import checked_integer, checked_text
from txmemory.model.item import Stored
from txmemory.model.past import AsOf, When, checked_when
from txmemory.rules import words
from txmemory.rules.settling import PastRefusal, ReadRefusal
from txmemory.store.core import Handle

_ALL = Filter.all()
Value = TypeVar("Value")
Read = Result[Value, ReadRefusal] | Result[AsOf[Value], PastRefusal]
"""What a call answers that may be asked `as_of`."""


class AsyncReads:
    """What a handle reads. Nothing here changes anything.

    `as_of` asks for what was there at a time of record, or at an event (scope, seq), with all that was recorded until
    then. The answer is an `AsOf`, which says whether it is settled; an event that is not there is `NotFound`.
    A memory is as its newest revision of then has it, which filters, order and limits look at, or is gone if that
    revision ended it. Expiry alone is judged by now: what has expired does not come back. A list or a count as of
    a time reads all that was ever stored in the namespace, 1,000 ids at a time.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: Handle[Any]) -> None:
        self._handle = handle

    @overload
    async def get(self, id: str, *, as_of: None = None) -> Result[Memory | None, ReadRefusal]: ...
    @overload
    async def get(self, id: str, *, as_of: When) -> Result[AsOf[Memory | None], PastRefusal]: ...
    async def get(self, id: str, *, as_of: When | None = None) -> Read[Memory | None]:
        """The memory with this id, or None."""
        handle, address = self._handle, Address(self._handle.namespace, checked_id(id))
        if as_of is None:
            return (await self._read(reading.get(handle.tenant, address))).map(_memory)
        then = past.get(handle.tenant, address, checked_when(as_of))
        return (await self._read(then)).map(lambda seen: seen.map(_memory))

    @overload
    async def exists(self, id: str, *, as_of: None = None) -> Result[bool, ReadRefusal]: ...
    @overload
    async def exists(self, id: str, *, as_of: When) -> Result[AsOf[bool], PastRefusal]: ...
    async def exists(self, id: str, *, as_of: When | None = None) -> Read[bool]:
        """Whether a memory with this id is there."""
        handle, address = self._handle, Address(self._handle.namespace, checked_id(id))
        if as_of is None:
            return (await self._read(reading.get(handle.tenant, address))).map(_is_there)
        then = past.get(handle.tenant, address, checked_when(as_of))
        return (await self._read(then)).map(lambda seen: seen.map(_is_there))

    @overload
    async def recall(
        self, filter: Filter = _ALL, limit: int = 100, *, as_of: None = None
    ) -> Result[list[Memory], ReadRefusal]: ...
    @overload
    async def recall(
        self, filter: Filter = _ALL, limit: int = 100, *, as_of: When
    ) -> Result[AsOf[list[Memory]], PastRefusal]: ...
    async def recall(
        self, filter: Filter = _ALL, limit: int = 100, *, as_of: When | None = None
    ) -> Read[list[Memory]]:
        """The newest `limit` memories that the filter accepts, by (timestamp, id) descending. 0 answers none.

        1,000 are read at a time: of more, one that is given a new timestamp meanwhile may be missed, or come twice.
        """
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        return await self._listed(filter, limit, as_of)

    @overload
    async def recent(
        self, limit: int = 10, filter: Filter = _ALL, *, as_of: None = None
    ) -> Result[list[Memory], ReadRefusal]: ...
    @overload
    async def recent(
        self, limit: int = 10, filter: Filter = _ALL, *, as_of: When
    ) -> Result[AsOf[list[Memory]], PastRefusal]: ...
    async def recent(
        self, limit: int = 10, filter: Filter = _ALL, *, as_of: When | None = None
    ) -> Read[list[Memory]]:
        """The newest `limit` memories that the filter accepts, the newest first."""
        return await self.recall(filter, limit, as_of=as_of)

    @overload
    async def conversation(
        self, conversation_id: str, limit: int = 100, *, as_of: None = None
    ) -> Result[list[Memory], ReadRefusal]: ...
    @overload
    async def conversation(
        self, conversation_id: str, limit: int = 100, *, as_of: When
    ) -> Result[AsOf[list[Memory]], PastRefusal]: ...
    async def conversation(
        self, conversation_id: str, limit: int = 100, *, as_of: When | None = None
    ) -> Read[list[Memory]]:
        """The newest `limit` memories whose metadata names this conversation, the oldest of them first."""
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        return await self._listed(Filter.by_conversation(conversation_id), limit, as_of, oldest_first=True)

    @overload
    async def entity(self, entity_id: str, *, as_of: None = None) -> Result[list[Memory], ReadRefusal]: ...
    @overload
    async def entity(self, entity_id: str, *, as_of: When) -> Result[AsOf[list[Memory]], PastRefusal]: ...
    async def entity(self, entity_id: str, *, as_of: When | None = None) -> Read[list[Memory]]:
        """All memories whose metadata names this entity, the newest first."""
        return await self._listed(Filter.by_entity(entity_id), None, as_of)

    @overload
    async def important(
        self, threshold: float = 0.5, limit: int = 100, *, as_of: None = None
    ) -> Result[list[Memory], ReadRefusal]: ...
    @overload
    async def important(
        self, threshold: float = 0.5, limit: int = 100, *, as_of: When
    ) -> Result[AsOf[list[Memory]], PastRefusal]: ...
    async def important(
        self, threshold: float = 0.5, limit: int = 100, *, as_of: When | None = None
    ) -> Read[list[Memory]]:
        """The newest `limit` memories with an importance of at least `threshold`, the newest first."""
        return await self.recall(Filter.min_importance(threshold), limit, as_of=as_of)

    async def search(
        self, query: str, top_k: int = 10, filter: Filter = _ALL
    ) -> Result[list[ScoredMemory], ReadRefusal]:
        """The `top_k` memories that answer the words of the query best, of those that the filter accepts.

        The best first, equal scores by (timestamp, id) descending. Words are whole, without case and diacritics, and
        one of them is enough; no text is an operator or an error, and a query without words finds nothing. It is at
        most 64 KiB of UTF-8. Everything that the filter accepts is read.
        """
        handle = self._handle
        sought = words.sought(checked_text(query, "query", limits.QUERY_BYTES, empty=True))
        checked_integer(top_k, "top_k", 0, limits.INTEGER_MOST)
        flow = searching.search(handle.tenant, handle.namespace, condition_of(filter), sought, top_k)
        return (await self._read(flow)).map(lambda found: [ScoredMemory.found(*each) for each in found])

    @overload
    async def count(self, filter: Filter = _ALL, *, as_of: None = None) -> Result[int, ReadRefusal]: ...
    @overload
    async def count(self, filter: Filter = _ALL, *, as_of: When) -> Result[AsOf[int], PastRefusal]: ...
    async def count(self, filter: Filter = _ALL, *, as_of: When | None = None) -> Read[int]:
        """How many memories the filter accepts: exactly, but for a predicate as of a `recall` of all of them."""
        handle, condition = self._handle, condition_of(filter)
        if as_of is None:
            return await self._read(reading.count(handle.tenant, handle.namespace, condition))
        return await self._read(past.count(handle.tenant, handle.namespace, condition, checked_when(as_of)))

    async def statistics(self) -> Result[MemoryStats, ReadRefusal]:
        """The figures of this namespace, counted by the database."""
        figures = await self._read(reading.figures(self._handle.tenant, self._handle.namespace))
        return figures.map(stats_from)

    async def history(self, id: str) -> Result[list[HistoryEntry], ReadRefusal]:
        """Every revision that this id ever had, oldest first, removals included."""
        handle = self._handle
        found = await self._read(reading.history(handle.tenant, Address(handle.namespace, checked_id(id))))
        return found.map(history_from)

    async def keys(
        self, scope: str, *, after: str = "", limit: int = 1_000
    ) -> Result[list[str], ReadRefusal]:
        """Applied keys of a scope by code point, behind `after`: a snapshot, not fenced."""
        checked_text(after, "after", limits.TEXT_KEY_BYTES, empty=True)
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        return await self._read(reading.keys(self._handle.tenant, checked_scope(scope), after, limit))

    async def applied_count(self, scope: str | None = None) -> Result[int, ReadRefusal]:
        """How many applied keys the scope, or with None the tenant, holds: a snapshot, not fenced."""
        named = None if scope is None else checked_scope(scope)
        return await self._read(reading.key_count(self._handle.tenant, named))

    async def _listed(
        self, filter: Filter, limit: int | None, as_of: When | None, *, oldest_first: bool = False
    ) -> Read[list[Memory]]:
        handle, condition = self._handle, condition_of(filter)

        def memories(found: Sequence[Stored]) -> list[Memory]:
            return [Memory.found(each) for each in (reversed(found) if oldest_first else found)]

        if as_of is None:
            flow = reading.recall(handle.tenant, handle.namespace, condition, limit)
            return (await self._read(flow)).map(memories)
        then = past.recall(handle.tenant, handle.namespace, condition, limit, checked_when(as_of))
        return (await self._read(then)).map(lambda seen: seen.map(memories))

    async def _read(self, flow: Flow[Answer]) -> Answer:
        return await run_async(flow, self._handle.backend, self._handle.patience)


def _memory(stored: Stored | None) -> Memory | None:
    return None if stored is None else Memory.found(stored)


def _is_there(stored: Stored | None) -> bool:
    return stored is not None
