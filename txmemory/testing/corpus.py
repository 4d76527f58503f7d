"""Eight memories that provoke mistakes, and filters that tell them apart."""

from datetime import UTC, datetime, timedelta

from txmemory import Custom, Filter, Memory, MemoryType
from txmemory.testing.meanings import (
    Meant,
    both,
    having,
    holding,
    negated,
    one_of,
    saying,
    spelling,
    timed,
    typed,
    valued,
    weighing,
)

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


def _long(memory: Memory) -> bool:
    return len(memory.content) > 16


def _one_letter_id(memory: Memory) -> bool:
    return memory.id[0] in "cdl"


ALL = Meant("all", Filter.all(), lambda memory: memory in MEMORIES)
NONE = Meant("none", Filter.none(), lambda memory: memory not in MEMORIES)
LONG = Meant("predicate", Filter.custom(_long), _long)
INITIAL = Meant("another predicate", Filter.custom(_one_letter_id), _one_letter_id)
TASK = typed(MemoryType.TASK)
ADA = Meant("about ada", Filter.by_entity("ada"), lambda memory: memory.metadata.get("entity_id") == "ada")
SURE = weighing(0.5)
THING = spelling("thing")

LEAVES = (
    TASK,
    typed(MemoryType.TASK, MemoryType.ENTITY, Custom("task")),
    typed(Custom("Task")),
    ADA,
    Meant(
        "in conversation c%1",
        Filter.by_conversation("c%1"),
        lambda memory: memory.metadata.get("conversation_id") == "c%1",
    ),
    valued("entity_id", "\u0130"),
    valued("entity_id", "caf\u00e9"),
    valued("conversation_id", ""),
    valued("path", "c:\\temp"),
    valued("note", ""),
    valued("", "named"),
    valued('say "hi"', "there"),
    valued("back\\slash", "here"),
    valued("tab\tbed", "x"),
    valued("a.b", "dotted"),
    valued("it's", "o'clock"),
    valued("null", "null"),
    having("note"),
    having("conversation_id"),
    having("%"),
    having("_"),
    having("$"),
    having("[0]"),
    having("a"),
    having("cafe\u0301"),
    having(""),
    holding("note", "%_"),
    holding("note", "50%"),
    holding("note", "\n"),
    holding("note", ""),
    holding("path", "\\"),
    holding("entity_id", "e\u0301"),
    holding("entity_id", "A"),
    holding("conversation_id", "_"),
    holding("tab\tbed", "x"),
    saying("100%"),
    saying("e_t"),
    saying("\\TEMP"),
    saying("'QUOTED'"),
    saying("task"),
    saying("strasse"),
    saying("stra\u00dfe"),
    saying("i\u0307stan"),
    saying("\u0130stanbul"),
    saying("\u0131"),
    saying("i"),
    saying("5 k"),
    saying("5 \u212a"),
    saying("\u00c9cole"),
    saying("\U0001f375"),
    saying("thing\nSECOND"),
    spelling("K"),
    THING,
    spelling("E"),
    spelling("\u0130S"),
    SURE,
    weighing(0.5 + 2**-53),
    weighing(1),
    weighing(0),
    weighing(2**-1074),
    timed(NOON, None),
    timed(NOON + MICROSECOND, None),
    timed(None, NOON),
    timed(NOON, NOON),
    LONG,
)
"""At least one of each leaf; each means some of the memories and not all of them."""

ABSENT = (
    NONE,
    typed(),
    typed(Custom("conversation")),
    valued("note", "50"),
    valued("absent", ""),
    valued("a", "1 "),
    having("A"),
    having("path "),
    holding("absent", ""),
    saying("%%"),
    saying("task%"),
    spelling("ISTANBUL"),
    spelling("i\u0307"),
    timed(NOON, NOON - MICROSECOND),
)
"""Each means none of the memories."""


NOTE, KELVIN, NAMED, SURELY = having("note"), saying("\u0131"), valued("", "named"), negated(SURE)
COMPOSED = (
    *(negated(each) for each in (*LEAVES, *ABSENT, ALL)),
    both(TASK, SURELY),
    both(both(typed(MemoryType.ENTITY, MemoryType.KNOWLEDGE), ADA), SURE),
    both(one_of(TASK, ADA), negated(THING)),
    one_of(both(TASK, THING), both(ADA, SURE)),
    one_of(TASK, negated(NOTE)),
    negated(both(ADA, negated(SURE))),
    negated(one_of(negated(NOTE), negated(SURE))),
    negated(negated(one_of(TASK, ADA))),
    both(ADA, LONG),
    both(LONG, INITIAL),
    one_of(ADA, LONG),
    one_of(LONG, one_of(TASK, NOTE)),
    negated(both(ADA, LONG)),
    negated(one_of(TASK, LONG)),
    both(NOTE, negated(LONG)),
    one_of(TASK, both(LONG, SURE)),
    both(one_of(LONG, TASK), negated(both(INITIAL, SURE))),
    negated(both(negated(LONG), negated(KELVIN))),
    both(negated(NAMED), NOTE),
    one_of(NAMED, ADA),
    negated(one_of(NAMED, KELVIN)),
    both(ALL, TASK),
    one_of(NONE, both(ALL, ADA)),
    both(NONE, LONG),
    one_of(ALL, LONG),
)

FILTERS = (ALL, *LEAVES, *ABSENT, *COMPOSED)
"""Every filter, by name."""

ALGEBRA = (ADA, NOTE, SURELY, KELVIN, LONG, one_of(TASK, LONG), NAMED)
"""A few of each sort: exact, with nothing to compare, decided after reading."""
