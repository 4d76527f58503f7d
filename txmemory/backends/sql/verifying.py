"""What verify and rebuild ask, each as one statement."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Generic

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Table,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    union,
)

from txmemory.backends.sql.pages import Rows, page
from txmemory.backends.sql.rows import REVISION_COLUMNS
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, Statement, columns_of
from txmemory.backends.sql.unread import (
    ENTRY_COLUMNS,
    LOG_COLUMNS,
    STATE_COLUMNS,
    head_found,
    history_from,
    key_from,
    logged_from,
    name_from,
    revision_found,
    scope_from,
    unscoped_from,
)
from txmemory.model.address import namespace_text
from txmemory.model.query import Page, Query
from txmemory.model.verifying import (
    At,
    HeadCount,
    HeadFound,
    Heads,
    HeadsAt,
    Histories,
    Intact,
    Ledger,
    Logged,
    RevisionFound,
    Scopes,
    StrayKeys,
    Tenants,
    Unscoped,
)

Answering = tuple[Statement, Sequence[dict[str, object]], Callable[[Sequence[Rows]], Page[Any]]]


class VerifyStatements(Generic[Statement]):
    """Each query's statement in one technology's spelling."""

    def __init__(self, spelling: Spelling[Statement]) -> None:
        self._spelling = spelling
        self._tables = spelling.tables
        self._compile = spelling.compile

    def asked(self, query: Query[Any]) -> Answering[Statement]:
        """The statement, what it binds, and the page of what it finds."""
        match query:
            case Tenants(after=after, limit=limit):
                return (
                    self.tenants,
                    ({"after": after, "rows": limit + 1},),
                    page(lambda row: name_from(row[0]), limit),
                )
            case Scopes(tenant=tenant, scope=str(scope)):
                return self.scope, ({"tenant": tenant, "scope": scope, "rows": 2},), page(scope_from, 1)
            case Scopes(tenant=tenant, after=after, limit=limit):
                behind = {"tenant": tenant, "after": after, "rows": limit + 1}
                return self.scopes, (behind,), page(scope_from, limit)
            case Logged(tenant=tenant, after=(scope, seq), until=until, limit=limit):
                here = {"tenant": tenant, "after_scope": scope, "after_seq": seq, "rows": limit + 1}
                ended = {} if until is None else {"until": until}
                return self.logged(ended=bool(ended)), ({**here, **ended},), page(logged_from, limit)
            case Unscoped(tenant=tenant, after=after, limit=limit):
                behind = {"tenant": tenant, "after": after, "rows": limit + 1}
                return self.unscoped, ({**behind, "rows": limit},), lambda found: _window(found[0])
            case Ledger(tenant=tenant, scope=scope, after=after, limit=limit):
                behind = {"tenant": tenant, "scope": scope, "after": after, "rows": limit + 1}
                return self.ledger, (behind,), page(key_from, limit)
            case StrayKeys(tenant=tenant, after=(scope, key), until=until, limit=limit):
                here = {"tenant": tenant, "after_scope": scope, "after_key": key, "rows": limit + 1}
                ended = {} if until is None else {"until": until}
                return self.stray_keys(ended=bool(ended)), ({**here, **ended},), page(key_from, limit)
            case Histories(limit=limit):
                statement = self.histories(within=query.namespace is not None)
                return statement, (_behind(query),), page(history_from, limit)
            case Heads(until=until, limit=limit):
                statement = self.heads(within=query.namespace is not None, ended=until is not None)
                return statement, (_between(query),), page(head_found, limit)
            case HeadCount(until=until):
                statement = self.head_count(within=query.namespace is not None, ended=until is not None)
                return statement, (_between(query),), lambda found: Page((found[0][0][0],))
            case HeadsAt(tenant=tenant, places=places):
                these: list[dict[str, object]] = [
                    {"tenant": tenant, "namespace": place, "id": id} for place, id in places
                ]
                return self.head_at, these, _heads_of
            case At(tenant=tenant, refs=refs):
                names = [namespace_text(ref.namespace) for ref in refs]
                bound = [
                    {"tenant": tenant, "namespace": name, "id": ref.id, "revision": ref.revision}
                    for name, ref in zip(names, refs, strict=True)
                ]
                return self.at, bound, lambda found: _found(names, found)
            case Intact():
                return self.intact, ({},), lambda found: Page((found[0][0][0] == "ok",))
            case _:
                raise TypeError("not a query")

    @cached_property
    def tenants(self) -> Statement:
        """Every tenant that has a row."""
        tables = self._tables
        each = (tables.scope, tables.event, tables.ledger, tables.item, tables.revision)
        named = union(*(select(table.c.tenant).where(table.c.tenant > bindparam("after")) for table in each))
        tenants = named.subquery()
        return self._compile(select(tenants.c.tenant).order_by(tenants.c.tenant).limit(ROWS).offset(ZERO))

    @cached_property
    def scopes(self) -> Statement:
        """The rows of scopes, each with the number of its keys."""
        scope = self._tables.scope
        return self._compile(self._scopes.where(scope.c.scope > bindparam("after")))

    @cached_property
    def scope(self) -> Statement:
        """One of them."""
        return self._compile(self._scopes.where(self._tables.scope.c.scope == bindparam("scope")))

    @property
    def _scopes(self) -> Any:
        scope, ledger = self._tables.scope, self._tables.ledger
        its = ledger.c.tenant == scope.c.tenant, ledger.c.scope == scope.c.scope
        keys = select(func.count()).select_from(ledger).where(*its).correlate(scope).scalar_subquery()
        columns = columns_of(scope, ("scope", "generation", "token", "seq", "last_at", "sealed"))
        here = select(*columns, keys).where(scope.c.tenant == bindparam("tenant"))
        return here.order_by(scope.c.scope).limit(ROWS).offset(ZERO)

    @lru_cache(maxsize=2)  # noqa: B019 - one instance a technology, for the life of the process
    def logged(self, *, ended: bool) -> Statement:
        """Events of scopes, each with the seq that the ledger has for its key."""
        event, ledger = self._tables.event, self._tables.ledger
        after: list[Any] = [bindparam("after_scope"), bindparam("after_seq")]
        place = [event.c.scope, event.c.seq]
        rows, statement = self._onward(event, LOG_COLUMNS, place, after, where=event.c.scope.is_not(None))
        its = [ledger.c[name] == rows.c[name] for name in ("scope", "key")]
        its.append(ledger.c.tenant == bindparam("tenant"))
        statement = statement.add_columns(select(ledger.c.seq).where(*its).correlate(rows).scalar_subquery())
        if ended:
            statement = statement.where(rows.c.scope <= bindparam("until"))
        return self._compile(statement)

    def _onward(
        self,
        table: Table,
        columns: Sequence[Any],
        place: Sequence[Any],
        after: Sequence[Any],
        *,
        where: ColumnElement[bool] | None = None,
        at: bool = False,
    ) -> tuple[FromClause, Any]:
        """A page behind a place in the order of a key that the tenant leads; `at`: or at it.

        A server's planner without statistics thinks that a tenant has few rows, and sorts all that are left of them
        for each page. So it is asked for the next rows of the table, which it takes from the key, and those of the
        next tenant are left out behind the limit.
        """
        named = [table.c[each] if isinstance(each, str) else each for each in columns]
        ours = table.c.tenant == bindparam("tenant")
        only = [] if where is None else [where]
        if not self._spelling.lateral:
            here, begun = tuple_(*place), tuple_(*after)
            read = select(*named).where(ours, *only, here >= begun if at else here > begun)
            return table, read.order_by(*place).limit(ROWS).offset(ZERO)
        here, begun = tuple_(table.c.tenant, *place), tuple_(bindparam("tenant"), *after)
        read = select(table.c.tenant.label("owner"), *named).where(
            *only, here >= begun if at else here > begun
        )
        rows = read.order_by(table.c.tenant, *place).limit(ROWS).offset(ZERO).subquery()
        kept = [each for each in rows.c if each.name != "owner"]
        order = [rows.c[each.name] for each in place]
        return rows, select(*kept).where(rows.c.owner == bindparam("tenant")).order_by(*order)

    @cached_property
    def unscoped(self) -> Statement:
        """Of the next rows of the log those without a place in a scope, and the last one whatever it is."""
        event = self._tables.event
        after: list[Any] = [bindparam("after")]
        last = self._onward(event, ["row"], [event.c.row], after)[1].subquery()
        rows = self._onward(event, LOG_COLUMNS, [event.c.row], after)[1].subquery()
        ends = select(func.max(last.c.row)).scalar_subquery()
        kept = or_(rows.c.scope.is_(None), rows.c.seq.is_(None), rows.c.row == ends)
        return self._compile(select(*rows.c).where(kept))

    @cached_property
    def ledger(self) -> Statement:
        """The ledger of a scope."""
        ledger = self._tables.ledger
        here = ledger.c.tenant == bindparam("tenant"), ledger.c.scope == bindparam("scope")
        statement = select(*columns_of(ledger, ("scope", "key", "seq")))
        behind = statement.where(*here, ledger.c.key > bindparam("after"))
        return self._compile(behind.order_by(ledger.c.key).limit(ROWS).offset(ZERO))

    @lru_cache(maxsize=2)  # noqa: B019 - as above
    def stray_keys(self, *, ended: bool) -> Statement:
        """Keys without a scope."""
        ledger, scope = self._tables.ledger, self._tables.scope
        known = exists().where(scope.c.tenant == ledger.c.tenant, scope.c.scope == ledger.c.scope)
        after = tuple_(bindparam("after_scope"), bindparam("after_key"))
        here = [ledger.c.tenant == bindparam("tenant"), tuple_(ledger.c.scope, ledger.c.key) > after]
        if ended:
            here.append(ledger.c.scope <= bindparam("until"))
        statement = select(*columns_of(ledger, ("scope", "key", "seq"))).where(*here, ~known)
        return self._compile(statement.order_by(ledger.c.scope, ledger.c.key).limit(ROWS).offset(ZERO))

    @lru_cache(maxsize=2)  # noqa: B019 - as above
    def histories(self, *, within: bool) -> Statement:
        """Revisions, each with the head that names it, as of one moment."""
        item, revision = self._tables.item, self._tables.revision
        place = columns_of(revision, ("namespace", "id", "revision"))
        after = _bound("after_namespace", "after_id", "after_revision")
        entry = columns_of(revision, ENTRY_COLUMNS)
        rows, statement = self._onward(revision, entry, place, after)
        theirs = [item.c[name] == rows.c[name] for name in ("namespace", "id", "revision")]
        theirs.append(item.c.tenant == bindparam("tenant"))
        head: FromClause = item
        joined = rows.outerjoin(item, and_(*theirs))
        if self._spelling.lateral:  # a planner that knows too little would read all heads for each page
            head = select(item).where(*theirs).limit(literal_column("1")).lateral("head")
            joined = rows.outerjoin(head, true())
        statement = statement.add_columns(*(head.c[name] for name in STATE_COLUMNS)).select_from(joined)
        if within:
            statement = statement.where(rows.c.namespace == bindparam("namespace"))
        return self._compile(statement)

    @lru_cache(maxsize=4)  # noqa: B019 - as above
    def heads(self, *, within: bool, ended: bool) -> Statement:
        """Heads of a range, and whether each has any history."""
        heads, statement = self._range(within=within, ended=ended)
        return self._compile(statement.add_columns(self._has_history(heads)))

    @lru_cache(maxsize=4)  # noqa: B019 - as above
    def head_count(self, *, within: bool, ended: bool) -> Statement:
        """How many heads a range has."""
        _, statement = self._range(within=within, ended=ended)
        return self._compile(select(func.count()).select_from(statement.subquery()))

    def _range(self, *, within: bool, ended: bool) -> tuple[FromClause, Any]:
        """Heads behind a place and up to another, or to the last."""
        item = self._tables.item
        place, named = columns_of(item, ("namespace", "id")), ("namespace", "id", "revision")
        heads, statement = self._onward(item, named, place, _bound("after_namespace", "after_id"))
        if ended:
            until = tuple_(*_bound("until_namespace", "until_id"))
            statement = statement.where(tuple_(heads.c.namespace, heads.c.id) <= until)
        if within:
            statement = statement.where(heads.c.namespace == bindparam("namespace"))
        return heads, statement

    @cached_property
    def head_at(self) -> Statement:
        """One head."""
        item = self._tables.item
        this = (item.c[name] == bindparam(name) for name in ("tenant", "namespace", "id"))
        read = select(*columns_of(item, ("namespace", "id", "revision")), self._has_history(item))
        return self._compile(read.where(*this))

    def _has_history(self, heads: FromClause) -> ColumnElement[bool]:
        revision = self._tables.revision
        its = [revision.c[name] == heads.c[name] for name in ("namespace", "id")]
        return exists().where(revision.c.tenant == bindparam("tenant"), *its)

    @cached_property
    def intact(self) -> Statement:
        """The engine's own look."""
        return self._compile(self._spelling.intact)

    @cached_property
    def at(self) -> Statement:
        """One revision."""
        revision = self._tables.revision
        key = ("tenant", "namespace", "id", "revision")
        this = (revision.c[name] == bindparam(name) for name in key)
        return self._compile(select(*columns_of(revision, ("id", *REVISION_COLUMNS))).where(*this))


