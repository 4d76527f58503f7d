"""Which memories are meant."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from txmemory.memories.values import AnyMemoryType, kind_of, memory_type_of
from txmemory.model.filter import Condition, Everything, KindIn, Nothing


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories are meant. Build one by its class methods."""

    condition: Condition = field(repr=False)

    @classmethod
    def all(cls) -> "Filter":
        """Every memory."""
        return cls(Everything())

    @classmethod
    def none(cls) -> "Filter":
        """No memory."""
        return cls(Nothing())

    @classmethod
    def by_type(cls, memory_type: AnyMemoryType | str) -> "Filter":
        """Memories of this type."""
        return cls.by_types([memory_type])

    @classmethod
    def by_types(cls, memory_types: Iterable[AnyMemoryType | str]) -> "Filter":
        """Memories of one of these types; of an empty set, none. At most 1,000."""
        if isinstance(memory_types, str):
            raise TypeError("memory_types must be a sequence of types")
        return cls(KindIn(frozenset(kind_of(memory_type_of(each)) for each in memory_types)))


def condition_of(filter: Filter) -> Condition:
    """What the filter asks of items."""
    if not isinstance(filter, Filter):
        raise TypeError("filter must be a Filter")
    return filter.condition
