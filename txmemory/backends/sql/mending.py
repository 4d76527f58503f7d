"""One repair as the statements of one transaction, whatever runs them."""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic

from sqlalchemy import ColumnElement, Table, bindparam, delete, insert, literal_column, null, select, update

from txmemory.backends.sql.reading import Asked, ReadStatements
from txmemory.backends.sql.rows import Row
from txmemory.backends.sql.spelling import Spelling, Statement, columns_of
from txmemory.backends.sql.unread import STATE_COLUMNS, integers, scope_state_from
from txmemory.model.address import namespace_text
from txmemory.model.item import Revision
from txmemory.model.query import Page, Query, Revisions
from txmemory.model.repair import HeadRepair, HeadState, Mended, Repair, ScopeRepair
from txmemory.model.verifying import Logged, LogRow
from txmemory.rules.mending import ScopeMending, folded_on

Said = Generator[tuple[Statement, Mapping[str, object]], Sequence[Row], Any]
"""Yields a statement and what it binds, and is sent the rows that it answers."""

SCOPE = ("generation", "token", "seq", "last_at", "sealed")
HEAD = ("revision", *STATE_COLUMNS)


def no_time() -> None:
    """What is read here asks no clock."""


class MendStatements(Generic[Statement]):
    """Each statement in one technology's spelling. A row is locked before what it follows from is read."""

    def __init__(self, spelling: Spelling[Statement], reads: ReadStatements[Statement]) -> None:
        self._tables = spelling.tables
        self._spelling = spelling
        self._compile: Callable[[Any], Statement] = spelling.compile
        self._reads = reads

    def mended(self, repair: Repair) -> Said[Statement]:
        """Carries a repair out, and answers a `Mended`."""
        scopes = keys = heads = 0
        if repair.scope is not None:
            scopes, keys = yield from self._scope(repair.tenant, repair.scope)
        for head in sorted(repair.heads, key=lambda each: each.address.order):
            heads += yield from self._head(repair.tenant, head)
        return Mended(scopes, keys, heads)

    def _scope(self, tenant: str, repair: ScopeRepair) -> Said[Statement]:
        here = {"tenant": tenant, "scope": repair.scope}
        row, made = (yield self.lock_scope, here), 0
        if not row:
            fence, seq, last_at, sealed = repair.state
            values = {"seq": seq, "last_at": last_at, "sealed": int(sealed)}
            yield self.make_scope, {**here, "generation": fence.generation, "token": fence.token, **values}
            row, made = (yield self.lock_scope, here), 1
        known = scope_state_from(row[0])
        mending = ScopeMending(repair)
        page: Page[LogRow] = Page((), more=True)
        while page.more:
            page = yield from self._read(Logged(tenant, (repair.scope, mending.seq), repair.scope))
            for each in page.rows:
                mending.take(each)
        state = mending.row(known)
        this = {"in_tenant": tenant, "in_scope": repair.scope}
        if state.fence > known.fence:
            yield self.raise_fence, {**this, **state.fence._asdict()}
        if state[1:] != known[1:]:
            moved = {"seq": state.seq, "last_at": state.last_at, "sealed": int(state.sealed)}
            yield self.move_scope, {**this, **moved}
        keys = 0
        for key, wanted in mending.keys(known):
            keys += yield from self._key({**here, "key": key}, wanted)
        return int(made or state != known), keys

    def _key(self, this: Mapping[str, object], seq: int | None) -> Said[Statement]:
        rows = yield self.key, this
        if [row[0] for row in rows] == ([] if seq is None else [seq]):
            return 0
        yield self.forget, this
        if seq is not None:
            yield self.record, {**this, "seq": seq}
        return 1

    def _head(self, tenant: str, repair: HeadRepair) -> Said[Statement]:
        address = repair.address
        here = {"tenant": tenant, "namespace": namespace_text(address.namespace), "id": address.id}
        row = yield self.lock_head, here
        if not row:
            if repair.folded is None:
                return 0
            yield self.make_head, here
            row = yield self.lock_head, here
        head = _head_from(row[0])
        page: Page[Revision] = Page((), more=True)
        folded = repair.folded
        while page.more:
            after = folded.head.revision if folded else 0
            page = yield from self._read(Revisions(tenant, address, after))
            folded = folded_on(folded, page.rows)
        if folded is None:
            if head.revision > 0:
                return 0
            yield self.drop_head, here
            return 1
        if folded.accepts(head):
            return 0
        *said, (added_at, added_ordinal) = folded.head
        given = dict(zip(HEAD, (*said, added_at, added_ordinal), strict=True))
        this = {f"in_{name}": value for name, value in here.items()}
        yield self.put_head, {**this, **given, "live": int(folded.head.live)}
        return 1

    def _read(self, query: Query[Any]) -> Said[Statement]:
        asked: Asked[Statement] = self._reads.asked(query, no_time)
        rows = yield asked.statement, asked.bindings[0]
        return asked.page([rows])

    @cached_property
    def lock_scope(self) -> Statement:
        """A scope's row, held."""
        scope = self._tables.scope
        read = select(*columns_of(scope, SCOPE)).where(*_same(scope, "tenant", "scope"))
        return self._compile(read.with_for_update())

    @cached_property
    def make_scope(self) -> Statement:
        """A scope's row, where there is none."""
        scope = self._tables.scope
        given: dict[str, Any] = {name: bindparam(name) for name in ("tenant", "scope", *SCOPE)}
        return self._compile(self._spelling.upsert(scope).values(given).on_conflict_do_nothing())

    @cached_property
    def raise_fence(self) -> Statement:
        """The fence alone; who held an older one holds nothing."""
        scope = self._tables.scope
        given: dict[str, Any] = {name: bindparam(name) for name in ("generation", "token")}
        nobody: dict[str, Any] = {name: null() for name in ("holder", "lease_until")}
        return self._compile(update(scope).where(*_those(scope, "tenant", "scope")).values(given | nobody))

    @cached_property
    def move_scope(self) -> Statement:
        """A scope's place in its order."""
        scope = self._tables.scope
        given: dict[str, Any] = {name: bindparam(name) for name in ("seq", "last_at", "sealed")}
        return self._compile(update(scope).where(*_those(scope, "tenant", "scope")).values(given))

    @cached_property
    def key(self) -> Statement:
        """What the ledger has for a key."""
        ledger = self._tables.ledger
        return self._compile(select(ledger.c.seq).where(*_same(ledger, "tenant", "scope", "key")))

    @cached_property
    def forget(self) -> Statement:
        """Takes a key away."""
        ledger = self._tables.ledger
        return self._compile(delete(ledger).where(*_same(ledger, "tenant", "scope", "key")))

    @cached_property
    def record(self) -> Statement:
        """Makes a key applied."""
        ledger = self._tables.ledger
        return self._compile(insert(ledger).values({each.name: bindparam(each.name) for each in ledger.c}))

    @cached_property
    def lock_head(self) -> Statement:
        """A head, held."""
        item = self._tables.item
        read = select(*columns_of(item, HEAD)).where(*_same(item, "tenant", "namespace", "id"))
        return self._compile(read.with_for_update())

    @cached_property
    def make_head(self) -> Statement:
        """A placeholder, where there is no head."""
        item = self._tables.item
        given: dict[str, Any] = {name: bindparam(name) for name in ("tenant", "namespace", "id")}
        zero = [name for name in HEAD if name not in ("kind", "attributes", "expires_at", "importance")]
        given |= {name: literal_column("0") for name in zero}
        given |= {"kind": literal_column("''"), "attributes": literal_column("'{}'")}
        return self._compile(self._spelling.upsert(item).values(given).on_conflict_do_nothing())

    @cached_property
    def put_head(self) -> Statement:
        """A head as it should be."""
        item = self._tables.item
        given: dict[str, Any] = {name: bindparam(name) for name in HEAD}
        return self._compile(update(item).where(*_those(item, "tenant", "namespace", "id")).values(given))

    @cached_property
    def drop_head(self) -> Statement:
        """A placeholder that was left."""
        item = self._tables.item
        this = (*_same(item, "tenant", "namespace", "id"), item.c.revision <= literal_column("0"))
        return self._compile(delete(item).where(*this))


