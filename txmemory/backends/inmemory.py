"""The backend that keeps everything in this process: one state, the shared guard, one lock."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from txmemory.backends.lifetime import Lifetime
from txmemory.backends.primitives import HeadChange, LedgerRow, ScopeRow
from txmemory.backends.steps import carry_out
from txmemory.model.address import Address, Fence, Namespace, Presenter
from txmemory.model.commit import Commit, Reply
from txmemory.model.event import Event
from txmemory.model.filter import Condition, Everything
from txmemory.model.item import Head, Revision, Stored
from txmemory.model.query import (
    COUNTED_ATTRIBUTES,
    Count,
    Events,
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
from txmemory.rules import bounds, order
from txmemory.rules.fencing import Standing, advanced
from txmemory.rules.matches import matches
from txmemory.rules.recording import outcome_of
from txmemory.rules.visible import live_revision

Row = TypeVar("Row")
Clock = Callable[[], int]

_by_recall = order.sort_key(order.RECALL)
_by_expiry = order.sort_key(order.EXPIRED)
_by_age = order.sort_key(order.EVICTION)


class _Scope(NamedTuple):
    standing: Standing
    row: ScopeRow


@dataclass(slots=True, repr=False)
class State:
    """All that the store holds. A copy shares every frozen row and none of the maps."""

    scopes: dict[tuple[str, str], _Scope] = field(default_factory=dict)
    ledger: dict[tuple[str, str], dict[str, LedgerRow]] = field(default_factory=dict)
    heads: dict[tuple[str, Namespace], dict[str, Head]] = field(default_factory=dict)
    revisions: dict[tuple[str, Address], tuple[Revision, ...]] = field(default_factory=dict)
    events: dict[int, tuple[str, Event]] = field(default_factory=dict)
    last_row: int = 0
    """The last number that an event was given, whatever became of it."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def copy(self) -> "State":
        """A state that can go its own way."""
        return State(
            dict(self.scopes),
            {scope: dict(rows) for scope, rows in self.ledger.items()},
            {namespace: dict(rows) for namespace, rows in self.heads.items()},
            dict(self.revisions),
            dict(self.events),
            self.last_row,
        )


class _Tables:
    """The guard's primitives: reads see the state, writes wait until all of them are known."""

    alone = True

    def __init__(self, state: State, clock: Clock) -> None:
        self._state = state
        self.now = clock
        self._writes: list[Callable[[], object]] = []

    def flush(self) -> bool:
        """Makes the writes, and makes them again if interrupted: each says what shall be, not what to add."""
        try:
            for write in self._writes:
                write()
        except BaseException:
            for write in self._writes:
                write()
            raise
        return bool(self._writes)

    def advance_fence(self, tenant: str, presenter: Presenter, keys: Sequence[str]) -> ScopeRow | None:
        place = (tenant, presenter.scope)
        known = self._state.scopes.get(place)
        standing = advanced(known.standing if known else None, presenter)
        if standing is None:
            return None
        scope = _Scope(standing, known.row if known else ScopeRow(0, 0, sealed=False))
        if scope != known:
            self._writes.append(lambda: self._state.scopes.__setitem__(place, scope))
        return scope.row

    def fence(self, tenant: str, scope: str) -> Fence:
        return self._state.scopes[tenant, scope].standing.fence

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        ledger = self._state.ledger.get((tenant, scope), {})
        return {key: ledger[key] for key in keys if key in ledger}

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """The store's lock holds them all."""

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        found = ((address, self._heads(tenant, address.namespace).get(address.id)) for address in addresses)
        return {address: head for address, head in found if head is not None}

    def lock_matching(self, tenant: str, namespace: Namespace, condition: Condition) -> Sequence[Head]:
        live = self._live(tenant, namespace)
        return [head for head in live if matches(condition, _stored(self._state, tenant, head))]

    def count_live(self, tenant: str, namespace: Namespace, most: int) -> int:
        return min(most, len(self._live(tenant, namespace)))

    def count_past(self, tenant: str, namespace: Namespace, now: int, cutoff: int, most: int) -> int:
        return min(most, sum(bounds.past(head, now, cutoff) for head in self._live(tenant, namespace)))

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        live = self._live(tenant, namespace)
        gone = [head for head in live if not live_revision(head, now)]
        rest = [head for head in live if live_revision(head, now)]
        return [*sorted(gone, key=_by_expiry), *sorted(rest, key=_by_age)][:most]

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        def write() -> None:
            for head, _ in changes:
                self._state.heads.setdefault((tenant, head.address.namespace), {})[head.address.id] = head

        self._writes.append(write)

    def append_revisions(self, tenant: str, revisions: Sequence[Revision]) -> None:
        history = self._state.revisions
        longer: dict[tuple[str, Address], tuple[Revision, ...]] = {}
        for revision in revisions:
            place = (tenant, revision.address)
            longer[place] = (*(longer.get(place) or history.get(place, ())), revision)
        self._writes.append(lambda: history.update(longer))

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        first = self._state.last_row + 1
        rows = {first + place: (tenant, event) for place, event in enumerate(events)}

        def write() -> None:
            self._state.events.update(rows)
            self._state.last_row = first + len(rows) - 1

        self._writes.append(write)

    def move_scope(self, tenant: str, scope: str, row: ScopeRow) -> None:
        place = (tenant, scope)
        self._writes.append(
            lambda: self._state.scopes.__setitem__(place, self._state.scopes[place]._replace(row=row))
        )

    def record(self, tenant: str, scope: str, events: Sequence[Event]) -> None:
        ledger = self._state.ledger
        rows = [LedgerRow(event.key or "", event.fingerprint or b"", outcome_of(event)) for event in events]
        self._writes.append(
            lambda: ledger.setdefault((tenant, scope), {}).update((row.key, row) for row in rows)
        )

    def forget(self, tenant: str, scope: str, keys: Sequence[str] | None) -> int:
        ledger = self._state.ledger.get((tenant, scope), {})
        gone = [key for key in (ledger if keys is None else keys) if key in ledger]
        self._writes.append(lambda: [ledger.pop(key, None) for key in gone])
        return len(gone)

    def _heads(self, tenant: str, namespace: Namespace) -> Mapping[str, Head]:
        return self._state.heads.get((tenant, namespace), {})

    def _live(self, tenant: str, namespace: Namespace) -> list[Head]:
        return [head for head in self._heads(tenant, namespace).values() if head.live]


