"""The guard's primitives over a SQLAlchemy connection, each lock a row's own."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, Executable

from txmemory.backends.portable.ground import Ground
from txmemory.backends.primitives import HeadChange, ScopeRow
from txmemory.backends.sql.primitives import Bound, StatementTables
from txmemory.backends.sql.rows import Row, Values
from txmemory.model.address import Address, Namespace, Presenter, namespace_text
from txmemory.model.event import Event
from txmemory.model.item import Head


class PortableTables(StatementTables[Executable]):
    """The primitives over one connection inside a transaction."""

    alone = False

    def __init__(self, connection: Connection, ground: Ground, clock: Callable[[], int] | None) -> None:
        super().__init__(ground.guard, clock or self._time)
        self._connection = connection
        self._ground = ground
        self._placeholders: dict[Address, Bound] = {}
        self._new_namespaces: list[Bound] = []

    def _time(self) -> int:
        return self._connection.execute(self._ground.time, {"now": None}).scalar_one()

    def fetch(self, statement: Executable, values: Bound, /) -> Sequence[Row]:
        """All rows, as tuples."""
        return self._connection.execute(statement, values).fetchall()

    def rows(self, statement: Executable, values: Bound, /) -> Sequence[Row]:
        """All rows of a statement that may be one that answers none."""
        answered = self._connection.execute(statement, values)
        return answered.fetchall() if answered.returns_rows else ()

    def change(self, statement: Executable, values: Bound) -> int:
        """How many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    def _each(self, statement: Executable, columns: Sequence[str], rows: Sequence[Values]) -> None:
        if rows:
            named = [dict(zip(columns, row, strict=True)) for row in rows]
            self._connection.execute(statement, named)

    def advance_fence(self, tenant: str, presenter: Presenter, keys: Sequence[str]) -> ScopeRow | None:
        """One statement that raises the fence or finds the presenter fenced, and holds the scope's row."""
        generation, token = presenter.fence
        values = {"tenant": tenant, "scope": presenter.scope, "generation": generation, "token": token}
        held = self.fetch(self._statements.advance_fence, {**values, "holder": presenter.holder})
        for seq, last_at, sealed in held:
            return ScopeRow(seq, last_at, sealed == 1)
        return None

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """Makes or writes their rows, in the order given; a file has one lock for all, and no such rows."""
        for namespace in () if self._ground.embedded else namespaces:
            text = namespace_text(namespace)
            this = {"in_tenant": tenant, "in_namespace": text}
            if self.fetch(self._statements.make_namespace, {"tenant": tenant, "namespace": text}):
                self._new_namespaces.append(this)
            else:
                self.change(self._statements.lock_namespace, this)

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        """Placeholders for what is not there, so that there is a row to lock; then every row, both in order."""
        for address in addresses:
            place = {"tenant": tenant, "namespace": namespace_text(address.namespace), "id": address.id}
            if self.fetch(self._statements.make_placeholder, place):
                self._placeholders[address] = place
        held = [address for address in addresses if address not in self._placeholders]
        return super().lock_heads(tenant, held)

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        """Scanned again until the scan names none that is not locked."""
        locked: set[Address] = set()
        while True:
            found = super().lock_victims(tenant, namespace, now, most)
            new = sorted({head.address for head in found} - locked, key=lambda address: address.order)
            if not new:
                return found
            super().lock_heads(tenant, new)
            locked.update(new)

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        """A placeholder that gets an item stays."""
        super().change_heads(tenant, changes)
        for head, _ in changes:
            self._placeholders.pop(head.address, None)

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        """Something happened: the rows of its namespaces stay."""
        super().append_events(tenant, events)
        self._new_namespaces.clear()

    def finish(self) -> None:
        """Takes away the rows that were made to be locked, and that nothing happened to."""
        for place in self._placeholders.values():
            self.change(self._statements.drop_placeholder, place)
        for this in self._new_namespaces:
            self.change(self._statements.drop_namespace, this)
