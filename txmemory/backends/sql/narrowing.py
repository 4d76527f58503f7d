"""Conditions as SQL: a clause for each shape of condition, and the values that it binds."""

from typing import Any, assert_never

from sqlalchemy import ColumnElement, Table, bindparam, false, true

from txmemory.model.filter import Condition, Everything, KindIn, Nothing

Shape = tuple[str, int]
"""What makes two conditions the same SQL: the condition's name, and how many values it binds."""


def shape(condition: Condition) -> Shape:
    """The condition without its values."""
    match condition:
        case Everything():
            return "everything", 0
        case Nothing():
            return "nothing", 0
        case KindIn(kinds=kinds):
            return ("kinds", len(kinds)) if kinds else ("nothing", 0)
        case unreachable:
            assert_never(unreachable)


def clause(item: Table, shape: Shape) -> ColumnElement[bool]:
    """The SQL of every condition of this shape over the heads."""
    name, size = shape
    match name:
        case "everything":
            return true()
        case "kinds" if size == 1:
            return item.c.kind == bindparam("kind_0")
        case "kinds":
            return item.c.kind.in_([bindparam(f"kind_{place}") for place in range(size)])
        case _:
            return false()


def values(condition: Condition) -> dict[str, Any]:
    """What the clause binds."""
    if isinstance(condition, KindIn):
        return {f"kind_{place}": kind for place, kind in enumerate(sorted(condition.kinds))}
    return {}
