"""Effects of the log beside revisions of items, row by row, where their sums differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from txmemory.flow.requests import Flow
from txmemory.log.asking import HistoryPages, LogPages, read_events
from txmemory.model.address import namespace_text
from txmemory.model.event import Event
from txmemory.model.finding import Finding, FindingKind
from txmemory.model.verifying import Entry, EntryFound
from txmemory.rules.checking import item_finding
from txmemory.rules.sums import BUCKETS, Sums, mark

ROWS_MOST = 200_000
"""Rows of the buckets that are compared at a time, about."""


class Place(NamedTuple):
    """A revision's stored namespace, id and number."""

    namespace: str
    id: str
    number: int

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<Place {self.number}>"


Mark = int


def told_by(event: Event) -> Iterator[tuple[Place, Mark]]:
    """What an event says of each revision."""
    at, by = event.at, event.actor
    for namespace, id, revision, _, reason, bound in event.effects:
        text = namespace_text(namespace)
        yield Place(text, id, revision), mark(text, id, revision, reason, bound, at, by)


def marked(place: Sequence[Any], entry: Entry) -> Mark:
    """What a revision says of itself; the place begins with its stored namespace, its id and its number."""
    namespace, id, number = place[:3]
    return mark(namespace, id, number, entry.reason, entry.commitment, entry.at, entry.by)


@dataclass(slots=True)
class Compared:
    """What was found to be on one side only."""

    told: set[Place] = field(default_factory=set)
    """By the log, and not there."""
    there: set[Place] = field(default_factory=set)
    """There, and not told by the log."""
    changed: set[Place] = field(default_factory=set)
    """Told otherwise than it is."""

    def findings(self, tenant: str) -> Iterator[Finding]:
        """Each by its name. What both sides have, but not alike, was changed."""
        both = (self.told & self.there) | self.changed
        kinds: tuple[tuple[FindingKind, set[Place]], ...] = (
            ("revision_changed", both),
            ("revision_missing", self.told - both),
            ("revision_unexplained", self.there - both),
        )
        for kind, places in kinds:
            for place in sorted(places):
                yield item_finding(kind, tenant, place[:2], place.number)

    @property
    def addresses(self) -> frozenset[tuple[str, str]]:
        """Of which items."""
        return frozenset((place.namespace, place.id) for place in self.told | self.there | self.changed)


def compare(
    tenant: str, namespace: str | None, differing: Sequence[int], horizon: int, rows: int
) -> Flow[Compared]:
    """Reads the rows of these buckets again: what differs, however much is written meanwhile.

    An event is read before the revisions that came with it, or else they are missing; a revision before the events
    that tell of it, or else none does.
    """
    compared = Compared()
    together = max(1, ROWS_MOST * BUCKETS // max(rows, 1))
    for start in range(0, len(differing), together):
        yield from _group(
            compared, tenant, namespace, frozenset(differing[start : start + together]), horizon
        )
    return compared


def _group(
    compared: Compared, tenant: str, namespace: str | None, buckets: frozenset[int], horizon: int
) -> Flow[None]:
    told: dict[Place, list[Mark]] = {}
    log = LogPages(tenant)
    while log.more():
        for _, event in read_events((yield from log.page())):
            for place, each in told_by(event):
                here = namespace is None or place.namespace == namespace
                if here and Sums.bucket(each, young=event.at > horizon) in buckets:
                    told.setdefault(place, []).append(each)
    unexplained: dict[Place, Mark | None] = {}
    items = HistoryPages(tenant, namespace)
    while items.more():
        for found in (yield from items.page()):
            _take(found, told, unexplained, buckets, horizon)
    compared.told.update(told)
    if unexplained:
        yield from _explain(compared, tenant, unexplained)


def _take(
    found: EntryFound,
    told: dict[Place, list[Mark]],
    unexplained: dict[Place, Mark | None],
    buckets: frozenset[int],
    horizon: int,
) -> None:
    """Takes a revision off what was told, or notes it."""
    place, entry = Place(*found[:3]), found.entry
    if entry is None:
        unexplained[place] = None
        return
    each = marked(place, entry)
    if Sums.bucket(each, young=entry.at > horizon) not in buckets:
        return
    if each not in told.get(place, ()):
        unexplained[place] = each
        return
    told[place].remove(each)
    if not told[place]:
        del told[place]


def _explain(compared: Compared, tenant: str, unexplained: dict[Place, Mark | None]) -> Flow[None]:
    """Reads the log once more: what came after it was read the first time is told there."""
    log = LogPages(tenant)
    explained: set[Place] = set()
    while log.more():
        for _, event in read_events((yield from log.page())):
            for place, each in told_by(event):
                if place in unexplained and unexplained[place] == each:
                    explained.add(place)
                elif place in unexplained:
                    compared.changed.add(place)
    compared.changed.difference_update(explained)
    compared.there.update(unexplained.keys() - explained)
