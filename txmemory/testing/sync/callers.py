# Generated from ../aio/callers.py by scripts/generate. Do not edit.
"""Callers with a database connection of their own, on which they keep what they have done."""

import sqlite3
from pathlib import Path
from typing import Any, Protocol, Self

import psycopg
from psycopg import sql

_TABLE = "CREATE TABLE IF NOT EXISTS {} (step text)"


class Caller(Protocol):
    """A runtime that notes its steps in a table of its own, in transactions of its own."""

    @property
    def connection(self) -> Any:
        """The connection, as a store joins it."""
        ...

    def begin(self) -> None:
        """Begins a transaction, no more."""
        ...

    def note(self, step: str) -> None:
        """Notes a step."""
        ...

    def notes(self) -> list[str]:
        """The steps that are noted, as this connection sees them."""
        ...

    def commit(self) -> None:
        """Ends the transaction; it is there."""
        ...

    def roll_back(self) -> None:
        """Ends the transaction; it never was."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class SqliteCaller:
    """On an SQLite file. It says its own BEGIN, the weakest there is."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.connection.execute(_TABLE.format("step"))

    def begin(self) -> None:
        """Begins a deferred transaction."""
        self.connection.execute("BEGIN")

    def note(self, step: str) -> None:
        """Inserts a row."""
        self.connection.execute("INSERT INTO step VALUES (?)", [step])

    def notes(self) -> list[str]:
        """Reads all rows."""
        return [step for (step,) in self.connection.execute("SELECT step FROM step ORDER BY step")]

    def commit(self) -> None:
        """Commits."""
        self.connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Rolls back."""
        self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


class PostgresCaller:
    """On a PostgreSQL database, in autocommit mode, so that nothing begins by itself."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self.connection = connection
        self._table = sql.Identifier(schema, "step")

    @classmethod
    def connected(cls, url: str, schema: str) -> Self:
        """A connection, and a table where there is none yet."""
        connection = psycopg.Connection.connect(url, autocommit=True)
        caller = cls(connection, schema)
        caller.connection.execute(sql.SQL(_TABLE).format(sql.Identifier(schema, "step")))
        return caller

    def begin(self) -> None:
        """Begins a transaction."""
        self.connection.execute("BEGIN")

    def note(self, step: str) -> None:
        """Inserts a row."""
        insert = sql.SQL("INSERT INTO {} VALUES (%s)").format(self._table)
        self.connection.execute(insert, [step])

    def notes(self) -> list[str]:
        """Reads all rows."""
        select = sql.SQL("SELECT step FROM {} ORDER BY step").format(self._table)
        found = self.connection.execute(select)
        return [step for (step,) in found.fetchall()]

    def commit(self) -> None:
        """Commits; an aborted transaction fails here, though the server does not say so."""
        ended = self.connection.execute("COMMIT")
        assert ended.statusmessage == "COMMIT", "the transaction was aborted"

    def roll_back(self) -> None:
        """Rolls back."""
        self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()
