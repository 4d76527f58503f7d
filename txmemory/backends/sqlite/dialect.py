"""The statements in SQLite's dialect, compiled once a process to the text that the driver runs."""

from functools import cache

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.ddl import ExecutableDDLElement

from txmemory.backends.sql.statements import Statements, statements
from txmemory.backends.sql.tables import metadata

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
    return statements(compiled, compiled_row, sqlite.insert)


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
