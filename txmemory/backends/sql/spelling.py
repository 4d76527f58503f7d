"""What every statement is made from: the tables, a dialect's insert and clock, and how it is compiled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.sql import ClauseElement

from txmemory.backends.sql.tables import Tables
from txmemory.backends.sql.texts import Texts

Statement = TypeVar("Statement")
"""What a technology runs: text for a driver, or the expression itself."""

FILE_CHECK = text("PRAGMA integrity_check(1)")
"""SQLite's own look at its pages and indexes."""
ROWS: ColumnElement[int] = bindparam("rows")
ZERO: ColumnElement[int] = literal_column("0")
"""Said behind a limit, because SQLite's dialect would bind a zero of its own there."""


def bound_clock() -> ColumnElement[int]:
    """The time that the caller binds as `now`."""
    return bindparam("now")


def database_clock() -> ColumnElement[int]:
    """The time that the caller binds as `now`, or where that is NULL the server's clock, in microseconds."""
    server = func.floor(func.extract("epoch", func.clock_timestamp()) * literal_column("1000000"))
    return func.coalesce(cast(bindparam("now"), BigInteger()), cast(server, BigInteger()))


def rising_number(tables: Tables) -> ColumnElement[int]:
    """Numbers an event by the time bound as `least`, or behind the newest.

    A number is not given again when the newest event is lost.
    """
    newest = func.coalesce(select(func.max(tables.event.c.row)).scalar_subquery(), ZERO)
    number: ColumnElement[int] = func.max(bindparam("least"), newest + literal_column("1"))
    return number


@dataclass(frozen=True, eq=False)
class Spelling(Generic[Statement]):
    """One technology's way: `upsert` is its dialect's insert, which knows ON CONFLICT."""

    tables: Tables
    compile: Callable[[ClauseElement], Statement]
    upsert: Callable[[Any], Any]
    now: ColumnElement[int]
    texts: Texts
    number: ColumnElement[int] | None = None
    """How an event is numbered; None leaves it to the engine."""
    lateral: bool = False
    """Whether what is joined may be a query for each row."""
    intact: ClauseElement = field(default_factory=lambda: select(literal_column("'ok'")))
    """What answers `ok` where the engine finds its own file whole; one that cannot tell says so, too."""

    @property
    def here(self) -> ColumnElement[bool]:
        """Heads of one namespace."""
        item = self.tables.item
        return and_(item.c.tenant == bindparam("tenant"), item.c.namespace == bindparam("namespace"))

    @property
    def live(self) -> ColumnElement[bool]:
        """Heads that are there, in the words of the partial indexes."""
        return self.tables.item.c.live == literal_column("1")

    @property
    def visible(self) -> ColumnElement[bool]:
        """Heads that have not expired."""
        expires_at = self.tables.item.c.expires_at
        return or_(expires_at.is_(None), expires_at > self.now)

    def along(self, index: str, statement: Select[Any]) -> Select[Any]:
        """A statement over heads, along this index: `sqlite://` is told so, a server finds it by the order."""
        item = self.tables.item
        return statement.with_hint(item, f"INDEXED BY {item.name}_{index}", "sqlite")

    def ordered(self, columns: tuple[str, ...], *, descending: bool) -> list[ColumnElement[Any]]:
        """An order of `rules.order` over the heads."""
        item = self.tables.item
        return [item.c[name].desc() if descending else item.c[name].asc() for name in columns]


def columns_of(table: FromClause, names: Sequence[str]) -> list[Any]:
    """These columns of a table."""
    return [table.c[name] for name in names]