def _head_from(row: Row) -> HeadState:
    revision, live, kind, attributes, created_at, updated_at, expires_at, importance, *added = row
    times = created_at, updated_at, expires_at
    number = revision if live in (0, 1) and integers(revision) else -1  # as it is spelled no head is like it
    return HeadState(number, live == 1, kind, attributes, *times, importance, (added[0], added[1]))


def _same(table: Table, *names: str) -> list[ColumnElement[bool]]:
    return [table.c[name] == bindparam(name) for name in names]


def _those(table: Table, *names: str) -> list[ColumnElement[bool]]:
    """The same where a statement sets columns, whose names are taken by what is set."""
    return [table.c[name] == bindparam(f"in_{name}") for name in names]


class Mending(Generic[Statement]):
    """A repair under way: what it wants run next, until it is done."""

    def __init__(self, steps: Said[Statement]) -> None:
        self._steps = steps
        self.done: Mended | None = None
        self.next = next(steps)

    def take(self, rows: Sequence[Row]) -> None:
        """The rows that the last statement answered."""
        try:
            self.next = self._steps.send(rows)
        except StopIteration as stop:
            self.done = stop.value


def mended(steps: Said[Statement], run: Callable[[Statement, Mapping[str, object]], Sequence[Row]]) -> Mended:
    """Drives a repair over whatever runs statements."""
    mending = Mending(steps)
    while mending.done is None:
        mending.take(run(*mending.next))
    return mending.done
