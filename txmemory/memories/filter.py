"""Which memories are meant."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from inspect import iscoroutinefunction

from txmemory.memories.values import AnyMemoryType, Memory, MemoryType, kind_of, memory_type_of
from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    CreatedWithin,
    Everything,
    ImportanceFrom,
    KindIn,
    Not,
    Nothing,
    Satisfies,
    TextContains,
)
from txmemory.model.item import microseconds


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories are meant. Build one by its class methods, and compose them by `&`, `|` and `~`.

    At most 100 parts, which name at most 1,000 types together. A filter by an entity or a conversation, by up to ten
    types or by time, alone or in an `&`, is answered from an index; any other reads on from the newest. What no
    database can decide, a predicate above all, is decided here, on the memories that the rest of the filter lets
    through, before any limit.

    >>> about_ada = Filter.by_entity("ada") & ~Filter.content_contains("coffee")
    >>> tasks_or_recent = Filter.tasks() | Filter.important(0.8)
    """

    condition: Condition = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.condition, Condition):
            raise TypeError("a filter is built by the class methods of Filter")

    def __and__(self, other: "Filter") -> "Filter":
        """What both mean."""
        return Filter(AllOf((*_all_parts(self), *_all_parts(other)))) if _is(other) else NotImplemented

    def __or__(self, other: "Filter") -> "Filter":
        """What one of the two means."""
        return Filter(AnyOf((*_any_parts(self), *_any_parts(other)))) if _is(other) else NotImplemented

    def __bool__(self) -> bool:
        """Raises `TypeError`: `and`, `or` and `not` would take one side and forget the other."""
        raise TypeError("filters are composed by &, | and ~")

    def __invert__(self) -> "Filter":
        """What it does not mean."""
        return Filter(self.condition.part if isinstance(self.condition, Not) else Not(self.condition))

    @classmethod
    def all(cls, *filters: "Filter") -> "Filter":
        """What all of these mean; of none, every memory."""
        conditions = tuple(condition_of(each) for each in filters)
        return cls(AllOf(conditions) if conditions else Everything())

    @classmethod
    def any(cls, *filters: "Filter") -> "Filter":
        """What one of these means; of none, no memory."""
        conditions = tuple(condition_of(each) for each in filters)
        return cls(AnyOf(conditions) if conditions else Nothing())

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

    @classmethod
    def conversations(cls) -> "Filter":
        """Memories of type conversation."""
        return cls.by_type(MemoryType.CONVERSATION)

    @classmethod
    def entities(cls) -> "Filter":
        """Memories of type entity."""
        return cls.by_type(MemoryType.ENTITY)

    @classmethod
    def knowledge(cls) -> "Filter":
        """Memories of type knowledge."""
        return cls.by_type(MemoryType.KNOWLEDGE)

    @classmethod
    def user_facts(cls) -> "Filter":
        """Memories of type user_fact."""
        return cls.by_type(MemoryType.USER_FACT)

    @classmethod
    def tasks(cls) -> "Filter":
        """Memories of type task."""
        return cls.by_type(MemoryType.TASK)

    @classmethod
    def by_metadata(cls, key: str, value: str) -> "Filter":
        """Memories whose metadata has exactly this value at the key."""
        return cls(AttributeIs(key, value))

    @classmethod
    def has_metadata(cls, key: str) -> "Filter":
        """Memories whose metadata has the key, with an empty value too."""
        return cls(AttributeThere(key))

    @classmethod
    def metadata_contains(cls, key: str, text: str) -> "Filter":
        """Memories in whose metadata's value at the key the text stands, letter for letter."""
        return cls(AttributeContains(key, text))

    @classmethod
    def by_entity(cls, entity_id: str) -> "Filter":
        """Memories whose metadata names this entity."""
        return cls.by_metadata("entity_id", entity_id)

    @classmethod
    def by_conversation(cls, conversation_id: str) -> "Filter":
        """Memories whose metadata names this conversation."""
        return cls.by_metadata("conversation_id", conversation_id)

    @classmethod
    def by_time_range(cls, after: datetime | None = None, before: datetime | None = None) -> "Filter":
        """Memories with a timestamp in this range, both ends included; None is an open end. Aware datetimes."""
        return cls(
            CreatedWithin(
                None if after is None else microseconds(after, "after"),
                None if before is None else microseconds(before, "before"),
            )
        )

    @classmethod
    def after(cls, moment: datetime) -> "Filter":
        """Memories with this timestamp or a later one."""
        return cls(CreatedWithin(microseconds(moment, "moment"), None))

    @classmethod
    def before(cls, moment: datetime) -> "Filter":
        """Memories with this timestamp or an earlier one."""
        return cls(CreatedWithin(None, microseconds(moment, "moment")))

    @classmethod
    def between(cls, after: datetime, before: datetime) -> "Filter":
        """Memories with a timestamp in this range, both ends included."""
        return cls(CreatedWithin(microseconds(after, "after"), microseconds(before, "before")))

    @classmethod
    def min_importance(cls, least: float) -> "Filter":
        """Memories that have an importance of at least this, 0 .. 1; one without importance never."""
        return cls(ImportanceFrom(least))

    @classmethod
    def important(cls, least: float = 0.5) -> "Filter":
        """The same, from the middle on."""
        return cls.min_importance(least)

    @classmethod
    def content_contains(cls, text: str, *, case_sensitive: bool = False) -> "Filter":
        """Memories in whose content the text stands, letter for letter; or, by default, in lower case of both."""
        return cls(TextContains(text, case_sensitive))

    @classmethod
    def custom(cls, predicate: Callable[[Memory], bool]) -> "Filter":
        """Memories of which the predicate answers True. It is called outside every transaction, on what was read.

        Any other answer than True or False is a `TypeError` of the call that asked: what is merely true, such as
        something that wants to be awaited, would mean every memory.
        """
        if not callable(predicate):
            raise TypeError("predicate must be callable")
        if iscoroutinefunction(predicate):  # what it answers at once is true of every memory
            raise TypeError("predicate must answer at once, not when it is awaited")
        return cls(Satisfies(lambda stored: predicate(Memory.found(stored))))


def _is(other: object) -> bool:
    return isinstance(other, Filter)


def _all_parts(filter: Filter) -> tuple[Condition, ...]:
    condition = filter.condition
    return condition.parts if isinstance(condition, AllOf) else (condition,)


def _any_parts(filter: Filter) -> tuple[Condition, ...]:
    condition = filter.condition
    return condition.parts if isinstance(condition, AnyOf) else (condition,)


def condition_of(filter: Filter) -> Condition:
    """What the filter asks of items."""
    if not isinstance(filter, Filter):
        raise TypeError("filter must be a Filter")
    return filter.condition
