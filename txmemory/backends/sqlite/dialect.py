"""The statements in SQLite's dialect, compiled once a process to the text that the driver runs."""

from functools import cache

from sqlalchemy import FromClause
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.ddl import ExecutableDDLElement

from txmemory.backends.sql.claiming import ClaimStatements
from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sql.mending import MendStatements
from txmemory.backends.sql.reading import ReadStatements
from txmemory.backends.sql.spelling import FILE_CHECK, Spelling, bound_clock, rising_number
from txmemory.backends.sql.tables import tables
from txmemory.backends.sql.texts import SqliteTexts

_dialect = sqlite.dialect(paramstyle="named")
_positional = sqlite.dialect(paramstyle="qmark")


class _Compiler(SQLiteCompiler):
    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        """What stands behind a table's name."""
        return text


for _each in (_dialect, _positional):
    _each.statement_compiler = _Compiler

TABLES = tables("txm_", None)


def compiled(element: ClauseElement | ExecutableDDLElement) -> str:
    """The text of a statement."""
    return str(element.compile(dialect=_dialect))


def compiled_row(element: ClauseElement) -> str:
    """The text of a statement that binds whole rows: by position, which costs the driver half."""
    return str(element.compile(dialect=_positional))


@cache
def guard_statements() -> GuardStatements[str]:
    """What the guard runs; BEGIN IMMEDIATE has locked everything."""
    return GuardStatements(_spelling(), compiled_row, lock=False).built()


@cache
def read_statements() -> ReadStatements[str]:
    """What queries run."""
    return ReadStatements(_spelling())


@cache
def claim_statements() -> ClaimStatements[str]:
    """What claims run."""
    return ClaimStatements(_spelling(), lock=False)


@cache
def mend_statements() -> MendStatements[str]:
    """What a repair runs."""
    return MendStatements(_spelling(), read_statements())


@cache
def _spelling() -> Spelling[str]:
    return Spelling(
        TABLES,
        compiled,
        sqlite.insert,
        bound_clock(),
        SqliteTexts(),
        rising_number(TABLES),
        intact=FILE_CHECK,
    )


@cache
def creation() -> tuple[str, ...]:
    """What makes a fresh schema. The one lock needs no rows for namespaces."""
    made: list[ExecutableDDLElement] = []
    for table in TABLES.metadata.sorted_tables:
        if table is not TABLES.namespace:
            made.append(CreateTable(table))
            made.extend(
                CreateIndex(index) for index in sorted(table.indexes, key=lambda each: str(each.name))
            )
    return tuple(compiled(each) for each in made)
