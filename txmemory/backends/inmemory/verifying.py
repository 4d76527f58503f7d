"""Answers to what verify and rebuild ask, from a state."""

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from typing import Any

from txmemory.backends.inmemory.state import State
from txmemory.model.address import Address, namespace_from, namespace_text
from txmemory.model.item import Head, Revision
from txmemory.model.query import Page, Query
from txmemory.model.repair import HeadState, ScopeState
from txmemory.model.verifying import (
    At,
    EntryFound,
    HeadCount,
    HeadFound,
    Heads,
    HeadsAt,
    Histories,
    Intact,
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
    entry_of,
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
        case Histories():
            return _histories(state, query)
        case Heads(limit=limit):
            return _first((_head_found(state, query.tenant, *at) for at in _range(state, query)), limit)
        case HeadCount(limit=limit):
            return Page((min(limit, sum(1 for _ in _range(state, query))),))
        case HeadsAt(tenant=tenant, places=places):
            wanted = set(places)
            heads = (_head_found(state, tenant, *at) for at in _heads(state, tenant))
            return Page(tuple([head for head in heads if head[:2] in wanted]))
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


def _heads(state: State, tenant: str) -> Iterator[tuple[Address, int]]:
    """Of every head where it is, and the revision that it names."""
    for (owner, namespace), here in state.heads.items():
        if owner == tenant:
            yield from ((Address(namespace, id), head.revision) for id, head in here.items())


def _head_found(state: State, tenant: str, address: Address, number: int) -> HeadFound:
    has_history = bool(state.revisions.get((tenant, address)))
    return HeadFound(namespace_text(address.namespace), address.id, number, has_history)


def _range(state: State, query: Heads | HeadCount) -> Iterator[tuple[Address, int]]:
    """Heads behind a place and up to another, or to the last."""
    for address, number in _heads(state, query.tenant):
        place = namespace_text(address.namespace), address.id
        behind = place > query.after and query.namespace in (None, place[0])
        if behind and (query.until is None or place <= query.until):
            yield address, number


def _histories(state: State, query: Histories) -> Page[EntryFound]:
    tenant, within = query.tenant, query.namespace
    entries = (
        (namespace_text(address.namespace), address.id, each.revision)
        for (owner, address), history in state.revisions.items()
        if owner == tenant
        for each in history
    )
    behind = (place for place in entries if place > query.after and within in (None, place[0]))
    first = _first(behind, query.limit)
    return Page(tuple([_found(state, tenant, place) for place in first.rows]), first.more)


def _found(state: State, tenant: str, place: tuple[str, str, int]) -> EntryFound:
    namespace, id, number = place
    address = Address(namespace_from(namespace), id)
    history = state.revisions[tenant, address]
    (revision,) = (each for each in history if each.revision == number)
    head = state.heads.get((tenant, address.namespace), {}).get(id)
    named = None if head is None or head.revision != number else head_state(head, history)
    return EntryFound(namespace, id, number, entry_of(revision), named)


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
