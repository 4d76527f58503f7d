"""The ledger of one scope beside what its events recorded, key by key, while the scope is written."""

from collections.abc import Mapping
from typing import NamedTuple

from txmemory.flow.requests import Flow
from txmemory.log.asking import ask
from txmemory.model.event import Event
from txmemory.model.finding import FindingKind
from txmemory.model.repair import NEW_SCOPE, ScopeState
from txmemory.model.verifying import LEAST, NAMELESS, Ledger, Logged
from txmemory.rules.fold import keys_after, scope_after

ROUNDS = 3
"""Looks at a ledger whose keys come and go meanwhile; what still does is no difference."""


class KeyDifference(NamedTuple):
    """A key, the seq that it should have, and the one that it has; None is not there."""

    key: str
    wanted: int | None
    found: int | None
    doubted: bool = False
    """Whether it stands for an event that has recorded a key: it, the row or what came since was changed.

    Nothing says which, so the key stays, however often a rebuild is called, lest it be run again.
    """

    @property
    def kind(self) -> FindingKind:
        """What it is called."""
        if self.found is None:
            return "key_missing"
        return "key_unexplained" if self.wanted is None else "key_misplaced"


def _seq_of(event: Event) -> int:
    return event.seq or 0


class _Scope:
    """What follows from the events of a scope that were read so far."""

    def __init__(self, tenant: str, scope: str) -> None:
        self.state: ScopeState = NEW_SCOPE
        self.keys: dict[str, int] = {}
        self._recording: set[int] = set()
        """The seq of every event that has recorded a key, since the scope was sealed, if it was."""
        self._tenant = tenant
        self._scope = scope
        self._seq = LEAST

    def read_on(self) -> Flow[set[str] | None]:
        """Reads what has come since, and answers the keys that it is about; None where it is about all."""
        touched: set[str] = set()
        all_of_them = False
        more = True
        while more:
            page = yield from ask(Logged(self._tenant, (self._scope, self._seq), self._scope))
            for row in page.rows:
                self._seq = row.seq or 0
                event = row.event
                if event is not None:
                    self.state = scope_after(self.state, event)
                    keys_after(self.keys, event, _seq_of)
                    touched.add(event.key or "")
                    if event.kind == "record":
                        self._recording.add(self._seq)
                    elif event.kind == "seal":
                        self._recording.clear()
                        all_of_them = True
            more = page.more
        return None if all_of_them else touched

    def beside(self, found: Mapping[str, int]) -> list[KeyDifference]:
        """The keys of the ledger that do not follow."""
        keys, recording = self.keys, self._recording
        return [
            KeyDifference(
                key, keys.get(key), seq, doubted=key not in keys and (seq in recording or key == NAMELESS)
            )
            for key in sorted(keys.keys() | found.keys())
            if (seq := found.get(key)) != keys.get(key)
        ]


def differences(tenant: str, scope: str) -> Flow[tuple[ScopeState, tuple[KeyDifference, ...]]]:
    """The scope as its events leave it, and the keys of its ledger that do not follow from them.

    A key differs only where no event was about it from before until after its row was read.
    """
    told = _Scope(tenant, scope)
    yield from told.read_on()
    sure: list[KeyDifference] = []
    for _ in range(ROUNDS):
        found = yield from _ledger(tenant, scope)
        differing = told.beside(found)
        if not differing:
            break
        touched = yield from told.read_on()
        sure = [] if touched is None else [each for each in differing if each.key not in touched]
        if len(sure) == len(differing):
            break
    else:
        return told.state, tuple(sure)
    return told.state, tuple(differing)


def _ledger(tenant: str, scope: str) -> Flow[dict[str, int]]:
    found: dict[str, int] = {}
    after, more = "", True
    while more:
        page = yield from ask(Ledger(tenant, scope, after))
        found.update((row.key, row.seq) for row in page.rows)
        after = page.rows[-1].key if page.rows else ""
        more = page.more
    return found
