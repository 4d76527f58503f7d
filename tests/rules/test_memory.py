"""A memory as a value: what its factories put into the metadata, its changes, its types, its journeys."""

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import names
from txmemory import Bounds, Custom, Memory, MemoryType, entity_id_of
from txmemory.memories.bounds import bounds_of
from txmemory.memories.values import kind_of, memory_type_from, memory_type_of
from txmemory.model.address import Address
from txmemory.model.item import TIME_LEAST, TIME_MOST, Item, Stored

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
BUILT_IN = ["conversation", "entity", "knowledge", "user_fact", "task"]

# A factory, and the type, content and metadata that it makes.
MADE: list[tuple[Callable[[], Memory], MemoryType, str, dict[str, str]]] = [
    (
        lambda: Memory.from_conversation("hello", "user", "c-1"),
        MemoryType.CONVERSATION,
        "hello",
        {"role": "user", "conversation_id": "c-1"},
    ),
    (
        lambda: Memory.from_conversation("hello", "tool"),
        MemoryType.CONVERSATION,
        "hello",
        {"role": "tool"},
    ),
    (
        lambda: Memory.from_conversation("", "", ""),
        MemoryType.CONVERSATION,
        "",
        {"role": "", "conversation_id": ""},
    ),
    (
        lambda: Memory.for_entity("ada", "Ada", "likes tea", "person"),
        MemoryType.ENTITY,
        "likes tea",
        {"entity_id": "ada", "entity_name": "Ada", "entity_type": "person"},
    ),
    (
        lambda: Memory.for_entity("ada", "Ada", "likes tea"),
        MemoryType.ENTITY,
        "likes tea",
        {"entity_id": "ada", "entity_name": "Ada", "entity_type": "unknown"},
    ),
    (
        lambda: Memory.from_knowledge("tea is hot", "tea.txt", 0),
        MemoryType.KNOWLEDGE,
        "tea is hot",
        {"source": "tea.txt", "chunk_index": "0"},
    ),
    (
        lambda: Memory.from_knowledge("tea is hot", "tea.txt"),
        MemoryType.KNOWLEDGE,
        "tea is hot",
        {"source": "tea.txt"},
    ),
    (lambda: Memory.user_fact("likes tea", "u-1"), MemoryType.USER_FACT, "likes tea", {"user_id": "u-1"}),
    (lambda: Memory.user_fact("likes tea"), MemoryType.USER_FACT, "likes tea", {}),
    (
        lambda: Memory.from_task("make tea", "drunk", success=True),
        MemoryType.TASK,
        "Task: make tea\nOutcome: drunk",
        {"success": "true"},
    ),
    (
        lambda: Memory.from_task("make tea", "spilt", success=False),
        MemoryType.TASK,
        "Task: make tea\nOutcome: spilt",
        {"success": "false"},
    ),
]


def full() -> Memory:
    """A memory with every field, as it was read."""
    given = Memory(
        "tea",
        id="m",
        memory_type=Custom("Task"),
        metadata={"a": "1"},
        timestamp=NOON,
        importance=0.5,
        embedding=[0.1, -2.0],
    )
    return Memory.found(Stored(Address(("memories", "ada"), "m"), 7, given.item, given.item.created_at or 0))


@pytest.mark.parametrize(("make", "kind", "content", "metadata"), MADE)
def test_a_factory_makes_a_type_its_content_and_exactly_its_metadata(
    make: Callable[[], Memory], kind: MemoryType, content: str, metadata: dict[str, str]
) -> None:
    memory = make()
    assert (memory.memory_type, memory.content, dict(memory.metadata)) == (kind, content, metadata)
    assert (memory.timestamp, memory.importance, memory.embedding, memory.revision) == (None,) * 4
    assert make().id != memory.id


@pytest.mark.parametrize("success", ["false", 0, None])
def test_a_task_has_succeeded_or_not(success: Any) -> None:
    """A text that says no would count as yes."""
    with pytest.raises(TypeError):
        Memory.from_task("make tea", "spilt", success=success)


def test_what_the_metadata_name_can_be_asked_for() -> None:
    named = Memory("tea", metadata={"source": "s", "conversation_id": "", "agent_id": "a"})
    assert (named.source, named.conversation_id, named.agent_id) == ("s", "", "a")
    assert (Memory("tea").source, Memory("tea").conversation_id, Memory("tea").agent_id) == (None, None, None)


def test_the_id_of_an_entity_is_its_name_in_lower_case_with_underscores() -> None:
    names = {
        "Ada": "ada",
        "Ada  Lovelace": "ada_lovelace",
        " Ada\t\n\u2003King ": "_ada_king_",
        "\u0130zmir \u1e9e": "i\u0307zmir_\u00df",
        "a_b-c": "a_b-c",
    }
    assert {name: entity_id_of(name) for name in names} == names
    for wrong, error in (("", ValueError), ("\x00", ValueError), (1, TypeError)):
        name: Any = wrong
        with pytest.raises(error):
            entity_id_of(name)


