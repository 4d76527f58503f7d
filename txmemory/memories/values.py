"""A memory, its types, and the bounds that a namespace of memories may be given."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

from txmemory.model import limits
from txmemory.model.address import Namespace, checked_id
from txmemory.model.canonical import checked_integer, checked_text, generated_id
from txmemory.model.item import (
    NO_ATTRIBUTES,
    Item,
    Stored,
    checked_importance,
    embedding_bytes,
    embedding_from,
    microseconds,
    moment,
)

CUSTOM = "custom:"


class MemoryType(StrEnum):
    """The five built-in kinds of memory."""

    CONVERSATION = "conversation"
    ENTITY = "entity"
    KNOWLEDGE = "knowledge"
    USER_FACT = "user_fact"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Custom:
    """A kind of memory of the caller's own. Its name keeps its case and never becomes a built-in type."""

    name: str = field(repr=False)

    def __str__(self) -> str:
        """The name."""
        return self.name

    def __post_init__(self) -> None:
        name = checked_text(self.name, "memory_type", limits.TEXT_KEY_BYTES - len(CUSTOM))
        object.__setattr__(self, "name", name)


AnyMemoryType = MemoryType | Custom
_BUILT_IN = {each.value: each for each in MemoryType}


def memory_type_of(given: AnyMemoryType | str) -> AnyMemoryType:
    """The type that is meant: a built-in one by its exact name, else a custom one."""
    match given:
        case MemoryType() | Custom():
            return given
        case str():
            return _BUILT_IN.get(given) or Custom(given)
        case _:
            raise TypeError("memory_type must be a MemoryType, a Custom or text")


def kind_of(memory_type: AnyMemoryType) -> str:
    """How an item's kind spells the type."""
    return CUSTOM + memory_type.name if isinstance(memory_type, Custom) else str.__str__(memory_type)


def memory_type_from(kind: str) -> AnyMemoryType:
    """The type that an item's kind spells."""
    return _BUILT_IN.get(kind) or Custom(kind.removeprefix(CUSTOM))


