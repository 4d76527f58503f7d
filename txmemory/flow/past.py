"""The flows of reads as of a time: whether it is settled is asked first, then what there was, page by page.

What is committed by then is seen by all pages; so where the time is settled they are as of one moment, together.
"""

from collections.abc import Callable
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model import limits
from txmemory.model.address import Address, Namespace
from txmemory.model.filter import Condition
from txmemory.model.item import Stored, moment
from txmemory.model.past import AsOf, Point
from txmemory.model.query import Page, Past, Settled, TimeOf
from txmemory.model.refusal import NotFound
from txmemory.rules import order
from txmemory.rules.matches import matches
from txmemory.rules.settling import PastRefusal, ReadRefusal

Value = TypeVar("Value")
_by_recall = order.sort_key(order.RECALL)


def get(tenant: str, address: Address, when: Point) -> Flow[Result[AsOf[Stored | None], PastRefusal]]:
    """The item that was at an address."""

    def read(at: int) -> Flow[Result[Stored | None, ReadRefusal]]:
        page: Page[tuple[str, Stored | None]] | ReadRefusal = yield Past(
            tenant, address.namespace, at, address.id
        )
        if not isinstance(page, Page):
            return Failure(page)
        return Success(page.rows[0][1] if page.rows else None)

    return (yield from _as_of(tenant, when, read))


def recall(
    tenant: str, namespace: Namespace, condition: Condition, limit: int | None, when: Point
) -> Flow[Result[AsOf[list[Stored]], PastRefusal]]:
    """The newest `limit` items that there were and that the condition accepts, or with None all of them."""

    def read(at: int) -> Flow[Result[list[Stored], ReadRefusal]]:
        newest = _Newest(limit)
        if limit == 0:
            return Success([])
        seen = yield from _visited(tenant, namespace, condition, at, newest.take)
        return seen.map(lambda _: newest.in_order())

    return (yield from _as_of(tenant, when, read))


def count(
    tenant: str, namespace: Namespace, condition: Condition, when: Point
) -> Flow[Result[AsOf[int], PastRefusal]]:
    """How many items there were that the condition accepts."""

    def read(at: int) -> Flow[Result[int, ReadRefusal]]:
        return (yield from _visited(tenant, namespace, condition, at, lambda _: None))

    return (yield from _as_of(tenant, when, read))


class _Newest:
    """Of the items that it is given the newest so many; it never holds more than twice a page, or twice as many."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._most = None if limit is None else 2 * max(limit, limits.PAGE_ROWS)
        self._found: list[Stored] = []

    def take(self, stored: Stored) -> None:
        """One more item."""
        self._found.append(stored)
        if len(self._found) == self._most:
            self._found = self.in_order()

    def in_order(self) -> list[Stored]:
        """Those that count, the newest first."""
        return sorted(self._found, key=_by_recall, reverse=True)[: self._limit]


def _as_of(
    tenant: str, when: Point, read: Callable[[int], Flow[Result[Value, ReadRefusal]]]
) -> Flow[Result[AsOf[Value], PastRefusal]]:
    if isinstance(when, int):
        at = when
    else:
        times: Page[int] | ReadRefusal = yield TimeOf(tenant, *when)
        if not isinstance(times, Page):
            return Failure(times)
        if not times.rows:
            return Failure(NotFound())
        (at,) = times.rows
    settled: Page[bool] | ReadRefusal = yield Settled(tenant, at)
    if not isinstance(settled, Page):
        return Failure(settled)
    found = yield from read(at)
    return found.map(lambda value: AsOf(value, settled.rows[0], moment(at)))


def _visited(
    tenant: str, namespace: Namespace, condition: Condition, at: int, take: Callable[[Stored], None]
) -> Flow[Result[int, ReadRefusal]]:
    """Hands `take` the items that there were and that the condition accepts, and answers how many it got."""
    taken = 0
    after = ""
    while True:
        page: Page[tuple[str, Stored | None]] | ReadRefusal = yield Past(tenant, namespace, at, after=after)
        if not isinstance(page, Page):
            return Failure(page)
        for _, stored in page.rows:
            if stored is not None and matches(condition, stored):
                take(stored)
                taken += 1
        if not page.more:
            return Success(taken)
        after, _ = page.rows[-1]