class InMemory:
    """A backend over one state; callers of one state share its lock. A value has no lifetime: it is never closed."""

    def __init__(self, state: State, clock: Clock, lifetime: Lifetime | None) -> None:
        self.state = state
        self.changed = False
        self._clock = clock
        self._lifetime = lifetime
        # A value is changed by nobody but the call that makes it; its lock would be held for ever in a forked child.
        self._alone: AbstractContextManager[object] = nullcontext() if lifetime is None else state.lock

    def copy(self) -> "InMemory":
        """A value over a copy of the state that has not changed yet."""
        return InMemory(self.state.copy(), self._clock, None)

    def commit(self, commit: Commit, deadline: float) -> Reply:
        """Runs the guard under the lock."""
        if self._lifetime is not None:
            self._lifetime.check()
        with self._alone:
            tables = _Tables(self.state, self._clock)
            reply = carry_out(tables, commit)
            self.changed = tables.flush() or self.changed
            return reply

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers under the lock."""
        if self._lifetime is not None:
            self._lifetime.check()
        with self._alone:
            return cast(Page[Row], _answer(self.state, query, self._clock()))

    def joined(self, connection: object) -> NoReturn:
        """Raises `TypeError`: there is no database whose transaction could be shared."""
        raise TypeError("a store in memory joins no connection")

    def close(self) -> None:
        """Refuses every later call; the state goes with its last handle."""
        if self._lifetime is not None:
            self._lifetime.close()


class AsyncInMemory:
    """The same for callers that await; no call takes long enough to be worth a thread."""

    def __init__(self, backend: InMemory) -> None:
        self._backend = backend

    async def commit(self, commit: Commit, deadline: float) -> Reply:
        """Runs the guard."""
        return self._backend.commit(commit, deadline)

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers a query."""
        return self._backend.read(query, deadline)

    def joined(self, connection: object) -> NoReturn:
        """Raises `TypeError`."""
        self._backend.joined(connection)

    async def close(self) -> None:
        """Refuses every later call."""
        self._backend.close()


def _answer(state: State, query: Query[Any], now: int) -> Page[Any]:
    match query:
        case Get(tenant=tenant, addresses=addresses):
            heads = [
                state.heads.get((tenant, address.namespace), {}).get(address.id) for address in addresses
            ]
            live = [head for head in heads if head is not None and live_revision(head, now)]
            return Page(tuple(_stored(state, tenant, head) for head in live))
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
        case Events(tenant=tenant, after=after, limit=limit):
            log = [
                (row, event)
                for row, (owner, event) in sorted(state.events.items())
                if owner == tenant and row > after
            ]
            return _page(log, limit)
        case Keys(tenant=tenant, scope=scope, after=after, limit=limit):
            return _page(sorted(key for key in state.ledger.get((tenant, scope), {}) if key > after), limit)
        case KeyCount(tenant=tenant, scope=scope):
            counts = (
                len(rows)
                for (owner, name), rows in state.ledger.items()
                if owner == tenant and scope in (None, name)
            )
            return Page((sum(counts),))
        case _:
            raise TypeError("not a query")


def _selected(
    state: State, query: Select | Count | Figures, condition: Condition, now: int
) -> Iterable[Stored]:
    for head in state.heads.get((query.tenant, query.namespace), {}).values():
        if live_revision(head, now):
            stored = _stored(state, query.tenant, head)
            if matches(condition, stored):
                yield stored


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


def _stored(state: State, tenant: str, head: Head) -> Stored:
    item = state.revisions[tenant, head.address][-1].item
    assert item is not None, "a live head's newest revision has content"
    return Stored(head.address, head.revision, item, head.created_at)


def _page(rows: Sequence[Row], limit: int) -> Page[Row]:
    return Page(tuple(rows[:limit]), more=len(rows) > limit)


def system_clock() -> int:
    """Microseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000
