"""What each condition means, and in which order what it accepts is listed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import head
from txmemory.model.address import Address
from txmemory.model.filter import Everything, KindIn, Nothing
from txmemory.model.item import Item, Stored
from txmemory.rules import order
from txmemory.rules.matches import matches

kinds = st.sampled_from(["task", "Task", "custom:task", "tas%", "t_sk"])


def stored(kind: str) -> Stored:
    return Stored(Address(("memories",), "a"), 1, Item(kind), 0)


@given(st.frozensets(kinds), kinds)
def test_a_condition_accepts_exactly_what_it_names(named: frozenset[str], kind: str) -> None:
    assert matches(Everything(), stored(kind))
    assert not matches(Nothing(), stored(kind))
    assert matches(KindIn(named), stored(kind)) == (kind in named)


@pytest.mark.parametrize("kind", ["", "a\x00", "\ud800"])
def test_a_condition_names_kinds_that_can_be_stored(kind: str) -> None:
    with pytest.raises(ValueError):
        KindIn(frozenset([kind]))


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
