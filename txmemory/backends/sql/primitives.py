"""The guard's primitives said in statements, whatever runs them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic

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
from txmemory.backends.sql.spelling import Statement
from txmemory.model.address import Address, Fence, Namespace, namespace_text
from txmemory.model.event import Event
from txmemory.model.filter import Condition
from txmemory.model.item import Head, Revision

Bound = Mapping[str, object]


class StatementTables(Generic[Statement]):
    """What is alike over one connection inside a transaction; who runs a statement, and who locks, says so below."""

    def __init__(self, statements: GuardStatements[Statement], clock: Callable[[], int]) -> None:
        self._statements = statements
        self._columns = statements.columns
        self._clock = clock

    def fetch(self, statement: Statement, values: Bound, /) -> Sequence[Row]:
        """All rows that a statement answers."""
        raise NotImplementedError

    def change(self, statement: Statement, values: Bound) -> int:
        """Runs a statement that changes rows, and says how many."""
        raise NotImplementedError

    def _each(self, statement: Statement, columns: Sequence[str], rows: Sequence[Values]) -> None:
        """Runs a statement once for each whole row, whose values are those of the columns."""
        raise NotImplementedError

    def fence(self, tenant: str, scope: str) -> Fence:
        """A plain read."""
        (row,) = self.fetch(self._statements.fence, {"tenant": tenant, "scope": scope})
        return Fence(*row)

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        """One read a key, each by the whole primary key."""
        found: dict[str, LedgerRow] = {}
        for key in keys:
            for row in self.fetch(self._statements.applied, {"tenant": tenant, "scope": scope, "key": key}):
                found[key] = LedgerRow(key, *recorded_from(row))
        return found

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        """One read an address, each by the whole primary key."""
        found: dict[Address, Head] = {}
        for address in addresses:
            place = {"tenant": tenant, "namespace": namespace_text(address.namespace), "id": address.id}
            for row in self.fetch(self._statements.head, place):
                found[address] = head_from(row)
        return found

    def lock_matching(self, tenant: str, namespace: Namespace, condition: Condition) -> Sequence[Head]:
        """The live heads that the condition accepts."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), **narrowing.bound(condition)}
        rows = self.fetch(self._statements.matching(narrowing.shape(condition)), here)
        return [head_from(row) for row in rows]

    def now(self) -> int:
        """The clock that the transaction goes by."""
        return self._clock()

    def count_live(self, tenant: str, namespace: Namespace, most: int) -> int:
        """An index scan that ends at `most`."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), "rows": most}
        ((count,),) = self.fetch(self._statements.count_live, here)
        return int(count)

    def count_past(self, tenant: str, namespace: Namespace, now: int, cutoff: int, most: int) -> int:
        """Two index scans that end at `most` each."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), "now": now, "rows": most}
        ((gone,),) = self.fetch(self._statements.count_expired, here)
        ((old,),) = self.fetch(self._statements.count_older, {**here, "cutoff": cutoff})
        return min(most, int(gone) + int(old))

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        """Two index scans: what has expired, then the oldest."""
        here = {"tenant": tenant, "namespace": namespace_text(namespace), "now": now, "rows": most}
        gone = self.fetch(self._statements.expired, here)
        rest = self.fetch(self._statements.oldest, {**here, "rows": most - len(gone)})
        return [head_from(row) for row in (*gone, *rest)]

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        """Writes each head: whole where content came, else only its end."""
        self._each(
            self._statements.put_head,
            self._columns.item,
            [head_row(tenant, head, item) for head, item in changes if item is not None],
        )
        self._each(
            self._statements.end_head,
            self._columns.ended,
            [
                (
                    head.revision,
                    head.updated_at,
                    tenant,
                    namespace_text(head.address.namespace),
                    head.address.id,
                )
                for head, item in changes
                if item is None
            ],
        )

    def append_revisions(self, tenant: str, revisions: Sequence[Revision]) -> None:
        """Inserts the history's entries."""
        rows = [revision_row(tenant, each) for each in revisions]
        self._each(self._statements.append_revision, self._columns.revision, rows)

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        """Inserts the log's entries; where the engine does not number them, their time is the least number."""
        columns = self._columns.event
        if columns[0] == "least":
            rows = [(event.at, *event_row(tenant, event)) for event in events]
        else:
            rows = [event_row(tenant, event) for event in events]
        self._each(self._statements.append_event, columns, rows)

    def move_scope(self, tenant: str, scope: str, row: ScopeRow) -> None:
        """Updates the scope's place in its order."""
        values = {"seq": row.seq, "last_at": row.last_at, "sealed": int(row.sealed)}
        self.change(self._statements.move_scope, {"in_tenant": tenant, "in_scope": scope, **values})

    def record(self, tenant: str, scope: str, events: Sequence[Event]) -> None:
        """Inserts the ledger's rows."""
        rows = [(tenant, scope, event.key, event.seq) for event in events]
        self._each(self._statements.record, self._columns.ledger, rows)

    def forget(self, tenant: str, scope: str, keys: Sequence[str] | None) -> int:
        """Deletes rows of the ledger."""
        whose = {"tenant": tenant, "scope": scope}
        if keys is None:
            return self.change(self._statements.forget_all, whose)
        return sum(self.change(self._statements.forget, {**whose, "key": key}) for key in keys)
