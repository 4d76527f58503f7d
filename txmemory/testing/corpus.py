"""Eight memories that provoke mistakes, and filters, each with what it means said once more in plain Python."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from txmemory import Custom, Filter, Memory, MemoryType

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

MEMORIES = (
    Memory(
        "100% sure_thing 'quoted' \"twice\" c:\\temp",
        id="wild",
        memory_type="knowledge",
        metadata={"path": "c:\\temp", "note": "50%_off", "conversation_id": "c%1", "entity_id": "ada"},
        timestamp=NOON,
        importance=0.5,
    ),
    Memory(
        "100 sure thing\nsecond line",
        id="lines",
        memory_type="task",
        metadata={"path": "c:temp", "note": "50 xoff\n", "conversation_id": "c_1", "entity_id": "Ada"},
        timestamp=NOON,
    ),
    Memory(
        "\u0130STANBUL, d\u0131yar\u0131, TASK",
        id="dotted",
        memory_type=Custom("task"),
        metadata={"note": "", "entity_id": "\u0130", 'say "hi"': "there", "back\\slash": "here", "": "named"},
        timestamp=NOON - MICROSECOND,
        importance=0.0,
    ),
    Memory(
        "stra\u00dfe STRASSE \u1e9e",
        id="sharp",
        memory_type=Custom("Task"),
        metadata={"note": "50%", "say hi": "there", "backslash": "here", "tab\tbed": "x", "a": "1", "b": "1"},
        timestamp=NOON + MICROSECOND,
        importance=1,
    ),
    Memory(
        "5 \u212aelvin",
        id="kelvin",
        memory_type="entity",
        metadata={"entity_id": "ada", "a.b": "dotted", "$": "dollar", "[0]": "first", "it's": "o'clock"},
        timestamp=NOON,
        importance=0.5 + 2**-53,
    ),
    Memory(
        "caf\u00e9 \u00c9COLE",
        id="composed",
        memory_type="user_fact",
        metadata={"entity_id": "caf\u00e9", "caf\u00e9": "1", "%": "per cent", "_": "under", "a": ""},
        timestamp=NOON - timedelta(days=400),
        importance=0.75,
    ),
    Memory(
        "cafe\u0301 e\u0301cole \U0001f375",
        id="decomposed",
        memory_type="user_fact",
        metadata={"entity_id": "cafe\u0301", "cafe\u0301": "1", "null": "null", "conversation_id": ""},
        timestamp=NOON + timedelta(days=400),
        importance=2**-1074,
    ),
    Memory("", id="empty", memory_type="conversation", metadata={}, timestamp=NOON),
)
"""Wildcards, quotes, backslashes, letters of many cases and forms, values that are empty or missing, equal times."""


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


def _is(key: str, value: str) -> Meant:
    return Meant(
        f"{key!r} is {value!r}",
        Filter.by_metadata(key, value),
        lambda memory: key in memory.metadata and memory.metadata[key] == value,
    )


def _has(key: str) -> Meant:
    return Meant(f"has {key!r}", Filter.has_metadata(key), lambda memory: key in list(memory.metadata))


def _holds(key: str, text: str) -> Meant:
    return Meant(
        f"{key!r} holds {text!r}",
        Filter.metadata_contains(key, text),
        lambda memory: any(name == key and value.find(text) >= 0 for name, value in memory.metadata.items()),
    )


def _folded(text: str) -> Meant:
    return Meant(
        f"content holds {text!r} in any case",
        Filter.content_contains(text),
        lambda memory: memory.content.lower().find(text.lower()) >= 0,
    )


def _exactly(text: str) -> Meant:
    return Meant(
        f"content holds {text!r}",
        Filter.content_contains(text, case_sensitive=True),
        lambda memory: memory.content.find(text) >= 0,
    )


def _types(*types: MemoryType | Custom) -> Meant:
    return Meant(
        f"of types {[str(getattr(each, 'name', each)) for each in types]}",
        Filter.by_types(types),
        lambda memory: any(
            type(each) is type(memory.memory_type) and each == memory.memory_type for each in types
        ),
    )


def _least(importance: float) -> Meant:
    return Meant(
        f"of {importance} or more",
        Filter.min_importance(importance),
        lambda memory: memory.importance is not None and not memory.importance < importance,
    )


def _time(memory: Memory) -> datetime:
    assert memory.timestamp is not None, "every memory here has a time"
    return memory.timestamp


def _long(memory: Memory) -> bool:
    return len(memory.content) > 16


def _one_letter_id(memory: Memory) -> bool:
    return memory.id[0] in "cdl"


ALL = Meant("all", Filter.all(), lambda memory: memory in MEMORIES)
NONE = Meant("none", Filter.none(), lambda memory: memory not in MEMORIES)
LONG = Meant("predicate", Filter.custom(_long), _long)
INITIAL = Meant("another predicate", Filter.custom(_one_letter_id), _one_letter_id)
TASK = _types(MemoryType.TASK)
ADA = Meant("about ada", Filter.by_entity("ada"), lambda memory: memory.metadata.get("entity_id") == "ada")
SURE = _least(0.5)
THING = _exactly("thing")

LEAVES = (
    TASK,
    _types(MemoryType.TASK, MemoryType.ENTITY, Custom("task")),
    _types(Custom("Task")),
    ADA,
    Meant(
        "in conversation c%1",
        Filter.by_conversation("c%1"),
        lambda memory: memory.metadata.get("conversation_id") == "c%1",
    ),
    _is("entity_id", "\u0130"),
    _is("entity_id", "caf\u00e9"),
    _is("conversation_id", ""),
    _is("path", "c:\\temp"),
    _is("note", ""),
    _is("", "named"),
    _is('say "hi"', "there"),
    _is("back\\slash", "here"),
    _is("tab\tbed", "x"),
    _is("a.b", "dotted"),
    _is("it's", "o'clock"),
    _is("null", "null"),
    _has("note"),
    _has("conversation_id"),
    _has("%"),
    _has("_"),
    _has("$"),
    _has("[0]"),
    _has("a"),
    _has("cafe\u0301"),
    _has(""),
    _holds("note", "%_"),
    _holds("note", "50%"),
    _holds("note", "\n"),
    _holds("note", ""),
    _holds("path", "\\"),
    _holds("entity_id", "e\u0301"),
    _holds("entity_id", "A"),
    _holds("conversation_id", "_"),
    _holds("tab\tbed", "x"),
    _folded("100%"),
    _folded("e_t"),
    _folded("\\TEMP"),
    _folded("'QUOTED'"),
    _folded("task"),
    _folded("strasse"),
    _folded("stra\u00dfe"),
    _folded("i\u0307stan"),
    _folded("\u0130stanbul"),
    _folded("\u0131"),
    _folded("i"),
    _folded("5 k"),
    _folded("5 \u212a"),
    _folded("\u00c9cole"),
    _folded("\U0001f375"),
    _folded("thing\nSECOND"),
    _exactly("K"),
    THING,
    _exactly("E"),
    _exactly("\u0130S"),
    SURE,
    _least(0.5 + 2**-53),
    _least(1),
    _least(0),
    _least(2**-1074),
    Meant("since noon", Filter.after(NOON), lambda memory: _time(memory) >= NOON),
    Meant(
        "later than noon",
        Filter.after(NOON + MICROSECOND),
        lambda memory: _time(memory) > NOON,
    ),
    Meant("until noon", Filter.before(NOON), lambda memory: _time(memory) <= NOON),
    Meant("at noon", Filter.between(NOON, NOON), lambda memory: _time(memory) == NOON),
    LONG,
)
"""At least one of each leaf; each means some of the memories and not all of them."""

ABSENT = (
    NONE,
    _types(),
    _types(Custom("conversation")),
    _is("note", "50"),
    _is("absent", ""),
    _is("a", "1 "),
    _has("A"),
    _has("path "),
    _holds("absent", ""),
    _folded("%%"),
    _folded("task%"),
    _exactly("ISTANBUL"),
    _exactly("i\u0307"),
    Meant(
        "at no time",
        Filter.between(NOON, NOON - MICROSECOND),
        lambda memory: NOON <= _time(memory) < NOON,
    ),
)
"""Each means none of the memories."""


def _not(inner: Meant) -> Meant:
    return Meant(f"not {inner.name}", ~inner.filter, lambda memory: not inner.means(memory))


def _both(one: Meant, other: Meant) -> Meant:
    return Meant(
        f"({one.name}) and ({other.name})",
        one.filter & other.filter,
        lambda memory: one.means(memory) and other.means(memory),
    )


def _either(one: Meant, other: Meant) -> Meant:
    return Meant(
        f"({one.name}) or ({other.name})",
        one.filter | other.filter,
        lambda memory: one.means(memory) or other.means(memory),
    )


NOTE, KELVIN, NAMED, SURELY = _has("note"), _folded("\u0131"), _is("", "named"), _not(SURE)
COMPOSED = (
    *(_not(each) for each in (*LEAVES, *ABSENT, ALL)),
    _both(TASK, SURELY),
    _both(_both(_types(MemoryType.ENTITY, MemoryType.KNOWLEDGE), ADA), SURE),
    _both(_either(TASK, ADA), _not(THING)),
    _either(_both(TASK, THING), _both(ADA, SURE)),
    _either(TASK, _not(NOTE)),
    _not(_both(ADA, _not(SURE))),
    _not(_either(_not(NOTE), _not(SURE))),
    _not(_not(_either(TASK, ADA))),
    _both(ADA, LONG),
    _both(LONG, INITIAL),
    _either(ADA, LONG),
    _either(LONG, _either(TASK, NOTE)),
    _not(_both(ADA, LONG)),
    _not(_either(TASK, LONG)),
    _both(NOTE, _not(LONG)),
    _either(TASK, _both(LONG, SURE)),
    _both(_either(LONG, TASK), _not(_both(INITIAL, SURE))),
    _not(_both(_not(LONG), _not(KELVIN))),
    _both(_not(NAMED), NOTE),
    _either(NAMED, ADA),
    _not(_either(NAMED, KELVIN)),
    _both(ALL, TASK),
    _either(NONE, _both(ALL, ADA)),
    _both(NONE, LONG),
    _either(ALL, LONG),
)

FILTERS = (ALL, *LEAVES, *ABSENT, *COMPOSED)
"""Every filter, by name."""

ALGEBRA = (ADA, NOTE, SURELY, KELVIN, LONG, _either(TASK, LONG), NAMED)
"""A few of each sort: exact, with nothing to compare, decided after reading."""
