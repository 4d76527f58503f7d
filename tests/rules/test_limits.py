"""Every limit, just inside and just outside."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rules.examples import HERE, at, put, write
from txmemory.memories.bounds import Bounds
from txmemory.memories.values import Custom, Memory
from txmemory.model import limits
from txmemory.model.address import (
    Presenter,
    checked_id,
    checked_key,
    checked_namespace,
    checked_scope,
    checked_tenant,
)
from txmemory.model.command import Swap, Write, WriteMany
from txmemory.model.commit import Guard
from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    Everything,
    KindIn,
    Not,
    TextContains,
)
from txmemory.model.item import Item, checked_data

# What is built, with a size; the largest size that can be built.
Sized = tuple[str, Callable[[int], Any], int]


def nested(levels: int) -> object:
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


def many(size: int) -> WriteMany:
    return WriteMany(tuple(write(key=f"{n}") for n in range(size)))


def many_items(size: int) -> WriteMany:
    halves = [range(size // 2), range(size // 2, size)]
    return WriteMany(tuple(write(*(put(f"{n}") for n in half), key=f"{half}") for half in halves))


def nested_parts(size: int) -> Condition:
    condition: Condition = Everything()
    for level in range(size - 1):
        condition = (Not(condition), AllOf((condition,)), AnyOf((condition,)))[level % 3]
    return condition


def kinds_of_parts(size: int) -> Condition:
    """Kinds that two parts name together, the same ones twice counted twice."""
    some = frozenset(f"{n}" for n in range(size // 2))
    rest = frozenset(f"{n}" for n in range(size - size // 2))
    return Not(AllOf((KindIn(some), AnyOf((Not(KindIn(rest)),)))))


# A namespace is measured as it is stored: ["aaa"] is 5 bytes longer than its part, one part more costs 3 bytes.
SIZED: list[Sized] = [
    ("tenant", lambda n: checked_tenant("a" * n), 128),
    ("scope", lambda n: checked_scope("a" * n), 512),
    ("key", lambda n: checked_key("a" * n), 512),
    ("id", lambda n: checked_id("a" * n), 512),
    ("id beyond ASCII", lambda n: checked_id("ä" * n), 256),
    ("holder", lambda n: Presenter("run", 1, holder="a" * n), 512),
    ("kind", lambda n: Item("a" * n), 512),
    ("kind of a condition", lambda n: KindIn(frozenset(["a" * n])), 512),
    ("kinds of a condition", lambda n: KindIn(frozenset(f"{i}" for i in range(n))), 1_000),
    ("kinds of a composed condition", kinds_of_parts, 1_000),
    ("parts of a condition, side by side", lambda n: AllOf((Everything(),) * (n - 1)), 100),
    ("parts of another, side by side", lambda n: AnyOf((Everything(),) * (n - 1)), 100),
    ("parts of a condition, one in the other", nested_parts, 100),
    ("value of a condition", lambda n: AttributeIs("k", "a" * n), 65_536),
    ("part of a value of a condition", lambda n: AttributeContains("k", "a" * n), 65_536),
    ("name of an attribute of a condition", lambda n: AttributeThere("a" * n), 65_536),
    ("text of a condition", lambda n: TextContains("a" * n), 1_048_576),
    ("custom type", lambda n: Memory("tea", memory_type=Custom("a" * n)), 505),
    ("namespace parts", lambda n: checked_namespace(("a",) * n), 16),
    ("namespace bytes", lambda n: checked_namespace(("a" * n,)), 1_020),
    ("namespace bytes of two parts", lambda n: checked_namespace(("a", "b" * n)), 1_016),
    ("namespace bytes when escaped", lambda n: checked_namespace(('"' * n,)), 510),
    ("text", lambda n: Item("knowledge", "a" * n), 1_048_576),
    ("text beyond ASCII", lambda n: Item("knowledge", "ä" * n), 524_288),
    ("content", lambda n: Memory("a" * n), 1_048_576),
    ("data", lambda n: checked_data("a" * n), 1_048_574),
    ("data beyond ASCII", lambda n: checked_data("ä" * n), 524_287),
    ("attributes", lambda n: Item("knowledge", attributes={"k": "a" * n}), 65_528),
    ("name of an attribute", lambda n: Item("knowledge", attributes={"a" * n: ""}), 65_529),
    ("depth of data", lambda n: checked_data(nested(n)), 32),
    ("digits in data", lambda n: checked_data(10 ** (n - 1)), 1_000),
    ("token", lambda n: Presenter("run", n), 2**63 - 1),
    ("generation", lambda n: Presenter("run", 1, n), 2**63 - 1),
    ("integer attribute", lambda n: Item("knowledge", attributes={"n": n}), 2**63 - 1),
    ("negative attribute", lambda n: Item("knowledge", attributes={"n": -n}), 2**63),
    ("items of a write", lambda n: write(*(put(f"{i}") for i in range(n))), 1_000),
    (
        "sources",
        lambda n: Write("replace", "k", (), sources=tuple(Guard(at(f"{i}")) for i in range(n))),
        1_000,
    ),
    ("expectations", lambda n: write(expect=tuple(Guard(at(f"{i}")) for i in range(n))), 1_000),
    ("writes of a write_many", many, 1_000),
    ("items of a write_many", many_items, 1_000),
    ("max_memories", lambda n: Bounds(max_memories=n), 100_000),
    ("items of a swap", lambda n: Swap(tuple(put(f"{i}") for i in range(n))), 1_000),
    ("ends of a swap", lambda n: Swap((), tuple(at(f"{i}") for i in range(n))), 1_000),
    ("dimensions", lambda n: Memory("tea", embedding=[0.0] * n), 16_384),
]


@pytest.mark.parametrize(("build", "most"), [each[1:] for each in SIZED], ids=[each[0] for each in SIZED])
def test_a_limit_can_be_reached_and_not_passed(build: Callable[[int], Any], most: int) -> None:
    build(most)
    with pytest.raises(ValueError):
        build(most + 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: checked_tenant(""),
        lambda: checked_scope(""),
        lambda: checked_key(""),
        lambda: checked_id(""),
        lambda: checked_namespace(()),
        lambda: checked_namespace(("",)),
        lambda: Item(""),
        lambda: Presenter("run", -1),
        lambda: Presenter("run", 1, -1),
        lambda: Presenter("run", 1, holder=""),
        lambda: Bounds(max_memories=-1),
        lambda: WriteMany(()),
    ],
)
def test_a_limit_holds_at_the_lower_end_too(build: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        build()


def test_a_token_of_zero_and_a_bound_of_zero_are_fine() -> None:
    assert Presenter("run", 0).token == 0
    assert Bounds(max_memories=0).max_memories == 0


def test_a_namespace_as_long_as_allowed_can_be_named() -> None:
    assert checked_namespace((*HERE, "a" * 500, "b" * 500))


def test_deep_json_is_refused_before_it_can_exhaust_the_stack() -> None:
    with pytest.raises(ValueError, match="nested deeper than 32"):
        checked_data(nested(900))


def test_a_page_holds_no_more_than_a_commit_may_name() -> None:
    assert limits.PAGE_ROWS == limits.COMMIT_ITEMS == limits.COMMIT_VICTIMS == limits.COMMIT_ENTRIES == 1_000
