"""Conditions as SQL: a clause for each shape of condition, and the values that it binds.

A leaf may be NULL, which a query takes for false and which only a negation could turn round: so that is where it is
made false. Conditions come from `rules.narrowing`, which leaves what no engine can decide to `rules.matches`.
"""

import operator
from collections.abc import Callable, Collection, Iterator
from itertools import compress
from typing import Any, assert_never

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Text,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    not_,
    or_,
    true,
)
from sqlalchemy.types import TypeEngine

from txmemory.backends.sql.tables import INDEXED_ATTRIBUTES, INDEXED_BYTES
from txmemory.backends.sql.texts import Texts
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

Shape = tuple[Any, ...]
"""What makes two conditions the same SQL: their names, how they are composed, and how many values they bind."""
Place = Callable[[int, TypeEngine[Any]], ColumnElement[Any]]
"""How the value with a number, of a type, is named in the statement."""


def shape(condition: Condition) -> Shape:
    """The condition without its values."""
    match condition:
        case Everything():
            return ("everything",)
        case Nothing():
            return ("nothing",)
        case KindIn(kinds=kinds):
            return "kinds", len(kinds)
        case AttributeThere(name=name):
            return "there", _indexed(name)
        case AttributeIs(name=name, value=value):
            return "is", _indexed(name) if _held(value) else None
        case AttributeContains(name=name):
            return "contains", _indexed(name)
        case CreatedWithin(after=after, before=before):
            return "created", after is not None, before is not None
        case ImportanceFrom():
            return ("importance",)
        case TextContains(case_sensitive=case_sensitive):
            return "text", case_sensitive
        case AllOf(parts=parts):
            return "all", *map(shape, parts)
        case AnyOf(parts=parts):
            return "any", *map(shape, parts)
        case Not(part=part):
            return "not", shape(part)
        case Satisfies():
            raise AssertionError("no datastore decides what a predicate says")
        case unreachable:
            assert_never(unreachable)


def _indexed(name: str) -> str | None:
    return name if name in INDEXED_ATTRIBUTES else None


def _held(value: str) -> bool:
    """Whether the index of an attribute would hold the value."""
    return len(value.encode()) <= INDEXED_BYTES


def bound(condition: Condition) -> dict[str, Any]:
    """What the clause of its shape binds, by name."""
    return {f"value_{number}": value for number, value in enumerate(values(condition))}


def values(condition: Condition) -> Iterator[Any]:
    """What it binds, in the order of the clause."""
    match condition:
        case KindIn(kinds=kinds):
            yield from sorted(kinds)
        case AttributeThere(name=name):
            yield from _unless_indexed(name)
        case AttributeIs(name=name, value=value):
            yield from (*(_unless_indexed(name) if _held(value) else (name,)), value)
        case AttributeContains(name=name, text=text):
            yield from (*_unless_indexed(name), text)
        case CreatedWithin(after=after, before=before):
            yield from (each for each in (after, before) if each is not None)
        case ImportanceFrom(least=least):
            yield least
        case TextContains(text=text, case_sensitive=case_sensitive):
            yield text if case_sensitive else text.lower()
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from values(part)
        case Not(part=part):
            yield from values(part)
        case _:
            pass


def _unless_indexed(name: str) -> tuple[str, ...]:
    return () if name in INDEXED_ATTRIBUTES else (name,)


def width(shape: Shape) -> int:
    """How many values the clause of this shape binds."""
    match shape:
        case ("kinds", number):
            return int(number)
        case ("there", indexed):
            return int(indexed is None)
        case ("is" | "contains", indexed):
            return 1 + (indexed is None)
        case ("created", after, before):
            return int(after) + int(before)
        case ("importance",) | ("text", _):
            return 1
        case _:
            return sum(width(part) for part in shape[1:])


def looks_at_text(shape: Shape) -> bool:
    """Whether the clause needs the newest revision beside the head."""
    return shape[0] == "text" or any(isinstance(part, tuple) and looks_at_text(part) for part in shape)


_NEVER = literal_column("0") == literal_column("1")
"""False beside other clauses, of which SQLAlchemy's own would leave none, nor the index that they name."""


def by_name(number: int, type_: TypeEngine[Any]) -> ColumnElement[Any]:
    """A value that is bound by name."""
    return bindparam(f"value_{number}", type_=type_)


def clause(
    texts: Texts,
    shape: Shape,
    item: FromClause,
    revision: FromClause | None,
    place: Place = by_name,
    said: Collection[int] | None = None,
) -> ColumnElement[bool]:
    """The SQL of every condition of this shape over heads and, where it looks at texts, their newest revisions.

    `said` numbers the values that the statement says otherwise, by where it begins and ends along an index; no other
    time is then spelled so that an engine would begin or end there.
    """
    return _Clause(texts, item, revision, place, said).of(shape)


class _Clause:
    """One clause as it is made: values are numbered from left to right."""

    def __init__(
        self,
        texts: Texts,
        item: FromClause,
        revision: FromClause | None,
        place: Place,
        said: Collection[int] | None,
    ) -> None:
        self._texts = texts
        self._item = item
        self._revision = revision
        self._said = said or ()
        self._created_at = item.c.created_at if said is None else item.c.created_at + literal_column("0")
        self._place = place
        self._number = 0

    def of(self, shape: Shape) -> ColumnElement[bool]:
        item, texts = self._item.c, self._texts
        match shape:
            case ("everything",):
                return true()
            case ("nothing",) | ("kinds", 0):
                return _NEVER
            case ("kinds", number):
                return self._of_kinds(number)
            case ("there", indexed):
                return texts.is_text(item.attributes, indexed or self._value())
            case ("is", indexed):
                name = indexed or self._value()
                return texts.is_value(item.attributes, name, self._value())
            case ("contains", indexed):
                name = indexed or self._value()
                is_text = texts.is_text(item.attributes, name)
                return and_(is_text, texts.holds(texts.attribute(item.attributes, name), self._value()))
            case ("created", after, before):
                return and_(true(), *self._created(after, before))
            case ("importance",):
                return item.importance >= self._value(Double())
            case ("text", case_sensitive):
                assert self._revision is not None, "a removal looks at heads alone"
                text = self._revision.c.text
                return texts.holds(text if case_sensitive else texts.lowered(text), self._value())
            case ("all", *parts):
                return and_(true(), *map(self.of, parts))
            case ("any", *parts):
                return or_(false(), *map(self.of, parts))
            case ("not", part):
                return not_(func.coalesce(self.of(part), false()))
            case _:
                raise AssertionError("not a shape")

    def _of_kinds(self, number: int) -> ColumnElement[bool]:
        said = any(self._number + place in self._said for place in range(number))
        kinds = [self._value() for _ in range(number)]
        if said:
            return true()
        return self._item.c.kind == kinds[0] if number == 1 else self._item.c.kind.in_(kinds)

    def _created(self, *given: bool) -> Iterator[ColumnElement[bool]]:
        for compared in compress((operator.ge, operator.le), given):
            said = self._number in self._said
            value = self._value(BigInteger())
            if not said:
                yield compared(self._created_at, value)

    def _value(self, type_: TypeEngine[Any] | None = None) -> ColumnElement[Any]:
        number = self._number
        self._number += 1
        return self._place(number, type_ or Text())
