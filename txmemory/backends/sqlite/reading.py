"""Queries over committed rows: each is fetched whole, so that no reader holds the write-ahead log."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from txmemory.backends.sql import narrowing
from txmemory.backends.sql.rows import event_from, recorded_from, revision_from, stored_from
from txmemory.backends.sql.statements import Statements
from txmemory.backends.sqlite.connecting import Identity, Place, translated
from txmemory.model.address import Fence, namespace_text
from txmemory.model.commit import Commit, Recorded, Reply
from txmemory.model.item import Stored
from txmemory.model.query import Count, Events, Get, KeyCount, Keys, Page, Query, Revisions, Select
from txmemory.rules.fencing import Standing, stands

Rows = list[tuple[Any, ...]]
IDLE_READERS = 8


class Fetch(Protocol):
    """Runs one statement on committed state and fetches all its rows."""

    def __call__(self, statement: str, values: Mapping[str, object], /) -> Rows:
        """All rows."""
        ...


class Readers:
    """Connections for reading a file: one is taken for each statement and laid back, so any thread may read."""

    def __init__(self, place: Place, check: Callable[[sqlite3.Connection], None]) -> None:
        self._place = place
        self._check = check
        self._idle: list[tuple[Identity, sqlite3.Connection]] = []
        self._closed = False

    def __call__(self, statement: str, values: Mapping[str, object], /) -> Rows:
        """All rows of one statement, as of one moment."""
        identity = self._place.identity()
        with translated():
            connection = self._connection(identity)
            try:
                rows = connection.execute(statement, values).fetchall()
            except BaseException:
                connection.close()
                raise
        self._idle.append((identity, connection))
        if self._closed:
            self.close()
        elif len(self._idle) > IDLE_READERS:
            with suppress(IndexError):
                self._idle.pop()[1].close()
        return rows

    def _connection(self, identity: Identity) -> sqlite3.Connection:
        """One to the file that stands at the path now."""
        with suppress(IndexError):
            while True:
                known, connection = self._idle.pop()
                if known == identity:
                    return connection
                connection.close()
        connection = self._place.connect()
        try:
            self._check(connection)
            connection.execute("PRAGMA query_only=1")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Closes what is idle, and each that is in use when its read ends."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop()[1].close()


def replayed(statements: Statements, fetch: Fetch, commit: Commit) -> Reply | None:
    """Step 0: when the presenter is the newest and every key is applied, what is recorded; nothing is written."""
    presenter = commit.presenter
    if presenter is None:
        return None
    met: list[Recorded] = []
    for entry in commit.entries:
        if entry.key is None or entry.ledger not in ("record", "look"):
            return None
        place = {"tenant": commit.tenant, "scope": presenter.scope, "key": entry.key}
        rows = fetch(statements.replayed, place)
        if not rows:
            return None
        ((generation, token, holder, *record),) = rows
        if not stands(Standing(Fence(generation, token), holder), presenter):
            return None
        fingerprint, outcome = recorded_from(record)
        met.append(Recorded(outcome, fingerprint))
    return tuple(met)


def answer(statements: Statements, fetch: Fetch, query: Query[Any], clock: Callable[[], int]) -> Page[Any]:
    """The page that answers a query."""
    match query:
        case Get(tenant=tenant, addresses=addresses):
            found: list[Stored] = []
            for address in addresses:
                place = {
                    "tenant": tenant,
                    "namespace": namespace_text(address.namespace),
                    "id": address.id,
                    "now": clock(),
                }
                found.extend(stored_from(address.namespace, row) for row in fetch(statements.get, place))
            return Page(tuple(found))
        case Select():
            return _select(statements, fetch, query, clock())
        case Count(tenant=tenant, namespace=namespace, condition=condition):
            here = {"tenant": tenant, "namespace": namespace_text(namespace), "now": clock()}
            counted = fetch(
                statements.count(narrowing.shape(condition)), {**here, **narrowing.values(condition)}
            )
            return Page((counted[0][0],))
        case Revisions(tenant=tenant, address=address, after=after, limit=limit):
            values = {"tenant": tenant, "namespace": namespace_text(address.namespace), "id": address.id}
            rows = fetch(statements.revisions, {**values, "after": after, "rows": limit + 1})
            return Page(tuple(revision_from(address, row) for row in rows[:limit]), len(rows) > limit)
        case Events(tenant=tenant, after=after, limit=limit):
            rows = fetch(statements.events, {"tenant": tenant, "after": after, "rows": limit + 1})
            return Page(tuple(event_from(row) for row in rows[:limit]), len(rows) > limit)
        case Keys(tenant=tenant, scope=scope, after=after, limit=limit):
            whose = {"tenant": tenant, "scope": scope, "after": after, "rows": limit + 1}
            rows = fetch(statements.keys, whose)
            return Page(tuple(key for (key,) in rows[:limit]), len(rows) > limit)
        case KeyCount(tenant=tenant, scope=None):
            return Page((fetch(statements.key_count_all, {"tenant": tenant})[0][0],))
        case KeyCount(tenant=tenant, scope=scope):
            return Page((fetch(statements.key_count, {"tenant": tenant, "scope": scope})[0][0],))
        case _:
            raise TypeError("not a query")


def _select(statements: Statements, fetch: Fetch, query: Select, now: int) -> Page[Any]:
    values: dict[str, object] = {
        "tenant": query.tenant,
        "namespace": namespace_text(query.namespace),
        "now": now,
        "rows": query.limit + 1,
        **narrowing.values(query.condition),
    }
    if query.after is not None:
        values["after_created_at"], values["after_id"] = query.after
    statement = statements.select(narrowing.shape(query.condition), behind=query.after is not None)
    rows = fetch(statement, values)
    return Page(
        tuple(stored_from(query.namespace, row) for row in rows[: query.limit]), len(rows) > query.limit
    )
