"""Reading many pages: a refusal of one ends the whole."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model.event import Event
from txmemory.model.query import Page, Query
from txmemory.model.verifying import (
    LAST,
    LEAST,
    EntryFound,
    HeadCount,
    Heads,
    HeadsAt,
    Histories,
    Logged,
    LogRow,
    Unscoped,
)
from txmemory.rules.checking import ItemCheck
from txmemory.rules.settling import ReadRefusal

Row = TypeVar("Row")
Value = TypeVar("Value")
START = ("", "", LEAST)


class Stopped(Exception):
    """A page or a transaction was refused."""

    def __init__(self, refusal: ReadRefusal) -> None:
        super().__init__()
        self.refusal = refusal


def ask(query: Query[Row]) -> Flow[Page[Row]]:
    """A page; raises `Stopped` where it is refused."""
    page: Page[Row] | ReadRefusal = yield query
    if not isinstance(page, Page):
        raise Stopped(page)
    return page


def refusing(flow: Flow[Value]) -> Flow[Result[Value, ReadRefusal]]:
    """What a flow answers, or the refusal that stopped it."""
    try:
        return Success((yield from flow))
    except Stopped as stopped:
        return Failure(stopped.refusal)


class LogPages:
    """The whole log of a tenant, a page at a time: events of scopes, then those without."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._after: tuple[str, int] | None = ("", LEAST)
        self._row = LEAST
        self._more = True

    def more(self) -> bool:
        """Whether there may be further rows."""
        return self._more

    def page(self) -> Flow[Sequence[LogRow]]:
        """The next rows."""
        if self._after is not None:
            found = yield from ask(Logged(self._tenant, self._after))
            self._after = (found.rows[-1].scope or "", found.rows[-1].seq or 0) if found.more else None
            return found.rows
        found = yield from ask(Unscoped(self._tenant, self._row))
        self._more = found.more
        if found.rows:
            self._row = found.rows[-1].row
        return found.rows


class HistoryPages:
    """All histories of a tenant, or of one stored namespace, a page at a time, whole as far as a page holds them."""

    def __init__(self, tenant: str, namespace: str | None, after: tuple[str, str, int] = START) -> None:
        self._tenant = tenant
        self._namespace = namespace
        self._more = True
        begins = namespace is not None and after == START
        self.after = (namespace or "", "", LEAST) if begins else after

    def more(self) -> bool:
        """Whether there may be further rows."""
        return self._more

    @property
    def whole(self) -> bool:
        """Whether the last history that was read has no more rows."""
        return self.after[2] == LAST

    def page(self) -> Flow[Sequence[EntryFound]]:
        """The next rows: without a history that may go on, but for one that fills a page."""
        found = yield from ask(Histories(self._tenant, self._namespace, self.after))
        rows, self._more = found.rows, found.more
        if not rows:
            return rows
        last, end = rows[-1], len(rows)
        if found.more:
            while end and rows[end - 1][:2] == last[:2]:
                end -= 1
        if end:
            self.after = (*rows[end - 1][:2], LAST)
            return rows[:end]
        self.after = last[:3]
        return rows


class ItemsPass:
    """Takes all items of a tenant, or of one stored namespace, to a check, a page at a time."""

    def __init__(self, tenant: str, namespace: str | None, after: tuple[str, str, int] = START) -> None:
        self.check = ItemCheck(tenant)
        self._tenant = tenant
        self._namespace = namespace
        self._pages = HistoryPages(tenant, namespace, after)
        self._seen = self._pages.after[:2]
        """Up to where all items were taken."""

    def more(self) -> bool:
        """Whether there may be further items."""
        return self._pages.more()

    @property
    def at(self) -> tuple[str, str, int] | None:
        """From where another pass can go on, where that is."""
        return self._pages.after if self._pages.whole and self.more() else None

    def page(self) -> Flow[Sequence[EntryFound]]:
        """The next rows, which the check is to take before `finish`."""
        return (yield from self._pages.page())

    def finish(self) -> Flow[int]:
        """Judges the items that came to their end with the page, and answers how many heads there are of them."""
        if not (self._pages.whole or not self.more()):
            return 0
        check, after, until = self.check, self._seen, self._pages.after[:2] if self.more() else None
        check.finish()
        if check.unheaded:
            places = tuple(each.place for each in check.unheaded)
            check.settle((yield from ask(HeadsAt(self._tenant, places))).rows)
        counted: Page[int] = yield from ask(
            HeadCount(self._tenant, self._namespace, after, until, check.heads + 1)
        )
        heads = counted.rows[0]
        if heads != check.heads:
            yield from self._orphans(after, until)
        self._seen, check.heads = self._pages.after[:2], 0
        return heads

    def _orphans(self, after: tuple[str, str], until: tuple[str, str] | None) -> Flow[None]:
        more = True
        while more:
            page = yield from ask(Heads(self._tenant, self._namespace, after, until))
            for head in page.rows:
                if not head.has_history:
                    self.check.orphan(head)
            more, after = page.more, page.rows[-1][:2] if page.more else after


def read_events(rows: Sequence[LogRow]) -> Iterator[tuple[LogRow, Event]]:
    """The rows whose event was read."""
    return ((row, row.event) for row in rows if row.event is not None)
