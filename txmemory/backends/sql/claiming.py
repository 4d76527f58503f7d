"""Claims said in statements: the row of a scope is held, judged and written."""

from functools import cached_property
from typing import Any, Generic

from sqlalchemy import bindparam, literal_column, select, update

from txmemory.backends.leasing import ClaimRow
from txmemory.backends.sql.primitives import StatementTables
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, Statement, columns_of
from txmemory.model.address import Fence
from txmemory.model.event import Event
from txmemory.rules.leasing import Claimed

_LEFT = ("generation", "token", "holder", "lease_until", "timeline", "seq", "last_at")


class ClaimStatements(Generic[Statement]):
    """Each step's statement in one technology's spelling; `lock` says whether reads lock rows."""

    def __init__(self, spelling: Spelling[Statement], *, lock: bool) -> None:
        self._spelling = spelling
        self._scope = spelling.tables.scope
        self._compile = spelling.compile
        self._lock = lock

    @cached_property
    def make(self) -> Statement:
        """The row of a scope that nobody has claimed, unless it is there."""
        zero = ("generation", "token", "seq", "last_at", "sealed")
        given: dict[str, Any] = {name: bindparam(name) for name in ("tenant", "scope")}
        given |= {name: literal_column("0") for name in zero}
        return self._compile(self._spelling.upsert(self._scope).values(given).on_conflict_do_nothing())

    @cached_property
    def hold(self) -> Statement:
        """The row, held."""
        scope = self._scope
        here = scope.c.tenant == bindparam("tenant"), scope.c.scope == bindparam("scope")
        found = select(*columns_of(scope, (*_LEFT, "sealed"))).where(*here)
        return self._compile(found.with_for_update() if self._lock else found)

    @cached_property
    def leave(self) -> Statement:
        """What is left of it."""
        scope = self._scope
        here = scope.c.tenant == bindparam("in_tenant"), scope.c.scope == bindparam("in_scope")
        left: dict[str, Any] = {name: bindparam(name) for name in _LEFT}
        return self._compile(update(scope).where(*here).values(left))

    @cached_property
    def lapsed(self) -> Statement:
        """Scopes whose claim has lapsed so long ago, by code point."""
        scope = self._scope
        over = scope.c.lease_until <= self._spelling.now - bindparam("lapsed")
        here = scope.c.tenant == bindparam("tenant"), scope.c.scope > bindparam("after")
        found = select(scope.c.scope).where(
            *here, scope.c.lease_until.is_not(None), over, scope.c.sealed == ZERO
        )
        return self._compile(found.order_by(scope.c.scope).limit(ROWS).offset(ZERO))


class StatementClaims(Generic[Statement]):
    """The primitives of claims over the tables of a transaction."""

    def __init__(self, tables: StatementTables[Statement], statements: ClaimStatements[Statement]) -> None:
        self._tables = tables
        self._statements = statements
        self.now = tables.now

    def hold(self, tenant: str, scope: str, *, make: bool) -> ClaimRow | None:
        """Makes the row first, so that there is one to lock."""
        here = {"tenant": tenant, "scope": scope}
        if make:
            self._tables.change(self._statements.make, here)
        for *claimed, seq, last_at, sealed in self._tables.fetch(self._statements.hold, here):
            generation, token, holder, lease_until, timeline = claimed
            fence = Fence(generation, token)
            return ClaimRow(Claimed(fence, holder, lease_until, timeline, sealed == 1), seq, last_at)
        return None

    def leave(self, tenant: str, scope: str, row: ClaimRow) -> None:
        """Updates the row."""
        fence, holder, lease_until, timeline, _ = row.claimed
        values = (*fence, holder, lease_until, timeline, row.seq, row.last_at)
        left = dict(zip(_LEFT, values, strict=True))
        self._tables.change(self._statements.leave, {"in_tenant": tenant, "in_scope": scope, **left})

    def note(self, tenant: str, event: Event) -> None:
        """Inserts the log's entry."""
        self._tables.append_events(tenant, [event])
