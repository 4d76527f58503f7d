"""Answers to what verify and rebuild ask, from a state."""

from collections.abc import Iterable
from heapq import nsmallest
from itertools import chain
from typing import Any

from txmemory.backends.inmemory.state import State
from txmemory.model.address import Address, namespace_from, namespace_text
from txmemory.model.item import Head, Revision
from txmemory.model.query import Page, Query
from txmemory.model.repair import HeadState, ScopeState
from txmemory.model.verifying import (
    LAST,
    At,
    HeadFound,
    Intact,
    Items,
    KeyFound,
    Ledger,
    Logged,
    LogRow,
    RevisionFound,
    ScopeFound,
    Scopes,
    StrayKeys,
    Tenants,
    Unscoped,
)
from txmemory.rules.fold import head_after


def answer(state: State, query: Query[Any]) -> Page[Any]:
    """The page that answers a query."""
    match query:
        case Tenants(after=after, limit=limit):
            return _first((name for name in _tenants(state) if name > after), limit)
        case Scopes(tenant=tenant, scope=str(name)):
            return Page(tuple([_scope(state, tenant, name)] if (tenant, name) in state.scopes else []))
        case Scopes(tenant=tenant, after=after, limit=limit):
            names = _first((name for owner, name in state.scopes if owner == tenant and name > after), limit)
            return Page(tuple([_scope(state, tenant, name) for name in names.rows]), names.more)
        case Logged():
            return _logged(state, query)
        case Unscoped(tenant=tenant, after=after, limit=limit):
            rows = (row for row, (owner, _) in state.events.items() if owner == tenant and row > after)
            first = _first(rows, limit)
            return Page(tuple([_row(state, row, scoped=False) for row in first.rows]), first.more)
        case Ledger(tenant=tenant, scope=scope, after=after, limit=limit):
            keys = state.ledger.get((tenant, scope), {})
            found = (KeyFound(scope, key, keys[key].outcome.seq or 0) for key in keys if key > after)
            return _first(found, limit)
        case StrayKeys(tenant=tenant, after=place, until=until, limit=limit):
            stray = (
                KeyFound(scope, key, row.outcome.seq or 0)
                for (owner, scope), keys in state.ledger.items()
                if owner == tenant and (tenant, scope) not in state.scopes and _up_to(scope, until)
                for key, row in keys.items()
            )
            return _first((each for each in stray if (each.scope, each.key) > place), limit)
        case Items():
            return _items(state, query)
        case At(tenant=tenant, refs=refs):
            found_at = [
                RevisionFound(namespace_text(ref.namespace), ref.id, ref.revision, each)
                for ref in refs
                for each in state.revisions.get((tenant, ref.address), ())
                if each.revision == ref.revision
            ]
            return Page(tuple(found_at))
        case Intact():
            return Page((True,))
        case _:
            raise TypeError("not a query")


def _first(rows: Iterable[Any], limit: int) -> Page[Any]:
    """The first of these, in their order."""
    found = nsmallest(limit + 1, rows)
    return Page(tuple(found[:limit]), more=len(found) > limit)


def _up_to(scope: str, until: str | None) -> bool:
    return until is None or scope <= until


def _tenants(state: State) -> set[str]:
    owned = (state.scopes, state.ledger, state.heads, state.revisions)
    return {tenant for tenant, _ in state.events.values()} | {tenant for each in owned for tenant, _ in each}


def _scope(state: State, tenant: str, name: str) -> ScopeFound:
    (standing, row), keys = state.scopes[tenant, name], state.ledger.get((tenant, name), {})
    return ScopeFound(name, ScopeState(standing.fence, row.seq, row.last_at, row.sealed), len(keys))


def _logged(state: State, query: Logged) -> Page[LogRow]:
    places = (
        (event.scope, event.seq, row)
        for row, (owner, event) in state.events.items()
        if owner == query.tenant
        and event.scope is not None
        and event.seq is not None
        and (event.scope, event.seq) > query.after
        and _up_to(event.scope, query.until)
    )
    first = _first(places, query.limit)
    return Page(tuple([_row(state, row, scoped=True) for _, _, row in first.rows]), first.more)


def _row(state: State, number: int, *, scoped: bool) -> LogRow:
    tenant, event = state.events[number]
    if not scoped:
        return LogRow(number, event.scope, event.seq, event if event.scope is None else None)
    row = state.ledger.get((tenant, event.scope or ""), {}).get(event.key or "")
    return LogRow(number, event.scope, event.seq, event, None if row is None else row.outcome.seq)


def _items(state: State, query: Items) -> Page[HeadFound | RevisionFound]:
    tenant, within = query.tenant, query.namespace
    heads = (
        (namespace_text(namespace), id, LAST)
        for (owner, namespace), here in state.heads.items()
        if owner == tenant
        for id in here
    )
    entries = (
        (namespace_text(address.namespace), address.id, each.revision)
        for (owner, address), history in state.revisions.items()
        if owner == tenant
        for each in history
    )
    behind = (place for place in chain(heads, entries) if place > query.after)
    first = _first((place for place in behind if within is None or place[0] == within), query.limit)
    return Page(tuple([_found(state, tenant, place) for place in first.rows]), first.more)


def _found(state: State, tenant: str, place: tuple[str, str, int]) -> HeadFound | RevisionFound:
    namespace, id, number = place
    address = Address(namespace_from(namespace), id)
    history = state.revisions.get((tenant, address), ())
    if number == LAST:
        head = state.heads[tenant, address.namespace][id]
        return HeadFound(namespace, id, head_state(head, history))
    (revision,) = (each for each in history if each.revision == number)
    return RevisionFound(namespace, id, number, revision)


def head_state(head: Head, history: Iterable[Revision]) -> HeadState:
    """The head, with what filters look at, which a state has in the history alone."""
    folded = None
    for each in history:
        folded = head_after(folded, each)
    kind, attributes, importance = (
        ("", "{}", None)
        if folded is None
        else (folded.head.kind, folded.head.attributes, folded.head.importance)
    )
    _, revision, live, created_at, updated_at, expires_at, added = head
    return HeadState(revision, live, kind, attributes, created_at, updated_at, expires_at, importance, added)
