"""What a datastore is asked of a condition: never less than it accepts, no more where that is said to be exact."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from tests.rules.conditions import PREDICATES, conditions, found, leaf_conditions
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
    leaves,
)
from txmemory.model.item import Stored
from txmemory.rules.matches import matches
from txmemory.rules.narrowing import DEEPEST, Narrowed, narrowed, on_heads

TASK, VITAL = KindIn(frozenset(["task"])), ImportanceFrom(0.5)
CUSTOM = Satisfies(PREDICATES[0])
FOLDED = TextContains("\u00e9")
ODD = AttributeThere("")
ANYTHING = Narrowed(Everything(), exact=False)


@given(conditions, found)
@settings(max_examples=1_000)
def test_a_datastore_accepts_all_that_matches_and_no_more_where_it_is_exact(
    condition: Condition, stored: Stored
) -> None:
    asked, exact = narrowed(condition)
    accepted = matches(asked, stored)
    assert accepted or not matches(condition, stored)
    if exact:
        assert accepted == matches(condition, stored)


@given(conditions)
def test_a_datastore_is_asked_nothing_but_what_it_decides(condition: Condition) -> None:
    asked, exact = narrowed(condition)
    assert all(narrowed(leaf) == (leaf, True) for leaf in leaves(asked))
    assert exact == all(narrowed(leaf).exact for leaf in leaves(condition))


@given(leaf_conditions)
def test_a_leaf_is_asked_as_it_is_or_not_at_all(leaf: Condition) -> None:
    match leaf:
        case Satisfies():
            decided = False
        case TextContains(text=text, case_sensitive=False):
            decided = all(ord(letter) < 128 or letter == "\u212a" for letter in text)
        case AttributeThere(name=name) | AttributeIs(name=name) | AttributeContains(name=name):
            decided = name != "" and not any(letter in '"\\' or ord(letter) < 32 for letter in name)
        case _:
            decided = True
    assert narrowed(leaf) == (Narrowed(leaf, exact=True) if decided else ANYTHING)


@pytest.mark.parametrize("undecided", [CUSTOM, FOLDED, ODD], ids=["predicate", "letters", "name"])
def test_a_composition_asks_what_its_rule_allows(undecided: Condition) -> None:
    rules: list[tuple[Condition, Condition, bool]] = [
        (AllOf((TASK, VITAL)), AllOf((TASK, VITAL)), True),
        (AllOf((TASK, undecided)), AllOf((TASK,)), False),
        (AllOf((undecided, TASK, Everything())), AllOf((TASK, Everything())), False),
        (AllOf((undecided,)), AllOf(()), False),
        (AllOf(()), AllOf(()), True),
        (AnyOf((TASK, VITAL)), AnyOf((TASK, VITAL)), True),
        (AnyOf((TASK, undecided)), Everything(), False),
        (AnyOf((undecided, Nothing())), Everything(), False),
        (AnyOf((AllOf((TASK, undecided)), VITAL)), AnyOf((AllOf((TASK,)), VITAL)), False),
        (AnyOf(()), AnyOf(()), True),
        (Not(TASK), Not(TASK), True),
        (Not(undecided), Everything(), False),
        (Not(Not(undecided)), Everything(), False),
        (Not(AllOf((TASK, undecided))), Everything(), False),
        (Not(AnyOf((TASK, undecided))), Everything(), False),
        (AllOf((Not(undecided), Not(TASK))), AllOf((Not(TASK),)), False),
    ]
    for condition, asked, exact in rules:
        assert narrowed(condition) == (asked, exact)


@pytest.mark.parametrize(
    "around",
    [Not, lambda inner: AllOf((inner,)), lambda inner: AnyOf((TASK, inner))],
    ids=["not", "all", "any"],
)
def test_what_is_nested_deeper_than_a_parser_can_hold_is_decided_after_reading(
    around: Callable[[Condition], Condition],
) -> None:
    deep: Condition = TASK
    for _ in range(DEEPEST):
        deep = around(deep)
    assert narrowed(deep) == (deep, True)
    assert not narrowed(around(deep)).exact
    assert narrowed(AllOf((around(deep), VITAL))).condition != Everything()


def test_heads_decide_what_they_hold_and_nothing_else() -> None:
    heads = (
        TASK,
        VITAL,
        AttributeIs("k", "v"),
        AttributeThere("k"),
        AttributeContains("k", "\u00e9"),
        CreatedWithin(0, 1),
        Nothing(),
        AllOf((TASK, Not(AnyOf((VITAL, Everything()))))),
    )
    for condition in heads:
        assert on_heads(condition)
        for other in (CUSTOM, FOLDED, ODD, TextContains("a"), TextContains("a", case_sensitive=True)):
            assert not on_heads(other)
            assert not on_heads(AllOf((condition, other)))
            assert not on_heads(Not(AnyOf((other, condition))))


def test_beyond_ascii_two_letters_alone_have_a_lower_case_of_ascii() -> None:
    """S2: so that a part that is ASCII is found by lowering A to Z and those two."""
    odd = {
        chr(code): chr(code).lower()
        for code in range(128, sys.maxunicode + 1)
        if any(letter.isascii() for letter in chr(code).lower())
    }
    assert odd == {"\u0130": "i\u0307", "\u212a": "k"}
    assert {chr(code): chr(code).lower() for code in range(128) if chr(code).lower() != chr(code)} == {
        upper: chr(ord(upper) + 32) for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    }
