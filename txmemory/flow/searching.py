"""The flow of a search: what the condition accepts is read once, page by page, and only its numbers are kept."""

from collections.abc import Collection, Generator
from heapq import nlargest
from typing import Any, NamedTuple

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow, Request
from txmemory.model import limits
from txmemory.model.address import Address, Namespace
from txmemory.model.filter import Condition
from txmemory.model.item import Stored
from txmemory.model.query import Get, Page, Select
from txmemory.rules import order
from txmemory.rules.matches import matches
from txmemory.rules.narrowing import narrowed
from txmemory.rules.ranking import Corpus, Counted, Scores, counted, holding
from txmemory.rules.settling import ReadRefusal
from txmemory.rules.words import words

Scored = tuple[Stored, float]
_by_recall = order.sort_key(order.RECALL)


class _Hit(NamedTuple):
    """An item that has a sought word, as it was when it was read: without its text."""

    address: Address
    revision: int
    created_at: int
    counted: Counted


class _Scan:
    """What was read for one query: the numbers of everything, and the hits by id."""

    def __init__(self, condition: Condition, sought: Collection[str]) -> None:
        self._condition = condition
        self._sought = frozenset(sought)
        self._texts = self._words = 0
        self.hits: dict[str, _Hit] = {}

    def keep(self, stored: Stored) -> bool:
        """Whether the condition accepts the item."""
        return matches(self._condition, stored)

    def counted(self, stored: Stored) -> Counted:
        """The item's words, counted for the query."""
        return counted(words(stored.item.text), self._sought)

    def take(self, stored: Stored) -> None:
        """Counts an item in. One that was given a new time meanwhile may come twice: its later state is the hit."""
        text = self.counted(stored)
        self._texts += 1
        self._words += text.length
        self.hits.pop(stored.address.id, None)
        if text.times:
            hit = _Hit(stored.address, stored.revision, stored.created_at, text)
            self.hits[stored.address.id] = hit

    def scores(self) -> Scores:
        """The scores under the statistics of all that was taken."""
        corpus = Corpus(self._texts, self._words, holding(hit.counted for hit in self.hits.values()))
        return Scores(self._sought, corpus)


def search(
    tenant: str, namespace: Namespace, condition: Condition, sought: Collection[str], top_k: int
) -> Flow[Result[list[Scored], ReadRefusal]]:
    """The `top_k` items that answer the sought words best, of those that the condition accepts, the best first.

    Equal scores are in recall order. An item that changes while it is searched is answered as it is in the end, and
    left out when it is gone, when the condition does not accept it any more, or when it has none of the words.
    """
    if not sought or not top_k:
        return Success([])
    scan = _Scan(condition, sought)
    refusal = yield from _scanned(scan, Select(tenant, namespace, narrowed(condition).condition))
    if refusal is not None:
        return Failure(refusal)
    scores = scan.scores()
    best = nlargest(top_k, scan.hits.values(), key=lambda hit: (scores.of(hit.counted), *_by_recall(hit)))
    found: list[Scored] = []
    for start in range(0, len(best), limits.PAGE_ROWS):
        addresses = tuple(hit.address for hit in best[start : start + limits.PAGE_ROWS])
        page: Page[Stored] | ReadRefusal = yield Get(tenant, addresses)
        if not isinstance(page, Page):
            return Failure(page)
        found.extend((stored, score) for stored in page.rows if (score := _score(stored, scan, scores)))
    found.sort(key=lambda each: (each[1], *_by_recall(each[0])), reverse=True)
    return Success(found)


def _scanned(scan: _Scan, select: Select) -> Generator[Request, Any, ReadRefusal | None]:
    while True:
        page: Page[Stored] | ReadRefusal = yield select
        if not isinstance(page, Page):
            return page
        for stored in page.rows:
            if scan.keep(stored):
                scan.take(stored)
        if not page.more:
            return None
        last = page.rows[-1]
        select = Select(select.tenant, select.namespace, select.condition, (last.created_at, last.address.id))


def _score(stored: Stored, scan: _Scan, scores: Scores) -> float:
    hit = scan.hits[stored.address.id]
    if stored.revision == hit.revision:
        return scores.of(hit.counted)
    return scores.of(scan.counted(stored)) if scan.keep(stored) else 0.0
