"""The statement that answers what there was: along the heads by id, each one's newest revision that is no younger."""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, and_, bindparam, literal_column, or_, select, true

from txmemory.backends.sql.rows import CONTENT_COLUMNS
from txmemory.backends.sql.spelling import ROWS, ZERO, Spelling, columns_of

_KEY = ("tenant", "namespace", "id")


def past(spelling: Spelling[Any], *, one: bool) -> Select[Any]:
    """A page of a namespace, or one id. Heads are never deleted: they are the ids that were ever stored to."""
    item, revision = spelling.tables.item, spelling.tables.revision
    older = revision.alias("older")
    same = and_(*(older.c[name] == item.c[name] for name in _KEY), older.c.at <= bindparam("at"))
    newest_first = older.c.revision.desc()
    then: FromClause
    on: ColumnElement[bool]
    if spelling.lateral:
        newest = select(older).where(same).order_by(newest_first).limit(literal_column("1"))
        then, on = newest.lateral("newest"), true()
    else:
        newest = select(older.c.revision).where(same).correlate(item).order_by(newest_first)
        number = newest.limit(literal_column("1")).offset(ZERO).scalar_subquery()
        then = revision
        on = and_(*(revision.c[name] == item.c[name] for name in _KEY), revision.c.revision == number)
    joined = item.outerjoin(then, and_(on, _there(spelling, then)))
    columns = (item.c.id, then.c.revision, then.c.created_at, *columns_of(then, CONTENT_COLUMNS))
    heads = select(*columns).select_from(joined).where(spelling.here)
    if one:
        return heads.where(item.c.id == bindparam("id"))
    return heads.where(item.c.id > bindparam("after")).order_by(item.c.id).limit(ROWS).offset(ZERO)


def _there(spelling: Spelling[Any], then: FromClause) -> ColumnElement[bool]:
    """No tombstone, and not expired by now."""
    visible = or_(then.c.expires_at.is_(None), then.c.expires_at > spelling.now)
    return and_(then.c.kind.is_not(None), visible)
