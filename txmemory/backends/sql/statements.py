"""Every statement over the tables, built once as an expression and compiled once for a dialect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.sql import ClauseElement

from txmemory.backends.sql import narrowing
from txmemory.backends.sql.rows import (
    CONTENT_COLUMNS,
    EVENT_COLUMNS,
    HEAD_COLUMNS,
    RECORD_COLUMNS,
    REVISION_COLUMNS,
)
from txmemory.backends.sql.tables import event, item, ledger, revision, schema, scope
from txmemory.rules import order

Compile = Callable[[ClauseElement], str]

_ROWS: ColumnElement[int] = bindparam("rows")
_ZERO: ColumnElement[int] = literal_column("0")
"""Said, because SQLite's dialect would bind a zero of its own beside every limit."""
_LIVE = item.c.live == literal_column("1")
_VISIBLE = or_(item.c.expires_at.is_(None), item.c.expires_at > bindparam("now"))
_HERE = and_(item.c.tenant == bindparam("tenant"), item.c.namespace == bindparam("namespace"))


def _columns(table: Any, names: Sequence[str]) -> list[Any]:
    return [table.c[name] for name in names]


def ordered(columns: tuple[str, ...], *, descending: bool) -> list[ColumnElement[Any]]:
    """An order of `rules.order` as SQL."""
    return [item.c[name].desc() if descending else item.c[name].asc() for name in columns]


def put_standing(upsert: Callable[[Any], Any]) -> ClauseElement:
    """Writes a scope's fence and holder, new or not; its order stays. `upsert` is the dialect's insert."""
    statement = upsert(scope).values(
        {
            **{name: bindparam(name) for name in ("tenant", "scope", "generation", "token", "holder")},
            **{name: literal_column("0") for name in ("seq", "last_at", "sealed")},
        }
    )
    written: ClauseElement = statement.on_conflict_do_update(
        index_elements=[scope.c.tenant, scope.c.scope],
        set_={name: statement.excluded[name] for name in ("generation", "token", "holder")},
    )
    return written


def put_head(upsert: Callable[[Any], Any]) -> ClauseElement:
    """Writes a head, new or not."""
    statement = upsert(item).values({column.name: bindparam(column.name) for column in item.c})
    changed = [column.name for column in item.c if not column.primary_key]
    written: ClauseElement = statement.on_conflict_do_update(
        index_elements=[item.c.tenant, item.c.namespace, item.c.id],
        set_={name: statement.excluded[name] for name in changed},
    )
    return written


def selecting(shape: narrowing.Shape, *, behind: bool) -> ClauseElement:
    """Live items of a namespace by recall order, from the start or behind a place."""
    newest = revision.c.revision == item.c.revision
    same = and_(*(revision.c[name] == item.c[name] for name in ("tenant", "namespace", "id")), newest)
    statement = (
        select(item.c.id, item.c.revision, item.c.created_at, *_columns(revision, CONTENT_COLUMNS))
        .select_from(item.join(revision, same))
        .where(_HERE, _LIVE, _VISIBLE, narrowing.clause(shape))
        .order_by(*ordered(order.RECALL, descending=True))
        .limit(_ROWS)
        .offset(_ZERO)
    )
    if behind:
        place = tuple_(*(item.c[name] for name in order.RECALL))
        statement = statement.where(place < tuple_(*(bindparam(f"after_{name}") for name in order.RECALL)))
    return statement


def counting(shape: narrowing.Shape) -> ClauseElement:
    """How many live items of a namespace there are."""
    return select(func.count()).select_from(item).where(_HERE, _LIVE, _VISIBLE, narrowing.clause(shape))


def matching(shape: narrowing.Shape) -> ClauseElement:
    """Live heads of a namespace, expired ones too."""
    return (
        select(*_columns(item, HEAD_COLUMNS)).where(_HERE, _LIVE, narrowing.clause(shape)).order_by(item.c.id)
    )


@dataclass(frozen=True, eq=False)
class Statements:
    """The text of every statement in one dialect; `select`, `count` and `match` by shape of condition."""

    compile: Compile
    put_standing: str
    standing: str
    fence: str
    replayed: str
    applied: str
    head: str
    count_live: str
    expired: str
    oldest: str
    put_head: str
    end_head: str
    append_revision: str
    append_event: str
    move_scope: str
    record: str
    forget: str
    forget_all: str
    get: str
    revisions: str
    events: str
    keys: str
    key_count: str
    key_count_all: str
    stamp: str

    @lru_cache(maxsize=256)  # noqa: B019  # one instance a dialect, for the life of the process
    def select(self, shape: narrowing.Shape, *, behind: bool) -> str:
        """A page of recall."""
        return self.compile(selecting(shape, behind=behind))

    @lru_cache(maxsize=256)  # noqa: B019  # as above
    def count(self, shape: narrowing.Shape) -> str:
        """A count."""
        return self.compile(counting(shape))

    @lru_cache(maxsize=256)  # noqa: B019  # as above
    def match(self, shape: narrowing.Shape) -> str:
        """The heads that a removal by condition ends."""
        return self.compile(matching(shape))


def _row_statements(upsert: Callable[[Any], Any]) -> dict[str, ClauseElement]:
    """Those that bind a whole row of `rows`, value by value in the order of the table's columns."""
    return {
        "put_head": put_head(upsert),
        **{
            name: insert(table).values({column.name: bindparam(column.name) for column in table.c})
            for name, table in {"append_revision": revision, "record": ledger}.items()
        },
    }


