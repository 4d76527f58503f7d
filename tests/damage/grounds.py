"""Stores whose rows are changed behind their back, by SQL, and put back as they were."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import Table

import txmemory
from txmemory import Memory, Store, must
from txmemory.backends.sqlite.dialect import TABLES
from txmemory.testing.clock import FakeClock
from txmemory.testing.shared import new_schema, runtime_url
from txmemory.testing.sync.loads import Load

NAMES = ("scope", "ledger", "event", "item", "revision", "namespace")
Row = dict[str, Any]
DERIVED = ("scope", "ledger", "item")
LEFT_ALONE = ("holder", "lease_until", "timeline", "token", "generation")
"""Columns of a scope that follow from nothing, or may be more than what follows."""


def table(name: str) -> Table:
    """A table as it is defined."""
    found: Table = getattr(TABLES, name)
    return found


def key_of(name: str) -> tuple[str, ...]:
    """The columns that tell rows of a table apart."""
    return ("row",) if name == "event" else tuple(each.name for each in table(name).primary_key)


def fill(store: Store) -> None:
    """Of everything something: scopes that are sealed, written by several tokens, or only looked at; tombstones."""
    Load(store, 4).calls(60)
    must(store.writer("looked at", 3).applied("k"))
    sealed = store.writer("sealed", 2, holder="X")
    must(sealed.write("k", [Memory("tea", id="s")]))
    must(sealed.seal())
    must(store.tenant("other").writer("run-0", 1).write("k", [Memory("tea", id="a")]))
    must(store.tenant("other").store(Memory("tea", id="a", metadata={"entity_id": "e"}, embedding=[0.5])))


class Ground(Protocol):
    """A store and its rows."""

    names: tuple[str, ...]
    url: str

    def rows(self, name: str) -> list[Row]:
        """Every row of a table."""
        ...

    def run(self, statement: str, values: Mapping[str, Any]) -> int:
        """Runs a statement, `{scope}` being that table, `:name` a value; raises `Impossible` if refused."""
        ...

    def restore(self) -> None:
        """Puts every row back."""
        ...


class Impossible(Exception):
    """The engine has refused the damage."""


class FileGround:
    """An SQLite file."""

    names: tuple[str, ...] = NAMES[:-1]

    def __init__(self, folder: Path, way: str = "") -> None:
        self.path, self._whole = folder / "damaged.db", folder / "whole.db"
        self.url = f"{way}sqlite:///{self.path}"
        clock = FakeClock()
        with txmemory.open(self.url, clock=clock) as store:
            fill(store)
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(self._whole)) as copy:
            source.backup(copy)

    def rows(self, name: str) -> list[Row]:
        """Read over a connection of its own."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = partial(str, encoding="utf-8", errors="replace")
            return [dict(row) for row in connection.execute(f"SELECT * FROM txm_{name}")]  # noqa: S608 - our own name

    def run(self, statement: str, values: Mapping[str, Any]) -> int:
        """Committed at once."""
        spelled = statement.format(**{name: f"txm_{name}" for name in NAMES})
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            try:
                return connection.execute(spelled, values).rowcount
            except (sqlite3.IntegrityError, OverflowError):
                raise Impossible from None

    def restore(self) -> None:
        """As the copy."""
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(self._whole, self.path)


class ServerGround:
    """A schema on a server."""

    names: tuple[str, ...] = NAMES

    def __init__(self, server: str, way: str = "") -> None:
        self._server, self.schema = server, new_schema(server)
        self.url = way + runtime_url(server, self.schema)
        clock = FakeClock()
        with txmemory.open(self.url, clock=clock) as store:
            fill(store)
        self._whole = {name: self.rows(name) for name in NAMES}

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self._server, autocommit=True, row_factory=dict_row) as connection:
            yield connection

    def rows(self, name: str) -> list[Row]:
        """Read as a superuser."""
        with self._connected() as connection:
            read = sql.SQL("SELECT * FROM {}").format(sql.Identifier(self.schema, name))
            return connection.execute(read).fetchall()

    def run(self, statement: str, values: Mapping[str, Any]) -> int:
        """Committed at once."""
        names = {name: sql.Identifier(self.schema, name).as_string() for name in NAMES}
        spelled = statement.format(**names)
        for name in sorted(values, key=len, reverse=True):
            spelled = spelled.replace(f":{name}", f"%({name})s")
        with self._connected() as connection:
            try:
                return connection.execute(spelled.encode(), values).rowcount
            except psycopg.Error:
                raise Impossible from None

    def restore(self) -> None:
        """Row by row."""
        with self._connected() as connection, connection.transaction():
            for name, rows in self._whole.items():
                connection.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(self.schema, name)))
                if not rows:
                    continue
                columns = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
                places = sql.SQL(", ").join(map(sql.Placeholder, rows[0]))
                put = sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})")
                with connection.cursor() as cursor:
                    cursor.executemany(put.format(sql.Identifier(self.schema, name), columns, places), rows)


def kinds(store: Store) -> set[str]:
    """What is found in the whole store."""
    return {finding.kind for finding in must(store.verify(of="store")).findings}


def derived(ground: Ground) -> dict[str, list[Row]]:
    """What rebuild restores, as it stands."""
    rows: dict[str, list[Row]] = {}
    for name in DERIVED:
        kept = [{k: v for k, v in row.items() if k not in LEFT_ALONE} for row in ground.rows(name)]
        rows[name] = sorted(kept, key=repr)
    return rows
