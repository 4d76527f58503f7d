"""Which index of the heads answers a condition, and where a walk along it begins and ends.

No statistics are asked: SQLite has none, and a server none until it has analysed. So on SQLite the index is named, on
a server it alone has the order that is asked for, and no other clause may move the ends.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, FromClause, Text, bindparam, tuple_

from txmemory.backends.sql.narrowing import Place, Shape, by_name, width
from txmemory.backends.sql.tables import INDEXED_ATTRIBUTES
from txmemory.rules import order

KINDS_APART = 10
"""So many kinds are walked each on its own, and brought together; more are looked for among all, by age."""


WALKS_TOGETHER = 40
"""So many conditions are said in all walks together: each says all of them, and a statement has to be made."""


class Walk(NamedTuple):
    """A walk along one index; the numbers of the values that say which kind, from when, and to when."""

    along: str
    kind: int | None
    after: int | None
    before: int | None

    @property
    def order(self) -> tuple[str, ...]:
        """The order of recall as the index has it; the kind is the same all the way."""
        return order.RECALL if self.kind is None else ("kind", *order.RECALL)

    def said(self, *, behind: bool) -> frozenset[int]:
        """The numbers of the values that its ends look after. Behind a place nothing else is the upper end."""
        numbers = self.kind, self.after, None if behind else self.before
        return frozenset(number for number in numbers if number is not None)

    def ends(self, item: FromClause, *, behind: bool, place: Place = by_name) -> list[ColumnElement[bool]]:
        """The lower end and the upper one, which behind a place is that place."""
        kind = [] if self.kind is None else [place(self.kind, Text())]
        low, high = list(kind), list(kind)
        if self.after is not None:
            low.append(place(self.after, BigInteger()))
        if behind:
            high.extend(bindparam(f"after_{name}") for name in order.RECALL)
        elif self.before is not None:
            high.append(place(self.before, BigInteger()))
        found = []
        if low:
            found.append(_row(self._first(item, len(low))) >= _row(low))
        if high:
            columns = _row(self._first(item, len(high)))
            found.append(columns < _row(high) if behind else columns <= _row(high))
        return found

    def _first(self, item: FromClause, size: int) -> list[ColumnElement[Any]]:
        return [item.c[name] for name in self.order[:size]]


def _row(values: list[ColumnElement[Any]]) -> ColumnElement[Any]:
    return values[0] if len(values) == 1 else tuple_(*values)


def walks(shape: Shape) -> tuple[Walk, ...]:
    """The walks that find all that a condition of this shape accepts, none of it twice.

    By a conversation or an entity before by kind, of which there are fewer.
    """
    parts = list(_conjuncts(shape, 0))
    after = next((number for number, leaf in parts if leaf[:2] == ("created", True)), None)
    before = next((number + leaf[1] for number, leaf in parts if leaf[0] == "created" and leaf[2]), None)
    for name in INDEXED_ATTRIBUTES:
        if any(leaf == ("is", name) for _, leaf in parts):
            return (Walk(name, None, after, before),)
    kinds = [(leaf[1], number) for number, leaf in parts if leaf[0] == "kinds"]
    few, first = min(kinds, default=(0, 0))
    if 1 <= few <= KINDS_APART and few * _size(shape) <= WALKS_TOGETHER:
        return tuple(Walk("kind", first + place, after, before) for place in range(few))
    return (Walk("age", None, after, before),)


def _size(shape: Shape) -> int:
    return 1 + sum(_size(part) for part in shape if isinstance(part, tuple))


def _conjuncts(shape: Shape, number: int) -> Iterator[tuple[int, Shape]]:
    """What has to hold together, each with the number of its first value."""
    if shape[0] != "all":
        yield number, shape
        return
    for part in shape[1:]:
        yield from _conjuncts(part, number)
        number += width(part)
