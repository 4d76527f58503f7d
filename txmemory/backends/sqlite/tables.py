"""The guard's primitives as statements. BEGIN IMMEDIATE holds every lock, so the steps that lock only read."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from txmemory.backends.primitives import HeadChange, LedgerRow, ScopeRow
from txmemory.backends.sql import narrowing
from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sql.rows import (
    Row,
    Values,
    event_row,
    head_from,
    head_row,
    recorded_from,
    revision_row,
)
from txmemory.model.address import Address, Fence, Namespace, Presenter, namespace_text
from txmemory.model.event import Event
from txmemory.model.filter import Condition
from txmemory.model.item import Head, Revision
from txmemory.rules.fencing import Standing, advanced


class SqliteTables:
    """The primitives over one connection, or a cursor of it, inside a transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection | sqlite3.Cursor,
        statements: GuardStatements[str],
        clock: Callable[[], int],
    ) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._statements = statements
        self._clock = clock
        self._first: Row | None = None

    def advance_fence(self, tenant: str, presenter: Presenter, keys: Sequence[str]) -> ScopeRow | None:
        """A read, and a write where the presenter moves the fence."""
        place = {"tenant": tenant, "scope": presenter.scope, "key": keys[0] if keys else ""}
        known = self._execute(self._statements.standing, place).fetchone()
        if known is None:
            self._first, before, row = None, None, ScopeRow(0, 0, sealed=False)
        else:
            generation, token, holder, seq, last_at, sealed, *self._first = known
            before, row = Standing(Fence(generation, token), holder), ScopeRow(seq, last_at, sealed == 1)
        after = advanced(before, presenter)
        if after is None:
            return None
        if after is not before:
            (generation, token), holder = after
            values = {"tenant": tenant, "scope": presenter.scope, "generation": generation, "token": token}
            self._execute(self._statements.put_standing, {**values, "holder": holder})
        return row

    def fence(self, tenant: str, scope: str) -> Fence:
        """A plain read."""
        return Fence(*self._execute(self._statements.fence, {"tenant": tenant, "scope": scope}).fetchone())

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        """One read a key, each by the whole primary key; the first was read along with the fence."""
        found: dict[str, LedgerRow] = {}
        row = self._first
        for key in keys:
            if key is not keys[0]:
                place = {"tenant": tenant, "scope": scope, "key": key}
                row = self._execute(self._statements.applied, place).fetchone()
            if row is not None and row[0] is not None:
                found[key] = LedgerRow(key, *recorded_from(row))
        return found

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """The transaction holds them all."""

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        """One read an address; the transaction holds them all."""
        found: dict[Address, Head] = {}
        for address in addresses:
            place = {"tenant": tenant, "namespace": namespace_text(address.namespace), "id": address.id}
            row = self._execute(self._statements.head, place).fetchone()
            if row is not None:
                found[address] = head_from(row)
        return found

    def lock_matching(self, tenant: str, namespace: Namespace, condition: Condition) -> Sequence[Head]:
        """The live heads that the condition accepts."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), **narrowing.values(condition)}
        rows = self._execute(self._statements.matching(narrowing.shape(condition)), here)
        return [head_from(row) for row in rows.fetchall()]

    def now(self) -> int:
        """This machine's clock, or the store's own."""
        return self._clock()

    def count_live(self, tenant: str, namespace: Namespace, most: int) -> int:
        """An index scan that ends at `most`."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), "rows": most}
        (count,) = self._execute(self._statements.count_live, here).fetchone()
        return int(count)

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        """Two index scans: what has expired, then the oldest."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), "now": now, "rows": most}
        gone = self._execute(self._statements.expired, here).fetchall()
        rest = self._execute(self._statements.oldest, {**here, "rows": most - len(gone)}).fetchall()
        return [head_from(row) for row in (*gone, *rest)]

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        """Writes each head: whole where content came, else only its end."""
        put = [head_row(tenant, head, item) for head, item in changes if item is not None]
        ended = [
            {
                "in_tenant": tenant,
                "in_namespace": namespace_text(head.address.namespace),
                "with_id": head.address.id,
                "revision": head.revision,
                "updated_at": head.updated_at,
            }
            for head, item in changes
            if item is None
        ]
        self._each(self._statements.put_head, put)
        self._each(self._statements.end_head, ended)

    def append_revisions(self, tenant: str, revisions: Sequence[Revision]) -> None:
        """Inserts the history's entries."""
        self._each(self._statements.append_revision, [revision_row(tenant, each) for each in revisions])

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        """Inserts the log's entries, numbered by their time or behind the newest."""
        rows = [(each.at, *event_row(tenant, each)) for each in events]
        self._each(self._statements.append_event, rows)

    def move_scope(self, tenant: str, scope: str, row: ScopeRow) -> None:
        """Updates the scope's place in its order."""
        values = {"seq": row.seq, "last_at": row.last_at, "sealed": int(row.sealed)}
        self._execute(self._statements.move_scope, {"in_tenant": tenant, "in_scope": scope, **values})

    def record(self, tenant: str, scope: str, events: Sequence[Event]) -> None:
        """Inserts the ledger's rows."""
        self._each(self._statements.record, [(tenant, scope, event.key, event.seq) for event in events])

    def forget(self, tenant: str, scope: str, keys: Sequence[str] | None) -> int:
        """Deletes rows of the ledger."""
        whose = {"tenant": tenant, "scope": scope}
        if keys is None:
            return self._execute(self._statements.forget_all, whose).rowcount
        return sum(self._execute(self._statements.forget, {**whose, "key": key}).rowcount for key in keys)

    def _each(self, statement: str, rows: Sequence[dict[str, object] | Values]) -> None:
        if len(rows) == 1:
            self._execute(statement, rows[0])
        elif rows:
            self._connection.executemany(statement, rows)
