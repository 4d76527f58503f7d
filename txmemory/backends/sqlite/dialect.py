"""The statements in SQLite's dialect, compiled once a process to the text that the driver runs."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, literal_column, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.ddl import ExecutableDDLElement

from txmemory.backends.sql.statements import Statements, statements
from txmemory.backends.sql.tables import event, metadata

_dialect = sqlite.dialect(paramstyle="named")
_positional = sqlite.dialect(paramstyle="qmark")


def compiled(element: ClauseElement | ExecutableDDLElement) -> str:
    """The text of a statement."""
    return str(element.compile(dialect=_dialect))


def compiled_row(element: ClauseElement) -> str:
    """The text of a statement that binds whole rows: by position, which costs the driver half."""
    return str(element.compile(dialect=_positional))


@cache
def sqlite_statements() -> Statements:
    """Every statement."""
    return statements(compiled, compiled_row, sqlite.insert, append_event=_append_event())


def _append_event() -> ClauseElement:
    """Numbers an event by its time, or behind the newest: a number is not given again when the newest is lost.

    The number is bound in front of the row, as the least that it may be.
    """
    newest = func.coalesce(select(func.max(event.c.row)).scalar_subquery(), literal_column("0"))
    number: ColumnElement[int] = func.max(bindparam("least"), newest + literal_column("1"))
    given: dict[str, Any] = {
        column.name: bindparam(column.name) for column in event.c if column is not event.c.row
    }
    return insert(event).values({"row": number, **given}).inline()


@cache
def creation() -> tuple[str, ...]:
    """What makes a fresh schema."""
    tables = metadata.sorted_tables
    made: list[ExecutableDDLElement] = [CreateTable(table) for table in tables]
    made.extend(
        CreateIndex(index)
        for table in tables
        for index in sorted(table.indexes, key=lambda each: str(each.name))
    )
    return tuple(compiled(each) for each in made)
