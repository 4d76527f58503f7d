"""Every query as one statement, the values that it binds, and how its rows make a page."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Table,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    true,
    union_all,
)

from txmemory.backends.sql import narrowing
from txmemory.backends.sql.claiming import ClaimStatements
from txmemory.backends.sql.past import past
from txmemory.backends.sql.rows import (
    CONTENT_COLUMNS,
    EVENT_COLUMNS,
    REVISION_COLUMNS,
    Row,
    event_from,
    revision_from,
    stored_from,
)
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, Statement, columns_of
from txmemory.backends.sql.verifying import VerifyStatements
from txmemory.backends.sql.walking import Walk, walks
from txmemory.model.address import Address, Namespace, namespace_text
from txmemory.model.item import Stored
from txmemory.model.query import (
    COUNTED_ATTRIBUTES,
    Count,
    Events,
    Figures,
    Get,
    KeyCount,
    Keys,
    Lapsed,
    Page,
    Past,
    Query,
    Revisions,
    Select,
    Settled,
    TimeOf,
    Totals,
)
from txmemory.rules import order

Rows = Sequence[Row]


class Asked(NamedTuple, Generic[Statement]):
    """A statement to run once with each of the bindings, and what the rows of each say."""

    statement: Statement
    bindings: Sequence[Mapping[str, object]]
    page: Callable[[Sequence[Rows]], Page[Any]]
    doubting: bool = False
    """Whether the rows are read whatever they hold."""


class ReadStatements(Generic[Statement]):
    """Each query's statement in one technology's spelling."""

    def __init__(self, spelling: Spelling[Statement]) -> None:
        self._spelling = spelling
        self._tables = spelling.tables
        self._compile = spelling.compile
        self._verifying = VerifyStatements(spelling)
        self._claims = ClaimStatements(spelling, lock=False)
        item, revision = self._tables.item, self._tables.revision
        same = (revision.c[name] == item.c[name] for name in ("tenant", "namespace", "id", "revision"))
        self._revision, self._newest = _newest(revision, item, and_(*same), lateral=spelling.lateral)

    def asked(self, query: Query[Any], clock: Callable[[], int | None]) -> Asked[Statement]:
        """What answers a query; where the caller's clock says None, the database's own is read."""
        match query:
            case Get(tenant=tenant, addresses=addresses):
                places = [
                    {**_here(tenant, address.namespace), "id": address.id, "now": clock()}
                    for address in addresses
                ]
                return Asked(self.get, places, lambda found: _stored(addresses, found))
            case Select():
                return self._selected(query, clock())
            case Count(tenant=tenant, namespace=namespace, condition=condition):
                here = {**_here(tenant, namespace), "now": clock(), **narrowing.bound(condition)}
                return Asked(self.count(narrowing.shape(condition)), (here,), _one)
            case Figures(tenant=tenant, namespace=namespace):
                here = {**_here(tenant, namespace), "now": clock()}
                return Asked(self.figures, (here,), _totals)
            case Revisions(tenant=tenant, address=address, after=after, limit=limit):
                here = {**_here(tenant, address.namespace), "id": address.id}
                here |= {"after": after, "rows": limit + 1}
                return Asked(self.revisions, (here,), _page(lambda row: revision_from(address, row), limit))
            case Past():
                return self._past(query, clock())
            case TimeOf(tenant=tenant, scope=scope, seq=seq):
                event = {"tenant": tenant, "scope": scope, "seq": seq}
                return Asked(self.time_of, (event,), _all(lambda row: row[0]))
            case Settled():
                # Plain statements cannot see what others have under way, so nothing is asked.
                return Asked(self.time_of, (), lambda _: Page((False,)))
            case Events(tenant=tenant, after=after, limit=limit):
                behind = {"tenant": tenant, "after": after, "rows": limit + 1}
                return Asked(self.events, (behind,), _page(event_from, limit))
            case Keys(tenant=tenant, scope=scope, after=after, limit=limit):
                whose = {"tenant": tenant, "scope": scope, "after": after, "rows": limit + 1}
                return Asked(self.keys, (whose,), _page(lambda row: row[0], limit))
            case Lapsed(tenant=tenant, lapsed=lapsed, after=after, limit=limit):
                behind = {"tenant": tenant, "after": after, "rows": limit + 1}
                whose = {**behind, "lapsed": lapsed, "now": clock()}
                return Asked(self._claims.lapsed, (whose,), _page(lambda row: row[0], limit))
            case KeyCount(tenant=tenant, scope=None):
                return Asked(self.key_count_all, ({"tenant": tenant},), _one)
            case KeyCount(tenant=tenant, scope=scope):
                return Asked(self.key_count, ({"tenant": tenant, "scope": scope},), _one)
            case _:
                return Asked(*self._verifying.asked(query), doubting=True)

    def _selected(self, query: Select, now: int | None) -> Asked[Statement]:
        here = {**_here(query.tenant, query.namespace), "now": now, "rows": query.limit + 1}
        here |= narrowing.bound(query.condition)
        if query.after is not None:
            here["after_created_at"], here["after_id"] = query.after
        statement = self.select(narrowing.shape(query.condition), behind=query.after is not None)
        return Asked(statement, (here,), _page(lambda row: stored_from(query.namespace, row), query.limit))

    def _past(self, query: Past, now: int | None) -> Asked[Statement]:
        here = {**_here(query.tenant, query.namespace), "at": query.at, "now": now}

        def was(row: Row) -> tuple[str, Stored | None]:
            return row[0], None if row[1] is None else stored_from(query.namespace, row)

        if query.id is not None:
            return Asked(self.past_of_one, ({**here, "id": query.id},), _all(was))
        behind = {**here, "after": query.after, "rows": query.limit + 1}
        return Asked(self.past, (behind,), _page(was, query.limit))

    @cached_property
    def get(self) -> Statement:
        """One live item with its content."""
        item = self._tables.item
        live = item.c.live > ZERO  # in words that no index knows: what is left is the key
        by_key = item.c.id == bindparam("id"), live
        return self._compile(self._with_contents.where(self._spelling.here, self._spelling.visible, *by_key))

    @lru_cache(maxsize=64)  # noqa: B019 - one instance a technology, for the life of the process
    def select(self, shape: narrowing.Shape, *, behind: bool) -> Statement:
        """Live items of a namespace by recall order, from the start or behind a place."""
        first, *others = walks(shape)
        if not others:
            contents = self._with_contents.where(*self._there)
            return self._compile(self._newest_first(contents, shape, first, behind=behind))
        item, revision = self._tables.item, self._tables.revision
        source = self._newest if narrowing.looks_at_text(shape) else item
        heads = select(item.c.id, item.c.revision, item.c.created_at).select_from(source).where(*self._there)
        each = [self._newest_first(heads, shape, walk, behind=behind) for walk in (first, *others)]
        together = union_all(*(walked.subquery().select() for walked in each))
        newest = [together.selected_columns[name].desc() for name in order.RECALL]
        chosen = together.order_by(*newest).limit(ROWS).offset(ZERO).subquery("chosen")
        same = and_(
            revision.c.tenant == bindparam("tenant"),
            revision.c.namespace == bindparam("namespace"),
            *(revision.c[name] == chosen.c[name] for name in ("id", "revision")),
        )
        named, joined = _newest(revision, chosen, same, lateral=self._spelling.lateral)
        contents = select(*chosen.c, *columns_of(named, CONTENT_COLUMNS)).select_from(joined)
        return self._compile(contents.order_by(*(chosen.c[name].desc() for name in order.RECALL)))

    def _newest_first(self, heads: Any, shape: narrowing.Shape, walk: Walk, *, behind: bool) -> Any:
        """A page of what one walk finds."""
        walked = self._walked(heads, shape, walk, behind=behind)
        return walked.order_by(*self._spelling.ordered(walk.order, descending=True)).limit(ROWS).offset(ZERO)

    def _walked(self, heads: Any, shape: narrowing.Shape, walk: Walk, *, behind: bool = False) -> Any:
        item, said = self._tables.item, walk.said(behind=behind)
        wanted = narrowing.clause(self._spelling.texts, shape, item, self._revision, said=said)
        ends = walk.ends(item, behind=behind)
        return self._spelling.along(walk.along, heads).where(*ends, wanted)

    @lru_cache(maxsize=64)  # noqa: B019 - as above
    def count(self, shape: narrowing.Shape) -> Statement:
        """How many live items of a namespace there are."""
        source = self._newest if narrowing.looks_at_text(shape) else self._tables.item
        counts = [self._counted(source, shape, walk) for walk in walks(shape)]
        if len(counts) == 1:
            return self._compile(counts[0])
        first, *others = (count.scalar_subquery() for count in counts)
        return self._compile(select(sum(others, first)))

    def _counted(self, source: Any, shape: narrowing.Shape, walk: Walk) -> Any:
        if walk.kind is None:
            return self._walked(select(func.count()).select_from(source).where(*self._there), shape, walk)
        found = self._walked(select(literal_column("1")).select_from(source).where(*self._there), shape, walk)
        ordered = found.order_by(*self._spelling.ordered(walk.order, descending=True))
        return select(func.count()).select_from(ordered.subquery())

    @cached_property
    def figures(self) -> Statement:
        """A row for each kind, with the figures of all kinds behind."""
        item, revision, texts = self._tables.item, self._revision, self._spelling.texts
        distinct = [
            select(func.count(texts.attribute(item.c.attributes, name).distinct()))
            .where(*self._there, texts.attribute(item.c.attributes, name).is_not(None))
            .where(texts.is_text(item.c.attributes, name))
            .correlate(None)
            .scalar_subquery()
            for name in COUNTED_ATTRIBUTES
        ]
        each = func.count(), func.count(revision.c.embedding), func.min(item.c.created_at)
        statement = select(item.c.kind, *each, func.max(item.c.created_at), *distinct)
        grouped = statement.select_from(self._newest).where(*self._there).group_by(item.c.kind)
        return self._compile(grouped.order_by(item.c.kind))

    @cached_property
    def revisions(self) -> Statement:
        """The history of one id."""
        revision = self._tables.revision
        this = (
            revision.c.tenant == bindparam("tenant"),
            revision.c.namespace == bindparam("namespace"),
            revision.c.id == bindparam("id"),
            revision.c.revision > bindparam("after"),
        )
        statement = select(*columns_of(revision, REVISION_COLUMNS)).where(*this).order_by(revision.c.revision)
        return self._compile(statement.limit(ROWS).offset(ZERO))

    @cached_property
    def past(self) -> Statement:
        """What there was in a namespace, by id."""
        return self._compile(past(self._spelling, one=False))

    @cached_property
    def past_of_one(self) -> Statement:
        """What there was at an id."""
        return self._compile(past(self._spelling, one=True))

    @cached_property
    def time_of(self) -> Statement:
        """When an event of a scope was recorded."""
        event = self._tables.event
        this = (event.c[name] == bindparam(name) for name in ("tenant", "scope", "seq"))
        return self._compile(select(event.c.at).where(*this))

    @cached_property
    def events(self) -> Statement:
        """A tenant's log."""
        event = self._tables.event
        behind = event.c.tenant == bindparam("tenant"), event.c.row > bindparam("after")
        statement = select(*columns_of(event, EVENT_COLUMNS)).where(*behind).order_by(event.c.row)
        return self._compile(statement.limit(ROWS).offset(ZERO))

    @cached_property
    def keys(self) -> Statement:
        """The keys of a scope."""
        ledger = self._tables.ledger
        statement = select(ledger.c.key).where(*self._whose(), ledger.c.key > bindparam("after"))
        return self._compile(statement.order_by(ledger.c.key).limit(ROWS).offset(ZERO))

    @cached_property
    def key_count(self) -> Statement:
        """How many keys a scope has."""
        return self._compile(select(func.count()).select_from(self._tables.ledger).where(*self._whose()))

    @cached_property
    def key_count_all(self) -> Statement:
        """How many keys a tenant has."""
        ledger = self._tables.ledger
        return self._compile(
            select(func.count()).select_from(ledger).where(ledger.c.tenant == bindparam("tenant"))
        )

    @property
    def _with_contents(self) -> Any:
        item, revision = self._tables.item, self._revision
        columns = (item.c.id, item.c.revision, item.c.created_at, *columns_of(revision, CONTENT_COLUMNS))
        return select(*columns).select_from(self._newest)

    @property
    def _there(self) -> tuple[ColumnElement[bool], ...]:
        return self._spelling.here, self._spelling.live, self._spelling.visible

    def _whose(self) -> tuple[Any, Any]:
        ledger = self._tables.ledger
        return ledger.c.tenant == bindparam("tenant"), ledger.c.scope == bindparam("scope")


