"""What a database holds, checked against itself: the log, and all that must follow from it."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from txmemory.backends.opening import Options, open_backend
from txmemory.model.address import Address, namespace_from
from txmemory.model.event import Event
from txmemory.model.item import Revision, commitment
from txmemory.model.outcome import Outcome
from txmemory.model.query import Events, Revisions
from txmemory.port import Backend
from txmemory.rules.fold import Folded, fold
from txmemory.rules.recording import outcome_of
from txmemory.testing.clock import FakeClock

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything of a tenant that two runs of the same calls have in common; salts and digests are left out."""

    items: frozenset[tuple[str, int, str | None]]
    """Live: id, revision, text."""
    ledger: frozenset[tuple[str, str, Outcome]]
    """Scope, key, outcome."""
    events: tuple[Event, ...]

    def by_any_token(self) -> "Snapshot":
        """The same without saying which token wrote what."""
        ledger = frozenset((scope, key, outcome._replace(token=None)) for scope, key, outcome in self.ledger)
        return Snapshot(self.items, ledger, tuple(event._replace(token=None) for event in self.events))


class Rows(NamedTuple):
    """What no query of a backend shows: rows as the tables have them."""

    heads: Sequence[tuple[Any, ...]]
    """Namespace, id, revision, live."""
    ledger: Sequence[tuple[Any, ...]]
    """Scope, key, seq."""
    scopes: Sequence[tuple[Any, ...]]
    """Scope, seq; of those with events."""


def snapshot(path: Path) -> Snapshot:
    """What the file holds. Fails where log, heads, history, ledger and order do not agree."""
    with _backend(path) as backend, closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = Rows(
            connection.execute("SELECT namespace, id, revision, live FROM txm_item").fetchall(),
            connection.execute("SELECT scope, key, seq FROM txm_ledger").fetchall(),
            connection.execute("SELECT scope, seq FROM txm_scope WHERE seq > 0").fetchall(),
        )
        return checked(backend, "default", rows)


def checked(backend: Backend, tenant: str, rows: Rows) -> Snapshot:
    """What the tenant holds. Fails where log, heads, history, ledger and order do not agree."""
    events = _events(backend, tenant)
    folded = fold(events)
    heads = {
        Address(namespace_from(space), id): (revision, live == 1) for space, id, revision, live in rows.heads
    }
    assert {place: revision for place, (revision, live) in heads.items() if live} == folded.live
    assert {place: effect.revision for place, effect in folded.newest.items()} == {
        place: revision for place, (revision, _) in heads.items()
    }
    texts = _check_history(backend, tenant, heads, events)
    ledger = _check_ledger(rows, events, folded)
    _check_order(rows, events, folded)
    items = frozenset((place.id, revision, texts[place]) for place, (revision, live) in heads.items() if live)
    return Snapshot(items, ledger, tuple(_plain(event) for event in events))


@contextmanager
def _backend(path: Path) -> Iterator[Backend]:
    backend = open_backend(Options(f"sqlite:///{path}", FakeClock()))
    try:
        yield backend
    finally:
        backend.close()


def _events(backend: Backend, tenant: str) -> list[Event]:
    rows: list[tuple[int, Event]] = []
    while True:
        page = backend.read(Events(tenant, rows[-1][0] if rows else 0), SECONDS)
        rows += page.rows
        if not page.more:
            return [event for _, event in rows]


def _check_history(
    backend: Backend, tenant: str, heads: dict[Address, tuple[int, bool]], events: list[Event]
) -> dict[Address, str | None]:
    """Each item's revisions count from 1 without a gap, at rising times, and hold what their events commit to.

    Answers the newest text of each.
    """
    promised = {
        (effect.namespace, effect.id, effect.revision): (effect.commitment, event.at)
        for event in events
        for effect in event.effects
    }
    texts: dict[Address, str | None] = {}
    for place, (newest, _) in heads.items():
        history = _history(backend, tenant, place)
        assert [row.revision for row in history] == list(range(1, newest + 1))
        # Two changes of an item in one commit have one time; no interval reaches into the next one.
        assert all(earlier.at <= later.at for earlier, later in pairwise(history)), f"{place} is inverted"
        for row in history:
            bound = None if row.item is None else commitment(row.salt, row.item, row.created_at)
            assert promised.pop((*place, row.revision)) == (bound, row.at)
        texts[place] = None if history[-1].item is None else history[-1].item.text
    assert promised == {}
    return texts


def _history(backend: Backend, tenant: str, place: Address) -> list[Revision]:
    rows: list[Revision] = []
    while True:
        page = backend.read(Revisions(tenant, place, rows[-1].revision if rows else 0), SECONDS)
        rows += page.rows
        if not page.more:
            return rows


def _check_ledger(rows: Rows, events: list[Event], folded: Folded) -> frozenset[tuple[str, str, Outcome]]:
    """The rows are those that the log implies, each naming the event that recorded it."""
    recorded = {(event.scope, event.seq): event for event in events if event.kind == "record"}
    ledger = frozenset((scope, key, outcome_of(recorded[scope, seq])) for scope, key, seq in rows.ledger)
    implied = {
        (scope, key, outcome) for scope, keys in folded.applied.items() for key, outcome in keys.items()
    }
    assert len(rows.ledger) == len(ledger)
    assert ledger == implied
    assert all(recorded[scope, seq].key == key for scope, key, seq in rows.ledger)
    return ledger


def _check_order(rows: Rows, events: list[Event], folded: Folded) -> None:
    """The events of a scope count from 1 without a gap, at rising times, and the scope stands at the last."""
    scopes: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.scope is not None:
            scopes[event.scope].append(event)
    for scope, told in scopes.items():
        # A row's number promises nothing: the order is the seq.
        told.sort(key=lambda event: event.seq or 0)
        assert [event.seq for event in told] == list(range(1, len(told) + 1))
        # The events of one commit have one time.
        assert all(earlier.at <= later.at for earlier, later in pairwise(told)), f"{scope} is inverted"
    assert dict(rows.scopes) == folded.seq


def _plain(event: Event) -> Event:
    effects = tuple(effect._replace(commitment=None) for effect in event.effects)
    return event._replace(fingerprint=None, effects=effects)
