"""The flows of calls that only read. Lists are read page by page, so that no reader holds a snapshot open."""

from collections.abc import Callable
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model import limits
from txmemory.model.address import Address, Namespace, Ref
from txmemory.model.filter import Condition
from txmemory.model.item import Revision, Stored
from txmemory.model.query import (
    Count,
    Figures,
    Get,
    KeyCount,
    Keys,
    Page,
    Query,
    Revisions,
    Select,
    Totals,
)
from txmemory.model.verifying import At, RevisionFound
from txmemory.rules.matches import matches
from txmemory.rules.narrowing import narrowed
from txmemory.rules.settling import ReadRefusal

Row = TypeVar("Row")


def get(tenant: str, address: Address) -> Flow[Result[Stored | None, ReadRefusal]]:
    """The live item at an address."""
    page: Page[Stored] | ReadRefusal = yield Get(tenant, (address,))
    if isinstance(page, Page):
        return Success(page.rows[0] if page.rows else None)
    return Failure(page)


def recall(
    tenant: str, namespace: Namespace, condition: Condition, limit: int | None
) -> Flow[Result[list[Stored], ReadRefusal]]:
    """The newest `limit` items that the condition accepts, or with None all of them."""
    return (yield from selected(tenant, namespace, condition, limit, lambda stored: stored))


def selected(
    tenant: str, namespace: Namespace, condition: Condition, limit: int | None, made: Callable[[Stored], Row]
) -> Flow[Result[list[Row], ReadRefusal]]:
    """What is made of the newest `limit` items that the condition accepts: a page of them is held at a time."""
    found: list[Row] = []
    seen = yield from visited(tenant, namespace, condition, limit, lambda stored: found.append(made(stored)))
    return seen.map(lambda _: found)


def visited(
    tenant: str, namespace: Namespace, condition: Condition, limit: int | None, take: Callable[[Stored], None]
) -> Flow[Result[int, ReadRefusal]]:
    """Hands `take` the newest `limit` items that the condition accepts, and answers how many it got.

    Pages are no snapshot: an item that is given a new time between two of them may be missed, or come twice.
    """
    sure, exact = narrowed(condition)
    taken = 0
    after: tuple[int, str] | None = None
    while limit is None or taken < limit:
        rows = min(limits.PAGE_ROWS, limit - taken) if exact and limit is not None else limits.PAGE_ROWS
        page: Page[Stored] | ReadRefusal = yield Select(tenant, namespace, sure, after, rows)
        if not isinstance(page, Page):
            return Failure(page)
        for stored in page.rows:
            if exact or matches(condition, stored):
                take(stored)
                taken += 1
                if taken == limit:
                    return Success(taken)
        if not page.more:
            break
        after = page.rows[-1].created_at, page.rows[-1].address.id
    return Success(taken)


def there(tenant: str, addresses: tuple[Address, ...]) -> Flow[Result[tuple[Stored, ...], ReadRefusal]]:
    """The live items at these addresses, those that are there, in the order asked."""
    page: Page[Stored] | ReadRefusal = yield Get(tenant, addresses)
    return Success(tuple(page.rows)) if isinstance(page, Page) else Failure(page)


def recorded(tenant: str, refs: tuple[Ref, ...]) -> Flow[Result[list[Stored], ReadRefusal]]:
    """What these revisions stored, in this order, whatever has become of the items since."""
    if not refs:
        return Success([])
    page: Page[RevisionFound] | ReadRefusal = yield At(tenant, refs)
    if not isinstance(page, Page):
        return Failure(page)
    each = [found.revision for found in page.rows if found.revision is not None]
    return Success(
        [Stored(*known[:2], known.item, known.created_at) for known in each if known.item is not None]
    )


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
    sure, exact = narrowed(condition)
    if exact:
        return (yield from _one(Count(tenant, namespace, sure)))
    return (yield from visited(tenant, namespace, condition, None, lambda _: None))


def figures(tenant: str, namespace: Namespace) -> Flow[Result[Totals, ReadRefusal]]:
    """What a namespace holds, in figures."""
    return (yield from _one(Figures(tenant, namespace)))


def key_count(tenant: str, scope: str | None) -> Flow[Result[int, ReadRefusal]]:
    """How many applied keys there are."""
    return (yield from _one(KeyCount(tenant, scope)))


def _one(query: Query[Row]) -> Flow[Result[Row, ReadRefusal]]:
    page: Page[Row] | ReadRefusal = yield query
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
