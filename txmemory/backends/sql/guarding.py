"""The statements of the guard's steps, built once as expressions."""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, Self

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.sql import ClauseElement

from txmemory.backends.sql import narrowing
from txmemory.backends.sql.rows import HEAD_COLUMNS, RECORD_COLUMNS
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, Statement, columns_of
from txmemory.backends.sql.walking import walks
from txmemory.rules import order


class WholeRows(NamedTuple):
    """The names that each statement for many rows binds; "least" is the least number that an event may get."""

    item: tuple[str, ...]
    ended: tuple[str, ...]
    revision: tuple[str, ...]
    event: tuple[str, ...]
    ledger: tuple[str, ...]


class GuardStatements(Generic[Statement]):
    """Each step's statement in one technology's spelling.

    `lock` says whether reads of the guard lock rows; `compile_row` is for statements that bind a whole row, value by
    value in the order of the table's columns.
    """

    def __init__(
        self, spelling: Spelling[Statement], compile_row: Callable[[ClauseElement], Statement], *, lock: bool
    ) -> None:
        self._spelling = spelling
        self._tables = spelling.tables
        self._compile = spelling.compile
        self._compile_row = compile_row
        self._lock = lock

    def built(self) -> Self:
        """Itself, with every statement built that has no shape: no transaction waits for that."""
        for name, statement in vars(type(self)).items():
            if isinstance(statement, cached_property):
                getattr(self, name)
        return self

    @cached_property
    def advance_fence(self) -> Statement:
        """Raises a scope's fence; answers a row when the presenter is not fenced."""
        scope = self._tables.scope
        statement = self._new_scope()
        given = statement.excluded
        newer = or_(
            given.generation > scope.c.generation,
            and_(given.generation == scope.c.generation, given.token > scope.c.token),
        )
        agrees = or_(scope.c.holder.is_(None), given.holder.is_(None), given.holder == scope.c.holder)
        equal = and_(given.generation == scope.c.generation, given.token == scope.c.token, agrees)
        return self._compile(
            statement.on_conflict_do_update(
                index_elements=[scope.c.tenant, scope.c.scope],
                set_={
                    "generation": given.generation,
                    "token": given.token,
                    "holder": case((newer, given.holder), else_=func.coalesce(scope.c.holder, given.holder)),
                    "lease_until": case((newer, given.lease_until), else_=scope.c.lease_until),
                },
                where=or_(newer, equal),
            ).returning(scope.c.seq, scope.c.last_at, scope.c.sealed)
        )

    @cached_property
    def put_standing(self) -> Statement:
        """Writes a scope's fence and holder, new or not; its order stays, and an older token's lease ends."""
        key, statement = self._tables.scope.primary_key.columns, self._new_scope()
        standing = {
            name: statement.excluded[name] for name in ("generation", "token", "holder", "lease_until")
        }
        return self._compile(statement.on_conflict_do_update(index_elements=list(key)[:2], set_=standing))

    @cached_property
    def fence(self) -> Statement:
        """The newest fence of a scope."""
        scope = self._tables.scope
        return self._compile(select(scope.c.generation, scope.c.token).where(*self._whose(scope)))

    @cached_property
    def standing(self) -> Statement:
        """A scope's row, and along with it what is recorded for one key, if anything."""
        scope, ledger, event = self._tables.scope, self._tables.ledger, self._tables.event
        columns = columns_of(scope, ("generation", "token", "holder", "seq", "last_at", "sealed"))
        here = and_(self._same_scope, ledger.c.key == bindparam("key"))
        joined = scope.outerjoin(ledger, here).outerjoin(event, self._its_event)
        statement = select(*columns, *columns_of(event, RECORD_COLUMNS)).select_from(joined)
        return self._compile(statement.where(*self._whose(scope)))

    @cached_property
    def replayed(self) -> Statement:
        """Fence and what is recorded for one key, read together."""
        scope, ledger, event = self._tables.scope, self._tables.ledger, self._tables.event
        columns = columns_of(scope, ("generation", "token", "holder"))
        joined = scope.join(ledger, self._same_scope).join(event, self._its_event)
        statement = select(*columns, *columns_of(event, RECORD_COLUMNS)).select_from(joined)
        return self._compile(statement.where(*self._whose(scope), ledger.c.key == bindparam("key")))

    @cached_property
    def applied(self) -> Statement:
        """What is recorded for one key."""
        ledger, event = self._tables.ledger, self._tables.event
        statement = select(*columns_of(event, RECORD_COLUMNS)).select_from(
            ledger.join(event, self._its_event)
        )
        return self._compile(statement.where(*self._whose(ledger), ledger.c.key == bindparam("key")))

    @property
    def _same_scope(self) -> ColumnElement[bool]:
        scope, ledger = self._tables.scope, self._tables.ledger
        return and_(ledger.c.tenant == scope.c.tenant, ledger.c.scope == scope.c.scope)

    @property
    def _its_event(self) -> ColumnElement[bool]:
        ledger, event = self._tables.ledger, self._tables.event
        return and_(*(event.c[name] == ledger.c[name] for name in ("tenant", "scope", "seq")))

    @cached_property
    def make_namespace(self) -> Statement:
        """The row that bounded writers lock; answers a row when it is new."""
        namespace = self._tables.namespace
        given: dict[str, Any] = {each.name: bindparam(each.name) for each in namespace.c}
        statement = self._spelling.upsert(namespace).values(given).on_conflict_do_nothing()
        return self._compile(statement.returning(namespace.c.namespace))

    @cached_property
    def lock_namespace(self) -> Statement:
        """Writes that row: who waited for it on a snapshot finds it changed, and begins anew."""
        namespace = self._tables.namespace
        return self._compile(
            update(namespace).where(*self._this_namespace).values(namespace=namespace.c.namespace)
        )

    @cached_property
    def drop_namespace(self) -> Statement:
        """Takes that row away."""
        return self._compile(delete(self._tables.namespace).where(*self._this_namespace))

    @property
    def _this_namespace(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        columns = self._tables.namespace.c
        return columns.tenant == bindparam("in_tenant"), columns.namespace == bindparam("in_namespace")

    @cached_property
    def make_placeholder(self) -> Statement:
        """A head of revision 0 where there is none, so that there is a row to lock; answers a row when it is new."""
        item = self._tables.item
        zero = ("live", "revision", "created_at", "updated_at", "added_at", "added_ordinal")
        given: dict[str, Any] = {
            **{name: bindparam(name) for name in ("tenant", "namespace", "id")},
            **{name: literal_column("0") for name in zero},
            "kind": literal_column("''"),
            "attributes": literal_column("'{}'"),
        }
        statement = self._spelling.upsert(item).values(given).on_conflict_do_nothing()
        return self._compile(statement.returning(item.c.id))

    @cached_property
    def drop_placeholder(self) -> Statement:
        """Takes a head away that is still a placeholder."""
        item = self._tables.item
        this = self._spelling.here, item.c.id == bindparam("id"), item.c.revision == literal_column("0")
        return self._compile(delete(item).where(*this))

    @cached_property
    def head(self) -> Statement:
        """One head by its whole key."""
        return self._compile(self._locked(self._heads().where(self._tables.item.c.id == bindparam("id"))))

    @lru_cache(maxsize=64)  # noqa: B019 - one instance a technology, for the life of the process
    def matching(self, shape: narrowing.Shape) -> Statement:
        """Live heads of a namespace that a condition accepts, expired ones too."""
        item = self._tables.item
        wanted = narrowing.clause(self._spelling.texts, shape, item, None)
        heads = self._spelling.along(walks(shape)[0].along, self._heads())
        return self._compile(self._locked(heads.where(self._spelling.live, wanted).order_by(item.c.id)))

    @cached_property
    def count_live(self) -> Statement:
        """How many live heads there are, counted to `rows`."""
        return self._counted("age", order.EVICTION)

    @cached_property
    def count_expired(self) -> Statement:
        """How many live heads have expired, counted to `rows`."""
        return self._counted("expiry", order.EXPIRED, self._gone)

    @cached_property
    def count_older(self) -> Statement:
        """How many live heads that have not expired were created before `cutoff`, counted to `rows`."""
        old = self._tables.item.c.created_at < bindparam("cutoff")
        return self._counted("age", order.EVICTION, self._stays, old)

    def _counted(self, index: str, columns: tuple[str, ...], *where: ColumnElement[bool]) -> Statement:
        heads = self._spelling.along(index, select(self._tables.item.c.id)).where(self._spelling.here)
        ordered = heads.order_by(*self._spelling.ordered(columns, descending=False))
        counted = ordered.where(self._spelling.live, *where).limit(ROWS).offset(ZERO)
        return self._compile(select(func.count()).select_from(counted.subquery()))

    @cached_property
    def expired(self) -> Statement:
        """Live heads that have expired, the first first."""
        return self._victims("expiry", self._gone, order.EXPIRED)

    @cached_property
    def oldest(self) -> Statement:
        """Live heads that have not expired, the oldest first."""
        return self._victims("age", self._stays, order.EVICTION)

    @property
    def _gone(self) -> ColumnElement[bool]:
        expires_at = self._tables.item.c.expires_at
        return and_(expires_at.is_not(None), expires_at <= bindparam("now"))

    @property
    def _stays(self) -> ColumnElement[bool]:
        expires_at = self._tables.item.c.expires_at
        return or_(expires_at.is_(None), expires_at > bindparam("now"))

    @cached_property
    def put_head(self) -> Statement:
        """Writes a head, new or not."""
        item = self._tables.item
        statement = self._spelling.upsert(item).values({each.name: bindparam(each.name) for each in item.c})
        changed = [each.name for each in item.c if not each.primary_key]
        return self._compile_row(
            statement.on_conflict_do_update(
                index_elements=[item.c.tenant, item.c.namespace, item.c.id],
                set_={name: statement.excluded[name] for name in changed},
            )
        )

    @cached_property
    def end_head(self) -> Statement:
        """Ends a head; what filters could look at goes."""
        item = self._tables.item
        key = {"tenant": "in_tenant", "namespace": "in_namespace", "id": "with_id"}
        this = [item.c[name] == bindparam(given) for name, given in key.items()]
        ended = update(item).where(*this)
        return self._compile_row(
            ended.values(
                live=literal_column("0"),
                revision=bindparam("revision"),
                updated_at=bindparam("updated_at"),
                attributes=literal_column("'{}'"),
                importance=literal_column("NULL"),
            )
        )

    @cached_property
    def append_revision(self) -> Statement:
        """One entry of an item's history."""
        return self._appending(self._tables.revision)

    @cached_property
    def columns(self) -> "WholeRows":
        """What the statements for whole rows bind, in order."""
        tables = self._tables
        event = tuple(each.name for each in tables.event.c if each.name != "row")
        return WholeRows(
            item=tuple(each.name for each in tables.item.c),
            ended=("revision", "updated_at", "in_tenant", "in_namespace", "with_id"),
            revision=tuple(each.name for each in tables.revision.c),
            event=event if self._spelling.number is None else ("least", *event),
            ledger=tuple(each.name for each in tables.ledger.c),
        )

    @cached_property
    def append_event(self) -> Statement:
        """One entry of the log."""
        event, number = self._tables.event, self._spelling.number
        given: dict[str, Any] = {each.name: bindparam(each.name) for each in event.c if each.name != "row"}
        numbered = given if number is None else {"row": number, **given}
        return self._compile_row(insert(event).values(numbered).inline())

    @cached_property
    def record(self) -> Statement:
        """One applied key."""
        return self._appending(self._tables.ledger)

    def _appending(self, table: Table) -> Statement:
        return self._compile_row(insert(table).values({each.name: bindparam(each.name) for each in table.c}))

    @cached_property
    def move_scope(self) -> Statement:
        """Writes the scope's place in its order."""
        scope = self._tables.scope
        this = scope.c.tenant == bindparam("in_tenant"), scope.c.scope == bindparam("in_scope")
        moved: dict[str, Any] = {name: bindparam(name) for name in ("seq", "last_at", "sealed")}
        return self._compile(update(scope).where(*this).values(moved))

    @cached_property
    def forget(self) -> Statement:
        """Takes one key away."""
        ledger = self._tables.ledger
        return self._compile(delete(ledger).where(*self._whose(ledger), ledger.c.key == bindparam("key")))

    @cached_property
    def forget_all(self) -> Statement:
        """Takes all keys of a scope away."""
        ledger = self._tables.ledger
        return self._compile(delete(ledger).where(*self._whose(ledger)))

    def _new_scope(self) -> Any:
        named = ("tenant", "scope", "generation", "token", "holder")
        given: dict[str, Any] = {name: bindparam(name) for name in named}
        given |= {name: literal_column("0") for name in ("seq", "last_at", "sealed")}
        given["lease_until"] = literal_column("NULL")
        return self._spelling.upsert(self._tables.scope).values(given)

    def _heads(self) -> Select[Any]:
        return select(*columns_of(self._tables.item, HEAD_COLUMNS)).where(self._spelling.here)

    def _victims(self, index: str, wanted: ColumnElement[bool], columns: tuple[str, ...]) -> Statement:
        heads = self._spelling.along(index, self._heads()).where(self._spelling.live, wanted)
        ordered = heads.order_by(*self._spelling.ordered(columns, descending=False))
        return self._compile(ordered.limit(ROWS).offset(ZERO))

    def _locked(self, statement: Select[Any]) -> Select[Any]:
        return statement.with_for_update() if self._lock else statement

    @staticmethod
    def _whose(table: Any) -> tuple[Any, Any]:
        return table.c.tenant == bindparam("tenant"), table.c.scope == bindparam("scope")