_WHOSE = scope.c.tenant == bindparam("tenant"), scope.c.scope == bindparam("scope")
_BOOKS = ledger.c.tenant == bindparam("tenant"), ledger.c.scope == bindparam("scope")
_THIS = and_(_HERE, item.c.id == bindparam("id"))


def _guard_statements() -> dict[str, ClauseElement]:
    """What the guard reads inside its transaction, and step 0 before it."""
    head = select(*_columns(item, HEAD_COLUMNS))
    has_expired = and_(item.c.expires_at.is_not(None), item.c.expires_at <= bindparam("now"))
    both = and_(ledger.c.tenant == scope.c.tenant, ledger.c.scope == scope.c.scope)
    its = and_(*(event.c[name] == ledger.c[name] for name in ("tenant", "scope", "seq")))
    return {
        "standing": select(
            *(
                scope.c.generation,
                scope.c.token,
                scope.c.holder,
                scope.c.seq,
                scope.c.last_at,
                scope.c.sealed,
            ),
            *_columns(event, RECORD_COLUMNS),
        )
        .select_from(
            scope.outerjoin(ledger, and_(both, ledger.c.key == bindparam("key"))).outerjoin(event, its)
        )
        .where(*_WHOSE),
        "fence": select(scope.c.generation, scope.c.token).where(*_WHOSE),
        "replayed": select(
            scope.c.generation, scope.c.token, scope.c.holder, *_columns(event, RECORD_COLUMNS)
        )
        .select_from(scope.join(ledger, both).join(event, its))
        .where(*_WHOSE, ledger.c.key == bindparam("key")),
        "applied": select(*_columns(event, RECORD_COLUMNS))
        .select_from(ledger.join(event, its))
        .where(*_BOOKS, ledger.c.key == bindparam("key")),
        "head": head.where(_THIS),
        "count_live": select(func.count()).select_from(
            select(item.c.id).where(_HERE, _LIVE).limit(_ROWS).offset(_ZERO).subquery()
        ),
        "expired": head.where(_HERE, _LIVE, has_expired)
        .order_by(*ordered(order.EXPIRED, descending=False))
        .limit(_ROWS)
        .offset(_ZERO),
        "oldest": head.where(_HERE, _LIVE, _VISIBLE)
        .order_by(*ordered(order.EVICTION, descending=False))
        .limit(_ROWS)
        .offset(_ZERO),
    }


def _change_statements(upsert: Callable[[Any], Any]) -> dict[str, ClauseElement]:
    """What changes rows, but for those of `_row_statements`."""
    return {
        "put_standing": put_standing(upsert),
        "end_head": update(item)
        .where(
            item.c.tenant == bindparam("in_tenant"),
            item.c.namespace == bindparam("in_namespace"),
            item.c.id == bindparam("with_id"),
        )
        .values(
            live=literal_column("0"),
            revision=bindparam("revision"),
            updated_at=bindparam("updated_at"),
            attributes=literal_column("'{}'"),
            importance=literal_column("NULL"),
        ),
        "move_scope": update(scope)
        .where(scope.c.tenant == bindparam("in_tenant"), scope.c.scope == bindparam("in_scope"))
        .values({name: bindparam(name) for name in ("seq", "last_at", "sealed")}),
        "forget": delete(ledger).where(*_BOOKS, ledger.c.key == bindparam("key")),
        "forget_all": delete(ledger).where(*_BOOKS),
        "stamp": insert(schema).values({"version_num": bindparam("version_num")}),
    }


def _query_statements() -> dict[str, ClauseElement]:
    """What answers queries, but for those that depend on a condition."""
    entry = revision.c.tenant == bindparam("tenant"), revision.c.namespace == bindparam("namespace")
    one = and_(*(revision.c[name] == item.c[name] for name in ("tenant", "namespace", "id", "revision")))
    keys = select(func.count()).select_from(ledger)
    return {
        "get": select(item.c.id, item.c.revision, item.c.created_at, *_columns(revision, CONTENT_COLUMNS))
        .select_from(item.join(revision, one))
        .where(_THIS, _LIVE, _VISIBLE),
        "revisions": select(*_columns(revision, REVISION_COLUMNS))
        .where(*entry, revision.c.id == bindparam("id"), revision.c.revision > bindparam("after"))
        .order_by(revision.c.revision)
        .limit(_ROWS)
        .offset(_ZERO),
        "events": select(*_columns(event, EVENT_COLUMNS))
        .where(event.c.tenant == bindparam("tenant"), event.c.row > bindparam("after"))
        .order_by(event.c.row)
        .limit(_ROWS)
        .offset(_ZERO),
        "keys": select(ledger.c.key)
        .where(*_BOOKS, ledger.c.key > bindparam("after"))
        .order_by(ledger.c.key)
        .limit(_ROWS)
        .offset(_ZERO),
        "key_count": keys.where(*_BOOKS),
        "key_count_all": keys.where(ledger.c.tenant == bindparam("tenant")),
    }


def statements(
    compile: Compile, compile_row: Compile, upsert: Callable[[Any], Any], *, append_event: ClauseElement
) -> Statements:
    """All statements for one dialect; `compile_row` is for those that bind whole rows, `append_event` among them."""
    named = {**_guard_statements(), **_change_statements(upsert), **_query_statements()}
    texts = {name: compile(statement) for name, statement in named.items()}
    rows = {**_row_statements(upsert), "append_event": append_event}
    texts.update((name, compile_row(statement)) for name, statement in rows.items())
    return Statements(compile=compile, **texts)
