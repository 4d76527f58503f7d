"""What verify and rebuild ask, each as one statement."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, Generic

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    null,
    select,
    tuple_,
    union,
    union_all,
)

from txmemory.backends.sql.rows import REVISION_COLUMNS, Row
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, Statement, columns_of
from txmemory.backends.sql.unread import (
    LOG_COLUMNS,
    item_from,
    key_from,
    logged_from,
    revision_found,
    scope_from,
    unscoped_from,
)
from txmemory.model.address import namespace_text
from txmemory.model.query import Page, Query
from txmemory.model.verifying import (
    LAST,
    At,
    Intact,
    Items,
    Ledger,
    Logged,
    RevisionFound,
    Scopes,
    StrayKeys,
    Tenants,
    Unscoped,
)

Rows = Sequence[Row]
Answering = tuple[Statement, Sequence[dict[str, object]], Callable[[Sequence[Rows]], Page[Any]]]
BEHIND_ALL: ColumnElement[int] = literal_column(f"{LAST}")
"""As the number of a head: behind every revision."""


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
                return self.tenants, ({"after": after, "rows": limit + 1},), page(lambda row: row[0], limit)
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
                return self.unscoped, (behind,), page(unscoped_from, limit)
            case Ledger(tenant=tenant, scope=scope, after=after, limit=limit):
                behind = {"tenant": tenant, "scope": scope, "after": after, "rows": limit + 1}
                return self.ledger, (behind,), page(key_from, limit)
            case StrayKeys(tenant=tenant, after=(scope, key), until=until, limit=limit):
                here = {"tenant": tenant, "after_scope": scope, "after_key": key, "rows": limit + 1}
                ended = {} if until is None else {"until": until}
                return self.stray_keys(ended=bool(ended)), ({**here, **ended},), page(key_from, limit)
            case Items():
                return self._items(query)
            case At(tenant=tenant, refs=refs):
                places = [namespace_text(ref.namespace) for ref in refs]
                bound = [
                    {"tenant": tenant, "namespace": place, "id": ref.id, "revision": ref.revision}
                    for place, ref in zip(places, refs, strict=True)
                ]
                return self.at, bound, lambda found: _found(places, found)
            case Intact():
                return self.intact, ({},), lambda found: Page((found[0][0][0] == "ok",))
            case _:
                raise TypeError("not a query")

    def _items(self, query: Items) -> Answering[Statement]:
        here: dict[str, object] = {"tenant": query.tenant, "rows": query.limit + 1}
        here |= dict(zip(("after_namespace", "after_id", "after_revision"), query.after, strict=True))
        if query.namespace is not None:
            here["namespace"] = query.namespace
        statement = self.items(within=query.namespace is not None, headless=query.after[2] != LAST)
        return statement, (here,), page(item_from, query.limit)

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
        after = tuple_(bindparam("after_scope"), bindparam("after_seq"))
        here = [event.c.tenant == bindparam("tenant"), event.c.scope.is_not(None)]
        here.append(tuple_(event.c.scope, event.c.seq) > after)
        if ended:
            here.append(event.c.scope <= bindparam("until"))
        its = (ledger.c[name] == event.c[name] for name in ("tenant", "scope", "key"))
        applied = select(ledger.c.seq).where(*its).correlate(event).scalar_subquery()
        statement = select(*columns_of(event, LOG_COLUMNS), applied).where(*here)
        return self._compile(statement.order_by(event.c.scope, event.c.seq).limit(ROWS).offset(ZERO))

    @cached_property
    def unscoped(self) -> Statement:
        """The log by row; effects, which are long, only of events that have no place in a scope."""
        event = self._tables.event
        columns = columns_of(event, LOG_COLUMNS)
        place = LOG_COLUMNS.index("effects")
        columns[place] = case((event.c.scope.is_(None), event.c.effects))
        here = event.c.tenant == bindparam("tenant"), event.c.row > bindparam("after")
        return self._compile(select(*columns).where(*here).order_by(event.c.row).limit(ROWS).offset(ZERO))

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

    @lru_cache(maxsize=4)  # noqa: B019 - as above
    def items(self, *, within: bool, headless: bool) -> Statement:
        """Heads and revisions as of one moment; `headless`: the head of the place is still to come."""
        item, revision = self._tables.item, self._tables.revision
        place = tuple_(item.c.namespace, item.c.id)
        begun = tuple_(bindparam("after_namespace"), bindparam("after_id"))
        heads = self._part(item, _as_revision(item, revision), within=within).where(
            place >= begun if headless else place > begun
        )
        after: list[Any] = [bindparam(f"after_{name}") for name in ("namespace", "id", "revision")]
        behind = tuple_(*columns_of(revision, ("namespace", "id", "revision"))) > tuple_(*after)
        state = [
            cast(null(), item.c[name].type) for name in ("live", "revision", "added_at", "added_ordinal")
        ]
        columns = [*columns_of(revision, ("namespace", "id", *REVISION_COLUMNS)), *state]
        history = self._part(revision, columns, within=within).where(behind)
        if (
            self._spelling.lateral
        ):  # such a planner would read all that is left of both; SQLite merges them as they are
            heads = heads.order_by(item.c.namespace, item.c.id).limit(ROWS).subquery().select()
            history = history.order_by(revision.c.namespace, revision.c.id, revision.c.revision)
            history = history.limit(ROWS).subquery().select()
        together = union_all(heads, history)
        order = [together.selected_columns[name] for name in ("namespace", "id", "revision")]
        return self._compile(together.order_by(*order).limit(ROWS).offset(ZERO))

    @staticmethod
    def _part(table: Table, columns: Sequence[Any], *, within: bool) -> Any:
        here = [table.c.tenant == bindparam("tenant")]
        if within:
            here.append(table.c.namespace == bindparam("namespace"))
        return select(*columns).where(and_(*here))

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


def _as_revision(item: Table, revision: Table) -> list[ColumnElement[Any]]:
    """A head in the columns of a revision, and behind them its own."""
    same = {"kind", "attributes", "created_at", "expires_at", "importance"}
    columns: list[ColumnElement[Any]] = [item.c.namespace, item.c.id]
    for name in REVISION_COLUMNS:
        if name == "revision":
            columns.append(BEHIND_ALL.label(name))
        elif name == "at":
            columns.append(item.c.updated_at.label(name))
        elif name in same:
            columns.append(item.c[name])
        else:
            columns.append(cast(null(), revision.c[name].type).label(name))
    own = (item.c.live, item.c.revision.label("head_revision"), item.c.added_at, item.c.added_ordinal)
    return [*columns, *own]


def page(make: Callable[[Row], Any], limit: int) -> Callable[[Sequence[Rows]], Page[Any]]:
    """How the rows of one binding make a page."""
    return lambda found: Page(tuple([make(row) for row in found[0][:limit]]), more=len(found[0]) > limit)


def _found(places: Sequence[str], found: Sequence[Rows]) -> Page[RevisionFound]:
    each = zip(places, found, strict=True)
    return Page(tuple([revision_found(place, row[0], row[1:]) for place, rows in each for row in rows]))