def _newest(
    revision: Table, heads: FromClause, same: ColumnElement[bool], *, lateral: bool
) -> tuple[FromClause, FromClause]:
    """Revisions as a query names them, and heads with their newest ones.

    A planner that knows too little of a table may join all revisions of a namespace with each of its heads. So it is
    told to look each up by its whole key, where it can be told.
    """
    if not lateral:
        return revision, heads.join(revision, same)
    one = select(revision).where(same).limit(literal_column("1")).lateral("newest")
    return one, heads.join(one, true())


def _here(tenant: str, namespace: Namespace) -> dict[str, object]:
    return {"tenant": tenant, "namespace": namespace_text(namespace)}


def _stored(addresses: Sequence[Address], found: Sequence[Rows]) -> Page[Stored]:
    each = zip(addresses, found, strict=True)
    return Page(tuple([stored_from(address.namespace, row) for address, rows in each for row in rows]))


def _totals(found: Sequence[Rows]) -> Page[Totals]:
    (rows,) = found
    kinds = tuple((kind, count) for kind, count, *_ in rows)
    embedded = sum(row[2] for row in rows)
    oldest, newest = min((row[3] for row in rows), default=None), max((row[4] for row in rows), default=None)
    return Page((Totals(kinds, tuple(rows[0][5:]) if rows else (), embedded, oldest, newest),))


def _one(found: Sequence[Rows]) -> Page[Any]:
    return Page((found[0][0][0],))


def _all(make: Callable[[Row], Any]) -> Callable[[Sequence[Rows]], Page[Any]]:
    return lambda found: Page(tuple(make(row) for row in found[0]))


def _page(make: Callable[[Row], Any], limit: int) -> Callable[[Sequence[Rows]], Page[Any]]:
    return lambda found: Page(tuple(make(row) for row in found[0][:limit]), more=len(found[0]) > limit)
