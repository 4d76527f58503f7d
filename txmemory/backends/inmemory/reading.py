"""Answers to queries from a state."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from txmemory.backends.inmemory import verifying
from txmemory.backends.inmemory.state import State
from txmemory.model.address import Address
from txmemory.model.filter import Condition, Everything
from txmemory.model.item import Stored
from txmemory.model.query import (
    COUNTED_ATTRIBUTES,
    Count,
    Events,
    Figures,
    Get,
    KeyCount,
    Keys,
    Lapsed,
    Page,
    Past,
    Query,
    Revisions,
    Select,
    Settled,
    TimeOf,
    Totals,
)
from txmemory.rules import order
from txmemory.rules.matches import matches
from txmemory.rules.visible import as_of, live_revision

Row = TypeVar("Row")

_by_recall = order.sort_key(order.RECALL)


def answer(state: State, query: Query[Any], now: int) -> Page[Any]:
    """The page that answers a query at this moment."""
    match query:
        case Get(tenant=tenant, addresses=addresses):
            heads = [
                state.heads.get((tenant, address.namespace), {}).get(address.id) for address in addresses
            ]
            live = [head for head in heads if head is not None and live_revision(head, now)]
            return Page(tuple(state.stored(tenant, head) for head in live))
        case Select(after=after, limit=limit):
            found = sorted(_selected(state, query, query.condition, now), key=_by_recall, reverse=True)
            if after is not None:
                found = [stored for stored in found if _by_recall(stored) < after]
            return _page(found[: limit + 1], limit)
        case Count():
            return Page((sum(1 for _ in _selected(state, query, query.condition, now)),))
        case Figures():
            return Page((_totals(list(_selected(state, query, Everything(), now))),))
        case Revisions(tenant=tenant, address=address, after=after, limit=limit):
            history = state.revisions.get((tenant, address), ())
            return _page([each for each in history if each.revision > after], limit)
        case Past(limit=limit):
            return _page(_past(state, query, now), limit)
        case TimeOf(tenant=tenant, scope=scope, seq=seq):
            here = (event for owner, event in state.events.values() if owner == tenant)
            return Page(tuple(event.at for event in here if (event.scope, event.seq) == (scope, seq)))
        case Settled(at=at):
            return Page((at < now,))  # under the lock nothing is under way
        case Events(tenant=tenant, after=after, limit=limit):
            log = [
                (row, event)
                for row, (owner, event) in sorted(state.events.items())
                if owner == tenant and row > after
            ]
            return _page(log, limit)
        case Keys(tenant=tenant, scope=scope, after=after, limit=limit):
            return _page(sorted(key for key in state.ledger.get((tenant, scope), {}) if key > after), limit)
        case Lapsed(tenant=tenant, lapsed=lapsed, after=after, limit=limit):
            names = (
                name
                for (owner, name), until in state.leases.items()
                if owner == tenant and name > after and until <= now - lapsed
            )
            return _page(sorted(name for name in names if not state.scopes[tenant, name].row.sealed), limit)
        case KeyCount(tenant=tenant, scope=scope):
            counts = (
                len(rows)
                for (owner, name), rows in state.ledger.items()
                if owner == tenant and scope in (None, name)
            )
            return Page((sum(counts),))
        case _:
            return verifying.answer(state, query)


def _selected(
    state: State, query: Select | Count | Figures, condition: Condition, now: int
) -> Iterable[Stored]:
    for head in state.heads.get((query.tenant, query.namespace), {}).values():
        if live_revision(head, now):
            stored = state.stored(query.tenant, head)
            if matches(condition, stored):
                yield stored


def _past(state: State, query: Past, now: int) -> list[tuple[str, Stored | None]]:
    """One more than the page holds, where there are more."""
    heads = state.heads.get((query.tenant, query.namespace), {})
    if query.id is None:
        ids = sorted(id for id in heads if id > query.after)[: query.limit + 1]
    else:
        ids = [query.id] if query.id in heads else []
    histories = (state.revisions[query.tenant, Address(query.namespace, id)] for id in ids)
    return [(id, as_of(history, query.at, now)) for id, history in zip(ids, histories, strict=True)]


def _totals(found: Sequence[Stored]) -> Totals:
    times = [stored.created_at for stored in found]
    texts = [{stored.item.attributes.get(name) for stored in found} for name in COUNTED_ATTRIBUTES]
    return Totals(
        kinds=tuple(sorted(Counter(stored.item.kind for stored in found).items())),
        distinct=tuple(sum(isinstance(text, str) for text in taken) for taken in texts),
        embedded=sum(stored.item.embedding is not None for stored in found),
        oldest=min(times, default=None),
        newest=max(times, default=None),
    )


def _page(rows: Sequence[Row], limit: int) -> Page[Row]:
    return Page(tuple(rows[:limit]), more=len(rows) > limit)
