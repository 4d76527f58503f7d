"""Filters, each with what it means said once more in plain Python."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from txmemory import Custom, Filter, Memory, MemoryType


class Meant(NamedTuple):
    """A filter and, said once more, which memories it means."""

    name: str
    filter: Filter
    means: Callable[[Memory], bool]

    def __repr__(self) -> str:
        return f"<Meant {self.name}>"

    def of(self, memories: Iterable[Memory]) -> list[str]:
        """The ids of those that it means, as they are recalled."""
        return [each.id for each in newest_first(memories) if self.means(each)]


def newest_first(memories: Iterable[Memory]) -> list[Memory]:
    """By (timestamp, id), descending."""
    return sorted(memories, key=lambda each: (each.timestamp, each.id), reverse=True)


def valued(key: str, value: str) -> Meant:
    """Memories with this value at the key."""
    return Meant(
        f"{key!r} is {value!r}",
        Filter.by_metadata(key, value),
        lambda memory: key in memory.metadata and memory.metadata[key] == value,
    )


def having(key: str) -> Meant:
    """Memories with the key."""
    return Meant(f"has {key!r}", Filter.has_metadata(key), lambda memory: key in list(memory.metadata))


def holding(key: str, text: str) -> Meant:
    """Memories in whose value at the key the text stands."""
    return Meant(
        f"{key!r} holds {text!r}",
        Filter.metadata_contains(key, text),
        lambda memory: any(name == key and value.find(text) >= 0 for name, value in memory.metadata.items()),
    )


def saying(text: str) -> Meant:
    """Memories in whose content the text stands, in lower case of both."""
    return Meant(
        f"content holds {text!r} in any case",
        Filter.content_contains(text),
        lambda memory: memory.content.lower().find(text.lower()) >= 0,
    )


def spelling(text: str) -> Meant:
    """Memories in whose content the text stands."""
    return Meant(
        f"content holds {text!r}",
        Filter.content_contains(text, case_sensitive=True),
        lambda memory: memory.content.find(text) >= 0,
    )


def typed(*types: MemoryType | Custom) -> Meant:
    """Memories of one of these types."""
    return Meant(
        f"of types {[str(getattr(each, 'name', each)) for each in types]}",
        Filter.by_types(types),
        lambda memory: any(
            type(each) is type(memory.memory_type) and each == memory.memory_type for each in types
        ),
    )


def weighing(importance: float) -> Meant:
    """Memories of at least this importance."""
    return Meant(
        f"of {importance} or more",
        Filter.min_importance(importance),
        lambda memory: memory.importance is not None and not memory.importance < importance,
    )


def timed(after: datetime | None, before: datetime | None) -> Meant:
    """Memories from this range of time."""

    def inside(memory: Memory) -> bool:
        assert memory.timestamp is not None, "every memory that is asked about has a time"
        return not (after and memory.timestamp < after) and not (before and memory.timestamp > before)

    return Meant(f"from {after} to {before}", Filter.by_time_range(after, before), inside)


def negated(inner: Meant) -> Meant:
    """What it does not mean."""
    return Meant(f"not {inner.name}", ~inner.filter, lambda memory: not inner.means(memory))


def both(one: Meant, other: Meant) -> Meant:
    """What both mean."""
    return Meant(
        f"({one.name}) and ({other.name})",
        one.filter & other.filter,
        lambda memory: one.means(memory) and other.means(memory),
    )


def one_of(one: Meant, other: Meant) -> Meant:
    """What one of the two means."""
    return Meant(
        f"({one.name}) or ({other.name})",
        one.filter | other.filter,
        lambda memory: one.means(memory) or other.means(memory),
    )
