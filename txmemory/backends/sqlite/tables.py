"""The guard's primitives on SQLite. BEGIN IMMEDIATE holds every lock, so the steps that lock only read."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from txmemory.backends.leasing import lease_out
from txmemory.backends.primitives import LedgerRow, ScopeRow
from txmemory.backends.sql.claiming import StatementClaims
from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sql.mending import mended
from txmemory.backends.sql.primitives import Bound, StatementTables
from txmemory.backends.sql.rows import Row, Values, recorded_from
from txmemory.backends.sqlite.connecting import fetched
from txmemory.backends.sqlite.dialect import claim_statements, mend_statements
from txmemory.backends.steps import carry_out
from txmemory.model.address import Fence, Namespace, Presenter
from txmemory.model.commit import Commit, Reported, Transaction
from txmemory.model.repair import Repair
from txmemory.rules.fencing import Standing, advanced


class SqliteTables(StatementTables[str]):
    """The primitives over one connection, or a cursor of it, inside a transaction."""

    alone = True

    def __init__(
        self,
        connection: sqlite3.Connection | sqlite3.Cursor,
        statements: GuardStatements[str],
        clock: Callable[[], int],
    ) -> None:
        super().__init__(statements, clock)
        self._connection = connection
        self._execute = connection.execute
        self._execute_many = connection.executemany
        self._first: Row | None = None

    def carried_out(self, transaction: Transaction) -> Reported:
        """What it meets."""
        if isinstance(transaction, Commit):
            return carry_out(self, transaction)
        if isinstance(transaction, Repair):
            return mended(mend_statements().mended(transaction), self._doubted)
        return lease_out(StatementClaims(self, claim_statements()), transaction)

    def fetch(self, statement: str, values: Bound, /) -> Sequence[Row]:
        """All rows."""
        return self._execute(statement, values).fetchall()

    def _doubted(self, statement: str, values: Bound, /) -> Sequence[Row]:
        """All rows, whatever they hold."""
        return fetched(self._connection, statement, values, doubting=True)

    def change(self, statement: str, values: Bound) -> int:
        """How many rows it changed."""
        return self._execute(statement, values).rowcount

    def _each(self, statement: str, columns: Sequence[str], rows: Sequence[Values]) -> None:
        if len(rows) == 1:
            self._execute(statement, rows[0])
        elif rows:
            self._execute_many(statement, rows)

    def advance_fence(self, tenant: str, presenter: Presenter, keys: Sequence[str]) -> ScopeRow | None:
        """A read, which reads the first key's row along, and a write where the presenter moves the fence."""
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

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        """As they all do it, but for the first key."""
        found = dict(super().applied(tenant, scope, keys[1:])) if len(keys) > 1 else {}
        row = self._first
        if row is not None and row[0] is not None:
            found[keys[0]] = LedgerRow(keys[0], *recorded_from(row))
        return found

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """The transaction holds them all."""
