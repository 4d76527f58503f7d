"""The flows of calls that only read. Lists are read page by page, so that no reader holds a snapshot open."""

from collections.abc import Callable
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model import limits
from txmemory.model.address import Address, Namespace
from txmemory.model.filter import Condition
from txmemory.model.item import Revision, Stored
from txmemory.model.query import Count, Get, KeyCount, Keys, Page, Query, Revisions, Select
from txmemory.model.refusal import Contended, Unavailable

ReadRefusal = Contended | Unavailable
Row = TypeVar("Row")


def get(tenant: str, address: Address) -> Flow[Result[Stored | None, ReadRefusal]]:
    """The live item at an address."""
    page: Page[Stored] | ReadRefusal = yield Get(tenant, (address,))
    if isinstance(page, Page):
        return Success(page.rows[0] if page.rows else None)
    return Failure(page)


def recall(
    tenant: str, namespace: Namespace, condition: Condition, limit: int
) -> Flow[Result[list[Stored], ReadRefusal]]:
    """The newest `limit` items that the condition accepts."""

    def behind(last: Stored | None, rows: int) -> Query[Stored]:
        after = None if last is None else (last.created_at, last.address.id)
        return Select(tenant, namespace, condition, after, rows)

    return (yield from _pages(behind, limit))


def history(tenant: str, address: Address) -> Flow[Result[list[Revision], ReadRefusal]]:
    """Every revision of one address, oldest first."""

    def behind(last: Revision | None, rows: int) -> Query[Revision]:
        return Revisions(tenant, address, last.revision if last else 0, rows)

    return (yield from _pages(behind, None))


def keys(tenant: str, scope: str, after: str, limit: int) -> Flow[Result[list[str], ReadRefusal]]:
    """Applied keys of a scope by code point."""

    def behind(last: str | None, rows: int) -> Query[str]:
        return Keys(tenant, scope, after if last is None else last, rows)

    return (yield from _pages(behind, limit))


def count(tenant: str, namespace: Namespace, condition: Condition) -> Flow[Result[int, ReadRefusal]]:
    """How many live items the condition accepts."""
    return (yield from _one(Count(tenant, namespace, condition)))


def key_count(tenant: str, scope: str | None) -> Flow[Result[int, ReadRefusal]]:
    """How many applied keys there are."""
    return (yield from _one(KeyCount(tenant, scope)))


def _one(query: Query[int]) -> Flow[Result[int, ReadRefusal]]:
    page: Page[int] | ReadRefusal = yield query
    return Success(page.rows[0]) if isinstance(page, Page) else Failure(page)


def _pages(
    behind: Callable[[Row | None, int], Query[Row]], limit: int | None
) -> Flow[Result[list[Row], ReadRefusal]]:
    rows: list[Row] = []
    last: Row | None = None
    while limit is None or len(rows) < limit:
        wanted = limits.PAGE_ROWS if limit is None else min(limits.PAGE_ROWS, limit - len(rows))
        page: Page[Row] | ReadRefusal = yield behind(last, wanted)
        if not isinstance(page, Page):
            return Failure(page)
        rows.extend(page.rows)
        if not page.more:
            break
        last = rows[-1]
    return Success(rows)
