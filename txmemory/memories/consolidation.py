"""Many memories of one thing become one: which of them belong together, and what takes their place."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from txmemory.memories.values import Memory, MemoryType, memory_type_from
from txmemory.model import limits
from txmemory.model.address import Namespace, checked_key
from txmemory.model.canonical import canonical_json, checked_integer, digest
from txmemory.model.filter import AllOf, Condition, CreatedWithin, KindIn
from txmemory.model.item import Item, Stored, microseconds
from txmemory.model.outcome import Outcome

GROUP_MOST = limits.COMMIT_ITEMS - 1
"""Memories of a group: of all that one write may name, one is the summary."""
SUMMARY_CHARACTERS = 2_000
_CHARACTERS_A_TOKEN = 4
_NAMED_BY = {
    MemoryType.CONVERSATION: "conversation_id",
    MemoryType.ENTITY: "entity_id",
    MemoryType.KNOWLEDGE: "source",
    MemoryType.TASK: "success",
    MemoryType.USER_FACT: "user_id",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Memories of one type that tell of one thing, in time order: what a summariser is given.

    `name` is what they share: a conversation's id, an entity's, a user's (or None, of facts about nobody named),
    the source of knowledge, or whether a task succeeded: `true`, `false` or `unknown`.
    """

    memory_type: MemoryType
    name: str | None = field(repr=False)
    memories: tuple[Memory, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What is recorded of one group: `stored`, then its summary is what was added; or `superseded`.

    `key` is the one that it is recorded under; `replayed`: another run had done it.
    """

    memory_type: MemoryType
    key: str = field(repr=False)
    outcome: Outcome
    replayed: bool


@dataclass(frozen=True, slots=True)
class FailedGroup:
    """A group of which no summary was made: its memories are as they were, and the same key tries them again.

    `error` is the class of what the summariser raised, or of what was wrong with its text.
    """

    memory_type: MemoryType
    name: str | None = field(repr=False)
    size: int
    error: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """All groups that are recorded for a job, in the order of record, and those that failed in this run.

    Adopt the ids in `groups`: whoever ran the job, its summaries are these. Where nothing failed it is finished, and
    `key`, of its own, is applied.
    """

    key: str = field(repr=False)
    groups: tuple[Consolidated, ...]
    failed: tuple[FailedGroup, ...] = ()


class Topic(NamedTuple):
    """What the memories of a group share."""

    memory_type: MemoryType
    name: str | None

    def __repr__(self) -> str:
        """The type alone: a name may be a person's."""
        return f"<Topic {self.memory_type}>"


class Gathered(NamedTuple):
    """Where the memories of a group are: ids and revisions in time order, no content."""

    topic: Topic
    places: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        """How many there are."""
        return f"<Gathered {len(self.places)}>"


@dataclass(frozen=True, slots=True)
class Job:
    """What a consolidation is to do: which memories, in what portions, recorded under which keys."""

    namespace: Namespace = field(repr=False)
    key: str = field(repr=False)
    older_than: datetime
    min_count: int = 10
    max_memories_per_group: int = 50
    token_budget: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "key", checked_key(self.key))
        microseconds(self.older_than, "older_than")
        most = checked_integer(self.max_memories_per_group, "max_memories_per_group", 2, GROUP_MOST)
        put(self, "max_memories_per_group", most)
        put(self, "min_count", checked_integer(self.min_count, "min_count", 2, most))
        if self.token_budget is not None:
            budget = checked_integer(self.token_budget, "token_budget", 1, limits.INTEGER_MOST)
            put(self, "token_budget", budget)

    @property
    def condition(self) -> Condition:
        """What a memory has to be to be looked at: of a type that is grouped, and old enough."""
        old = CreatedWithin(None, microseconds(self.older_than, "older_than"))
        return AllOf((KindIn(frozenset(map(str, _NAMED_BY))), old))

    @property
    def finished(self) -> str:
        """The key that is applied when the job is finished: another one for each namespace and each caller's key."""
        return f"consolidated/{digest(self.key, *self.namespace).hex()}"

    @property
    def prefix(self) -> str:
        """What the keys of this job's groups begin with, and no other key."""
        return f"{self.finished}/"

    def key_of(self, topic: Topic) -> str:
        """The key of a group: the same in every run of the job, another one for every group and every job."""
        return f"{self.prefix}{topic.memory_type}/{digest(self.finished, *topic).hex()}"

    def type_of(self, key: str) -> MemoryType:
        """The type of the group whose key this is."""
        return MemoryType(key.removeprefix(self.prefix).partition("/")[0])

    def group_of(self, gathered: Gathered, found: Iterable[Stored]) -> Group | None:
        """The group as it is to be summed up, of what was found where it was gathered; None if that is too little.

        What has changed in between is left out. Then come as many as the budget, and as the summary's metadata, has
        room for, the oldest first.
        """
        live = {(each.address.id, each.revision): each for each in found}
        there = [Memory.found(live[place]) for place in gathered.places if place in live]
        if self.token_budget is not None:
            there = there[: _affordable(there, self.token_budget)]
        memories = there[: _with_room(there)]
        if len(memories) < self.min_count:
            return None
        return Group(*gathered.topic, tuple(memories))