def test_a_change_keeps_all_else_and_leaves_the_memory_as_it_was() -> None:
    memory, same = full(), full()
    changed = {
        "content": memory.with_content("coffee"),
        "metadata": memory.with_metadata({"a": "2", "b": "3"}),
        "importance": memory.with_importance(0.75),
        "embedding": memory.with_embedding([1.0]),
    }
    fields = ("content", "memory_type", "metadata", "timestamp", "importance", "embedding", "id", "revision")
    for name, each in changed.items():
        others = {"content": {"content", "embedding"}}.get(name, {name})
        assert {field for field in fields if getattr(each, field) != getattr(memory, field)} == others
        assert each.namespace == memory.namespace
    assert changed["content"].embedding is None
    assert dict(changed["metadata"].metadata) == {"a": "2", "b": "3"}
    assert memory.with_embedding(None).is_embedded is False
    assert memory == same
    for metadata in ({"a": 1}, {1: "a"}, [("a", "1")], None):
        wrong: Any = metadata
        with pytest.raises(TypeError):
            memory.with_metadata(wrong)
    with pytest.raises(ValueError):
        memory.with_content("\x00")


def test_an_importance_is_brought_into_its_range_and_what_is_no_number_is_refused() -> None:
    memory = Memory("tea")
    for importance, nearest in (
        (-1, 0.0),
        (-float("inf"), 0.0),
        (-0.0, 0.0),
        (0.25, 0.25),
        (1.0000001, 1.0),
        (10**400, 1.0),
        (float("inf"), 1.0),
    ):
        found = memory.with_importance(importance).importance
        assert str(found) == str(nearest)
    with pytest.raises(ValueError):
        memory.with_importance(float("nan"))
    for wrong in (None, "0.5", True, False):
        mistyped: Any = wrong
        with pytest.raises(TypeError):
            memory.with_importance(mistyped)


@pytest.mark.parametrize("memory", [full(), Memory("tea"), full().with_embedding(None).with_content("")])
def test_a_memory_travels_and_is_copied_with_all_that_it_has(memory: Memory) -> None:
    sent = (pickle.dumps(memory, number) for number in range(2, pickle.HIGHEST_PROTOCOL + 1))
    arrived = [pickle.loads(each) for each in sent]  # noqa: S301  # our own bytes
    for travelled in (*arrived, copy.copy(memory), copy.deepcopy(memory)):
        assert travelled == memory
        assert travelled.item == memory.item
        assert (travelled.revision, travelled.namespace) == (memory.revision, memory.namespace)
        assert travelled.embedding == memory.embedding
        with pytest.raises(TypeError):
            travelled.metadata["a"] = "2"


@given(names | st.sampled_from([*BUILT_IN, "Task", "TASK", "custom:task", "custom:", "task ", "\u0130"]))
def test_a_custom_type_keeps_its_case_and_never_becomes_another(name: str) -> None:
    own = Custom(name)
    assert memory_type_from(kind_of(own)) == own
    assert kind_of(own) == f"custom:{name}"
    assert kind_of(own) not in BUILT_IN
    by_name = memory_type_of(name)
    assert by_name == (MemoryType(name) if name in BUILT_IN else own)
    assert memory_type_from(kind_of(by_name)) == by_name
    for other in (name.lower(), name.upper(), name.casefold()):
        assert (kind_of(Custom(other)) == kind_of(own)) is (other == name)


def test_a_type_is_a_type_or_a_name() -> None:
    assert [memory_type_of(each) for each in BUILT_IN] == [*MemoryType]
    for wrong in (None, 1, b"task", ["task"]):
        given: Any = wrong
        with pytest.raises(TypeError):
            Memory("tea", memory_type=given)
    with pytest.raises(ValueError):
        Custom("")


def test_an_embedding_is_no_part_of_what_a_replay_is_known_by_and_of_all_that_is_bound() -> None:
    plain, one, other = (Item("knowledge", "tea", embedding=each) for each in (None, b"\0" * 4, b"\0" * 8))
    assert plain.digest == one.digest == other.digest
    assert len({plain.content_digest, one.content_digest, other.content_digest}) == 3
    for size in (1, 3, 5):
        with pytest.raises(ValueError):
            Item("knowledge", "tea", embedding=b"\0" * size)


def test_bounds_name_a_number_or_an_age_or_both() -> None:
    hour = timedelta(hours=1)
    (bound,) = bounds_of(("memories",), Bounds(max_memories=5, max_age=hour))
    assert (bound.most, bound.age) == (5, 3_600_000_000)
    (bound,) = bounds_of(("memories",), Bounds(max_age=timedelta(microseconds=1)))
    assert (bound.most, bound.age) == (None, 1)
    assert bounds_of(("memories",), None) == ()
    (bound,) = bounds_of(("memories",), Bounds(max_age=timedelta.max))
    assert bound.age is not None
    assert TIME_LEAST - bound.age > -(2**63)  # no clock and no age make a number beyond 64 bits
    assert TIME_MOST - bound.age <= TIME_LEAST
    for wrong in ((None, None), (-1, None), (100_001, None), (None, timedelta(0)), (5, -hour)):
        with pytest.raises(ValueError):
            Bounds(*wrong)
    for mistyped in ((True, None), (1.0, None), ("5", None), (None, 3_600), (5, "PT1H")):
        given: Any = mistyped
        with pytest.raises(TypeError):
            Bounds(*given)
