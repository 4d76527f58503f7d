"""What a namespace of memories holds, in figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import MappingProxyType
from typing import Any

from txmemory.memories.values import MemoryType, memory_type_from
from txmemory.model.item import moment
from txmemory.model.query import Totals


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """The figures of a namespace. `by_type` has the built-in types that there are memories of, and no custom ones.

    `entity_count` and `conversation_count` are how many different ids the memories' metadata name.
    """

    total_memories: int
    by_type: Mapping[MemoryType, int] = field(hash=False)
    entity_count: int
    conversation_count: int
    embedded_count: int
    oldest_memory: datetime | None
    newest_memory: datetime | None

    def __reduce__(self) -> tuple[Any, ...]:
        """Its figures: what may not be changed cannot be pickled as it is."""
        values = (getattr(self, each.name) for each in fields(self))
        return _again, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)


def _again(total: int, by_type: Mapping[MemoryType, int], *rest: Any) -> MemoryStats:
    return MemoryStats(total, MappingProxyType(dict(by_type)), *rest)


def stats_from(totals: Totals) -> MemoryStats:
    """The figures as the caller sees them."""
    entities, conversations = totals.distinct or (0, 0)
    types = ((memory_type_from(kind), count) for kind, count in totals.kinds)
    return MemoryStats(
        total_memories=sum(count for _, count in totals.kinds),
        by_type=MappingProxyType({each: count for each, count in types if isinstance(each, MemoryType)}),
        entity_count=entities,
        conversation_count=conversations,
        embedded_count=totals.embedded,
        oldest_memory=None if totals.oldest is None else moment(totals.oldest),
        newest_memory=None if totals.newest is None else moment(totals.newest),
    )