def _bound(*names: str) -> list[Any]:
    return [bindparam(name) for name in names]


def _between(query: Heads | HeadCount) -> dict[str, object]:
    """What binds a range of heads."""
    ends = zip(("until_namespace", "until_id"), query.until or (), strict=False)
    return {**_behind(query), **dict(ends)}


def _behind(query: Histories | Heads | HeadCount) -> dict[str, object]:
    """What binds the place behind which a page begins."""
    rows = query.limit if isinstance(query, HeadCount) else query.limit + 1
    here: dict[str, object] = {"tenant": query.tenant, "rows": rows}
    here |= zip(("after_namespace", "after_id", "after_revision"), query.after, strict=False)
    if query.namespace is not None:
        here["namespace"] = query.namespace
    return here


def _heads_of(found: Sequence[Rows]) -> Page[HeadFound]:
    return Page(tuple([head_found(row) for rows in found for row in rows]))


def _window(found: Rows) -> Page[Any]:
    """The rows of a part of the log, of which the last one is always told: where there is none the log has ended."""
    return Page(sorted([unscoped_from(row) for row in found]), more=bool(found))


def _found(places: Sequence[str], found: Sequence[Rows]) -> Page[RevisionFound]:
    each = zip(places, found, strict=True)
    return Page(tuple([revision_found((place, *row)) for place, rows in each for row in rows]))