@dataclass(frozen=True, slots=True, init=False)
class Memory:
    """One thing to remember: immutable, checked when built, detached from the caller's objects.

    `content` is at most 1 MiB of UTF-8; `metadata` maps text to text, at most 64 KiB; `importance` is in 0 .. 1;
    `timestamp` is an aware datetime, kept to the microsecond in UTC; None lets the store's clock fill it, but stored
    over an id it keeps the time that is there: name one to renew it. (`Bounds` and orders go by it.)
    `embedding` is at most 16,384 finite numbers, kept as float32. Without `id` a new one is made. A memory that was
    read carries the `revision` it was read at and the `timestamp` that the store filled in; two memories are equal
    when all but the revision is.

    >>> Memory("Ada drinks green tea", memory_type="user_fact", metadata={"user_id": "ada"}).memory_type
    <MemoryType.USER_FACT: 'user_fact'>
    """

    content: str
    memory_type: AnyMemoryType
    metadata: Mapping[str, str] = field(hash=False)
    timestamp: datetime | None
    importance: float | None
    embedding: tuple[float, ...] | None
    id: str
    revision: int | None = field(compare=False)
    item: Item = field(init=False, repr=False, compare=False)
    namespace: Namespace | None = field(init=False, repr=False, compare=False)
    """Where it was read; None for one that was made."""

    def __init__(
        self,
        content: str,
        *,
        memory_type: AnyMemoryType | str = MemoryType.KNOWLEDGE,
        metadata: Mapping[str, str] | None = None,
        timestamp: datetime | None = None,
        importance: float | None = None,
        embedding: Iterable[float] | None = None,
        id: str | None = None,
        revision: int | None = None,
    ) -> None:
        kind = memory_type_of(memory_type)
        item = Item(
            kind=kind_of(kind),
            text=checked_text(content, "content", limits.TEXT_BYTES, empty=True),
            attributes=NO_ATTRIBUTES if metadata is None else _checked_metadata(metadata),
            created_at=None if timestamp is None else microseconds(timestamp, "timestamp"),
            importance=importance,
            embedding=None if embedding is None else embedding_bytes(embedding),
        )
        if revision is not None:
            revision = checked_integer(revision, "revision", 1, limits.INTEGER_MOST)
        id = generated_id() if id is None else checked_id(id)
        self._fill(item, kind, id, revision, None)

    @classmethod
    def found(cls, stored: Stored) -> Self:
        """The memory that was read: its content has been checked when it was stored."""
        memory = object.__new__(cls)
        item, (namespace, id) = stored.item, stored.address
        if item.created_at is None:  # so that it keeps its time wherever it is stored again
            item = replace(item, created_at=stored.created_at)
        memory._fill(item, memory_type_from(item.kind), id, stored.revision, namespace)
        return memory

    def _fill(
        self,
        item: Item,
        kind: AnyMemoryType,
        id: str,
        revision: int | None,
        namespace: Namespace | None,
    ) -> None:
        put = object.__setattr__
        put(self, "content", item.text)
        put(self, "memory_type", kind)
        put(self, "metadata", item.attributes)
        put(self, "timestamp", None if item.created_at is None else moment(item.created_at))
        put(self, "importance", item.importance)
        put(self, "embedding", None if item.embedding is None else embedding_from(item.embedding))
        put(self, "id", id)
        put(self, "revision", revision)
        put(self, "item", item)
        put(self, "namespace", namespace)

    @classmethod
    def from_conversation(cls, content: str, role: str, conversation_id: str | None = None) -> Self:
        """What somebody said: metadata `role`, and `conversation_id` where it is given."""
        metadata = {"role": role, "conversation_id": conversation_id}
        return cls(content, memory_type=MemoryType.CONVERSATION, metadata=_given(metadata))

    @classmethod
    def for_entity(cls, entity_id: str, name: str, fact: str, entity_type: str = "unknown") -> Self:
        """A fact about an entity: metadata `entity_id`, `entity_name` and `entity_type`. See `entity_id_of`."""
        metadata = {"entity_id": entity_id, "entity_name": name, "entity_type": entity_type}
        return cls(fact, memory_type=MemoryType.ENTITY, metadata=metadata)

    @classmethod
    def from_knowledge(cls, content: str, source: str, chunk_index: int | None = None) -> Self:
        """A piece of a document: metadata `source`, and `chunk_index` where it is given."""
        metadata = {"source": source, "chunk_index": None if chunk_index is None else str(chunk_index)}
        return cls(content, memory_type=MemoryType.KNOWLEDGE, metadata=_given(metadata))

    @classmethod
    def user_fact(cls, fact: str, user_id: str | None = None) -> Self:
        """A fact about a user: metadata `user_id` where it is given."""
        return cls(fact, memory_type=MemoryType.USER_FACT, metadata=_given({"user_id": user_id}))

    @classmethod
    def from_task(cls, description: str, outcome: str, *, success: bool) -> Self:
        """A task and how it ended: metadata `success`, `true` or `false`."""
        if not isinstance(success, bool):
            raise TypeError("success must be True or False")
        content = f"Task: {description}\nOutcome: {outcome}"
        metadata = {"success": "true" if success else "false"}
        return cls(content, memory_type=MemoryType.TASK, metadata=metadata)

    def with_content(self, content: str) -> Self:
        """The same with other content, and without the embedding, which was of the old one."""
        checked = checked_text(content, "content", limits.TEXT_BYTES, empty=True)
        return self._changed(replace(self.item, text=checked, embedding=None))

    def with_metadata(self, metadata: Mapping[str, str]) -> Self:
        """The same with these keys set beside, or in the place of, those that there are."""
        return self._changed(replace(self.item, attributes={**self.metadata, **_checked_metadata(metadata)}))

    def with_importance(self, importance: float) -> Self:
        """The same with this importance, the nearest in 0 .. 1."""
        nearest = min(max(importance, 0), 1)  # what is no number stays what it is, and is refused
        return self._changed(replace(self.item, importance=checked_importance(nearest)))

    def with_embedding(self, embedding: Iterable[float] | None) -> Self:
        """The same with this embedding, or with none."""
        packed = None if embedding is None else embedding_bytes(embedding)
        return self._changed(replace(self.item, embedding=packed))

    def _changed(self, item: Item) -> Self:
        memory = object.__new__(type(self))
        memory._fill(item, self.memory_type, self.id, self.revision, self.namespace)
        return memory

    @property
    def is_embedded(self) -> bool:
        """Whether it has an embedding."""
        return self.embedding is not None

    @property
    def source(self) -> str | None:
        """Metadata `source`."""
        return self.metadata.get("source")

    @property
    def conversation_id(self) -> str | None:
        """Metadata `conversation_id`."""
        return self.metadata.get("conversation_id")

    @property
    def agent_id(self) -> str | None:
        """Metadata `agent_id`."""
        return self.metadata.get("agent_id")

    def __reduce__(self) -> tuple[object, ...]:
        """A memory may travel between processes; its read-only map is made anew there."""
        made = {
            "memory_type": self.memory_type,
            "metadata": dict(self.metadata),
            "timestamp": self.timestamp,
            "importance": self.importance,
            "embedding": self.embedding,
            "id": self.id,
            "revision": self.revision,
        }
        return _arrived, (self.content, made, self.namespace)

    def __repr__(self) -> str:
        """The type and the revision: content, id and metadata of people stay out of logs."""
        return f"<Memory {kind_of(self.memory_type).partition(':')[0]} revision={self.revision}>"


def entity_id_of(name: str) -> str:
    """The id of the entity of that name: in lower case, each run of whitespace an underscore.

    >>> entity_id_of("Ada  Lovelace")
    'ada_lovelace'
    """
    return re.sub(r"\s+", "_", checked_text(name, "name", limits.TEXT_KEY_BYTES).lower())


def _given(metadata: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in metadata.items() if value is not None}


def _arrived(content: str, made: dict[str, Any], namespace: Namespace | None) -> Memory:
    memory = Memory(content, **made)
    object.__setattr__(memory, "namespace", namespace)
    return memory


def _checked_metadata(metadata: object) -> Mapping[str, str]:
    if not isinstance(metadata, Mapping):
        raise TypeError("metadata must be a mapping")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("metadata must map text to text")
    return MappingProxyType(dict(metadata))
