"""What a SQLite file holds, checked against itself: the log, and all that must follow from it."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from txmemory.backends.opening import Options, open_backend
from txmemory.model.address import Address, namespace_from
from txmemory.model.event import Event
from txmemory.model.item import commitment
from txmemory.model.outcome import Outcome
from txmemory.model.query import Events, Revisions
from txmemory.port import Backend
from txmemory.rules.fold import Folded, fold
from txmemory.rules.recording import outcome_of
from txmemory.testing.clock import FakeClock

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything in a file that two runs of the same calls have in common; salts and digests are left out."""

    items: frozenset[tuple[str, int, str | None]]
    """Live: id, revision, text."""
    ledger: frozenset[tuple[str, str, Outcome]]
    """Scope, key, outcome."""
    events: tuple[Event, ...]

    def by_any_token(self) -> "Snapshot":
        """The same without saying which token wrote what."""
        ledger = frozenset((scope, key, outcome._replace(token=None)) for scope, key, outcome in self.ledger)
        return Snapshot(self.items, ledger, tuple(event._replace(token=None) for event in self.events))


def snapshot(path: Path) -> Snapshot:
    """What the file holds. Fails where log, heads, history, ledger and order do not agree."""
    with _backend(path) as backend, closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        events = _events(backend)
        folded = fold(events)
        heads = _heads(connection)
        assert {place: revision for place, (revision, live) in heads.items() if live} == folded.live
        assert {place: effect.revision for place, effect in folded.newest.items()} == {
            place: revision for place, (revision, _) in heads.items()
        }
        _check_history(backend, heads, events)
        ledger = _check_ledger(connection, events, folded)
        _check_order(connection, events, folded)
        items = frozenset(
            (place.id, revision, _text(backend, place, revision))
            for place, (revision, live) in heads.items()
            if live
        )
    return Snapshot(items, ledger, tuple(_plain(event) for event in events))


@contextmanager
def _backend(path: Path) -> Iterator[Backend]:
    backend = open_backend(Options(f"sqlite:///{path}", FakeClock()))
    try:
        yield backend
    finally:
        backend.close()


def _events(backend: Backend) -> list[Event]:
    rows: list[tuple[int, Event]] = []
    while True:
        page = backend.read(Events("default", rows[-1][0] if rows else 0), SECONDS)
        rows += page.rows
        if not page.more:
            return [event for _, event in rows]


def _heads(connection: sqlite3.Connection) -> dict[Address, tuple[int, bool]]:
    rows = connection.execute("SELECT namespace, id, revision, live FROM txm_item")
    return {Address(namespace_from(space), id): (revision, live == 1) for space, id, revision, live in rows}


def _text(backend: Backend, place: Address, revision: int) -> str | None:
    (row,) = backend.read(Revisions("default", place, revision - 1, 1), SECONDS).rows
    return None if row.item is None else row.item.text


def _check_history(backend: Backend, heads: dict[Address, tuple[int, bool]], events: list[Event]) -> None:
    """Each item's revisions count from 1 without a gap, and hold what their events commit to."""
    promised = {
        (effect.namespace, effect.id, effect.revision): effect.commitment
        for event in events
        for effect in event.effects
    }
    for place, (newest, _) in heads.items():
        history = backend.read(Revisions("default", place, 0), SECONDS).rows
        assert [row.revision for row in history] == list(range(1, newest + 1))
        for row in history:
            bound = None if row.item is None else commitment(row.salt, row.item, row.created_at)
            assert promised.pop((*place, row.revision)) == bound
    assert promised == {}


def _check_ledger(
    connection: sqlite3.Connection, events: list[Event], folded: Folded
) -> frozenset[tuple[str, str, Outcome]]:
    """The rows are those that the log implies, each naming the event that recorded it."""
    rows = connection.execute("SELECT scope, key, seq FROM txm_ledger").fetchall()
    recorded = {(event.scope, event.seq): event for event in events if event.kind == "record"}
    ledger = frozenset((scope, key, outcome_of(recorded[scope, seq])) for scope, key, seq in rows)
    implied = {
        (scope, key, outcome) for scope, keys in folded.applied.items() for key, outcome in keys.items()
    }
    assert len(rows) == len(ledger)
    assert ledger == implied
    assert all(recorded[scope, seq].key == key for scope, key, seq in rows)
    return ledger


def _check_order(connection: sqlite3.Connection, events: list[Event], folded: Folded) -> None:
    """The events of a scope count from 1 without a gap, at rising times, and the scope stands at the last."""
    scopes: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.scope is not None:
            scopes[event.scope].append(event)
    for told in scopes.values():
        assert [event.seq for event in told] == list(range(1, len(told) + 1))
    places: list[tuple[Any, ...]] = connection.execute(
        "SELECT scope, seq FROM txm_scope WHERE seq > 0"
    ).fetchall()
    assert dict(places) == folded.seq


def _plain(event: Event) -> Event:
    effects = tuple(effect._replace(commitment=None) for effect in event.effects)
    return event._replace(fingerprint=None, effects=effects)