class Gathering:
    """Takes memories newest first, and keeps of each group where its oldest are, `most` at the most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[Topic, deque[tuple[str, int]]] = {}

    def take(self, stored: Stored) -> None:
        """Takes the next older memory."""
        topic = topic_of(stored.item)
        if topic is not None:
            places = self._places.setdefault(topic, deque(maxlen=self._most))
            places.appendleft((stored.address.id, stored.revision))

    def of_at_least(self, least: int) -> list[Gathered]:
        """The groups that have so many, by type and name."""
        topics = sorted(
            self._places, key=lambda topic: (topic.memory_type, topic.name is not None, topic.name)
        )
        return [
            Gathered(topic, tuple(places)) for topic in topics if len(places := self._places[topic]) >= least
        ]


def topic_of(item: Item) -> Topic | None:
    """The group that a memory belongs to. Custom types, and what does not say what it tells of, belong to none."""
    memory_type = memory_type_from(item.kind)
    if not isinstance(memory_type, MemoryType):
        return None
    name = item.attributes.get(_NAMED_BY[memory_type])
    if isinstance(name, str):
        return Topic(memory_type, name)
    match memory_type:
        case MemoryType.USER_FACT:
            return Topic(memory_type, None)
        case MemoryType.TASK:
            return Topic(memory_type, "unknown")
        case _:
            return None


def summary_of(group: Group, text: str) -> Memory:
    """The memory that takes the place of the group; its text is cut at 2,000 characters, a blank one a `ValueError`.

    All but the id and the text follows from the group: the metadata of its memories (of two values the older one's),
    with `consolidated_from` (how many), `consolidated_at` (the newest one's time), `original_ids` (all, with commas
    between them) and `consolidation_method`; the newest timestamp; the greatest importance; no embedding.
    """
    if not isinstance(text, str):
        raise TypeError("summarise must answer text")
    if not text.strip():
        raise ValueError("a summary is blank")
    return Memory(
        text if len(text) <= SUMMARY_CHARACTERS else f"{text[:SUMMARY_CHARACTERS]}...",
        memory_type=group.memory_type,
        metadata=_metadata(group.memories),
        timestamp=_newest(group.memories),
        importance=max(
            (each.importance for each in group.memories if each.importance is not None), default=None
        ),
    )


def _metadata(memories: Sequence[Memory]) -> Mapping[str, str]:
    merged: dict[str, str] = {}
    for memory in reversed(memories):
        merged |= memory.metadata
    return merged | {
        "consolidated_from": str(len(memories)),
        "consolidated_at": _newest(memories).isoformat(timespec="microseconds"),
        "original_ids": ",".join(memory.id for memory in memories),
        "consolidation_method": "llm_summary",
    }


def _newest(memories: Iterable[Memory]) -> datetime:
    return max(memory.timestamp for memory in memories if memory.timestamp is not None)


def _affordable(memories: Sequence[Memory], budget: int) -> int:
    """How many of them, from the first on, are within the budget."""
    tokens = (len(memory.content) // _CHARACTERS_A_TOKEN for memory in memories)
    return bisect_right(list(accumulate(tokens)), budget)


def _with_room(memories: Sequence[Memory]) -> int:
    """How many of them, from the first on, a summary's metadata has room for: it grows with every one."""

    def size(count: int) -> int:
        return len(canonical_json(dict(_metadata(memories[:count]))).encode())

    return bisect_right(range(1, len(memories) + 1), limits.ATTRIBUTES_BYTES, key=size)
