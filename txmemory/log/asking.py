"""Reading many pages: a refusal of one ends the whole."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model.event import Event
from txmemory.model.query import Page, Query
from txmemory.model.verifying import LAST, LEAST, HeadFound, Items, Logged, LogRow, RevisionFound, Unscoped
from txmemory.rules.settling import ReadRefusal

Row = TypeVar("Row")
Value = TypeVar("Value")
ItemRow = HeadFound | RevisionFound
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


class ItemPages:
    """All items of a tenant, or of one stored namespace, a page at a time."""

    def __init__(self, tenant: str, namespace: str | None, after: tuple[str, str, int] = START) -> None:
        self._tenant = tenant
        self._namespace = namespace
        self._more = True
        begins = namespace is not None and after == START
        self.after = (namespace or "", "", LEAST) if begins else after

    def more(self) -> bool:
        """Whether there may be further rows."""
        return self._more

    def page(self) -> Flow[Sequence[ItemRow]]:
        """The next rows, as far as the last item that is whole in them, if there is one."""
        found = yield from ask(Items(self._tenant, self._namespace, self.after))
        rows = found.rows
        self._more = found.more
        if found.more:
            whole = next(
                (n for n in range(len(rows), 0, -1) if isinstance(rows[n - 1], HeadFound)), len(rows)
            )
            rows = rows[:whole]
        if rows:
            last = rows[-1]
            number = last.number if isinstance(last, RevisionFound) else LAST
            self.after = last.namespace, last.id, number
        return rows


def read_events(rows: Sequence[LogRow]) -> Iterator[tuple[LogRow, Event]]:
    """The rows whose event was read."""
    return ((row, row.event) for row in rows if row.event is not None)
