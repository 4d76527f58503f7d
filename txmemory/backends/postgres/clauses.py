"""The clause by which `commit_v1` ends items: text of this package's own, with the caller's values left out."""

from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, literal_column
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

from txmemory.backends.sql import narrowing
from txmemory.backends.sql.tables import tables
from txmemory.backends.sql.texts import PostgresTexts

_dialect = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]  # untyped there
_heads = tables("", None).item.alias("i")


@lru_cache(maxsize=64)
def clause(shape: narrowing.Shape) -> str:
    """The SQL of every condition of this shape over the heads `i`; its values are the elements of $3, as texts."""
    return str(narrowing.clause(PostgresTexts(), shape, _heads, None, _element).compile(dialect=_dialect))


def _element(number: int, type_: TypeEngine[Any]) -> ColumnElement[Any]:
    element: ColumnElement[Any] = literal_column(f"($3)[{number + 1}]", Text())
    return element if isinstance(type_, Text) else cast(element, type_)
