"""What each condition means, and in which order what it accepts is listed."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rules.examples import at, head
from txmemory.memories.filter import Filter
from txmemory.memories.values import Memory
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
from txmemory.model.item import TIME_LEAST, TIME_MOST, Item, Scalar, Stored
from txmemory.rules import order
from txmemory.rules.matches import matches


def stored(item: Item, created_at: int = 0) -> Stored:
    return Stored(at("a"), 1, item, created_at)


def tagged(value: Scalar) -> Stored:
    return stored(Item("task", attributes={"k": value}))


def text(content: str) -> Stored:
    return stored(Item("task", content))


YES, NO = (tagged(answer) for answer in (True, False))
TASK, HALF = stored(Item("task")), stored(Item("task", importance=0.5))
CASES: list[tuple[Condition, list[Stored], list[Stored]]] = [
    (Everything(), [TASK, text("tea")], []),
    (Nothing(), [], [TASK, text("tea")]),
    (
        KindIn(frozenset(["task", "t%"])),
        [TASK, stored(Item("t%"))],
        [stored(Item(kind)) for kind in ("Task", "custom:task", "tas", "tasks", "tx")],
    ),
    (KindIn(frozenset()), [], [TASK]),
    (AttributeThere("k"), [tagged(""), tagged("v")], [TASK, tagged(1), NO]),
    (AttributeIs("k", ""), [tagged("")], [TASK, tagged(" "), tagged(0), NO]),
    (AttributeIs("k", "1"), [tagged("1")], [tagged(1), YES, tagged("1.0"), tagged("11")]),
    (AttributeIs("k", "a%"), [tagged("a%")], [tagged("ab"), tagged("A%")]),
    (AttributeContains("k", ""), [tagged(""), tagged("v")], [TASK, tagged(1)]),
    (AttributeContains("k", "a_"), [tagged("ba_c")], [tagged("bab"), tagged("A_"), TASK]),
    (AttributeContains("k", "1"), [tagged("21")], [tagged(1), YES]),
    (CreatedWithin(), [stored(Item("task"), 5), stored(Item("task"), -5)], []),
    (
        CreatedWithin(1, 2),
        [stored(Item("task"), n) for n in (1, 2)],
        [stored(Item("task"), n) for n in (0, 3)],
    ),
    (CreatedWithin(after=1), [stored(Item("task"), 1)], [TASK]),
    (CreatedWithin(before=-1), [stored(Item("task"), -1)], [TASK]),
    (CreatedWithin(0, 1), [stored(Item("task", created_at=9), 0)], [stored(Item("task", created_at=0), 9)]),
    (CreatedWithin(2, 1), [], [stored(Item("task"), n) for n in (1, 2)]),
    (
        ImportanceFrom(0.5),
        [HALF, stored(Item("task", importance=1))],
        [TASK, stored(Item("task", importance=0.4))],
    ),
    (ImportanceFrom(0), [stored(Item("task", importance=0))], [TASK]),
    (TextContains(""), [text(""), text("tea")], []),
    (TextContains("TEA"), [text("green Tea")], [text("t ea"), text("")]),
    (TextContains("stra\u00dfe"), [text("STRA\u1e9eE")], [text("strasse"), text("STRASSE")]),
    (TextContains("i"), [text("\u0130"), text("I")], [text("\u0131")]),
    (TextContains("\u212a"), [text("k"), text("K"), text("\u212a")], [text("x")]),
    (TextContains("caf\u00e9"), [text("CAF\u00c9")], [text("cafe\u0301"), text("cafe")]),
    (TextContains("Tea", case_sensitive=True), [text("Teapot")], [text("tea"), text("TEA")]),
    (TextContains("%", case_sensitive=True), [text("100%")], [text("100")]),
    (Satisfies(lambda found: found.revision == 1), [TASK], []),
    (Satisfies(lambda found: found.item.text == "tea"), [text("tea")], [TASK]),
    (AllOf((KindIn(frozenset(["task"])), ImportanceFrom(0.5))), [HALF], [TASK]),
    (AnyOf((Nothing(), ImportanceFrom(0.5))), [HALF], [TASK]),
    (Not(ImportanceFrom(0.5)), [TASK], [HALF]),
    (Not(AttributeIs("k", "v")), [TASK, tagged(1)], [tagged("v")]),
]


@pytest.mark.parametrize(("condition", "accepted", "refused"), CASES)
def test_a_condition_accepts_exactly_what_it_says(
    condition: Condition, accepted: list[Stored], refused: list[Stored]
) -> None:
    assert [matches(condition, each) for each in accepted] == [True] * len(accepted)
    assert [matches(condition, each) for each in refused] == [False] * len(refused)


def test_a_predicate_answers_true_or_false_and_nothing_else() -> None:
    async def awaited(_: Stored) -> bool:
        return False

    pending = awaited(TASK)
    wrong: list[Any] = [[0], "", None, 1, NotImplemented, pending, iter([])]

    def answering(answer: Any) -> Satisfies:
        return Satisfies(lambda _: answer)

    for answer in wrong:
        with pytest.raises(TypeError):
            matches(answering(answer), TASK)
    pending.close()


def test_a_composition_asks_no_further_than_it_must() -> None:
    asked: list[str] = []

    def told(name: str) -> Condition:
        def capital(_: Stored) -> bool:
            asked.append(name)
            return name.isupper()

        return Satisfies(capital)

    assert not matches(AllOf((told("A"), told("b"), told("C"))), TASK)
    assert matches(AnyOf((told("d"), told("E"), told("f"))), TASK)
    assert asked == ["A", "b", "d", "E"]


@pytest.mark.parametrize("kind", ["", "a\x00", "\ud800"])
def test_a_condition_names_kinds_that_can_be_stored(kind: str) -> None:
    with pytest.raises(ValueError):
        KindIn(frozenset([kind]))


@pytest.mark.parametrize(
    "build",
    [
        AttributeThere,
        lambda odd: AttributeIs(odd, "v"),
        lambda odd: AttributeIs("k", odd),
        lambda odd: AttributeContains(odd, "v"),
        lambda odd: AttributeContains("k", odd),
        TextContains,
    ],
)
def test_a_condition_is_of_texts_that_can_be_stored(build: Callable[[Any], Condition]) -> None:
    for odd in ("a\x00", "\ud800"):
        with pytest.raises(ValueError):
            build(odd)
    for wrong in (None, 1, b"k"):
        with pytest.raises(TypeError):
            build(wrong)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ImportanceFrom(1.1),
        lambda: ImportanceFrom(-0.1),
        lambda: ImportanceFrom(float("nan")),
        lambda: CreatedWithin(after=TIME_MOST + 1),
        lambda: CreatedWithin(before=TIME_LEAST - 1),
    ],
)
def test_a_number_of_a_condition_is_one_that_an_item_may_have(build: Callable[[], Condition]) -> None:
    with pytest.raises(ValueError):
        build()


def test_whether_case_counts_is_true_or_false() -> None:
    with pytest.raises(TypeError):
        TextContains("a", 1)  # type: ignore[arg-type]  # the wrong type is the point


def test_an_order_sorts_by_its_columns_in_turn() -> None:
    heads = [
        head("b", created_at=1, expires_at=9),
        head("a", created_at=2, expires_at=8),
        head("a", created_at=1, expires_at=8),
    ]
    newest_first = sorted(heads, key=order.sort_key(order.RECALL), reverse=True)
    assert newest_first == [heads[1], heads[0], heads[2]]
    assert sorted(heads, key=order.sort_key(order.EVICTION)) == newest_first[::-1]
    assert sorted(heads[:2], key=order.sort_key(order.EXPIRED)) == [heads[1], heads[0]]


def test_ids_are_ordered_by_code_point() -> None:
    names = ["B", "a", "b", "\u00e9", "\uffee", "\U0001f375"]
    key = order.sort_key(order.RECALL)
    assert [each.address.id for each in sorted((head(name) for name in reversed(names)), key=key)] == names


def test_filters_are_not_composed_by_and_or_and_not() -> None:
    for wrong in (lambda: Filter.tasks() and Filter.all(), lambda: not Filter.tasks()):
        with pytest.raises(TypeError, match="composed by"):
            wrong()


def test_a_predicate_is_not_awaited() -> None:
    async def junk(memory: Memory) -> bool:
        return memory.content == "junk"

    with pytest.raises(TypeError, match="at once"):
        Filter.custom(junk)  # type: ignore[arg-type]  # the wrong type is the point
