"""Rows beside what they follow from: a scope's beside its events, a head beside its history, in one pass each."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from txmemory.model.address import Address, namespace_from
from txmemory.model.finding import Finding, FindingKind
from txmemory.model.repair import NEW_SCOPE, FoldedHead, HeadRepair, HeadState, ScopeState
from txmemory.model.verifying import Entry, EntryFound, HeadFound, LogRow, ScopeFound
from txmemory.rules.fold import head_after, scope_after
from txmemory.rules.sums import key_mark


class _Folded(NamedTuple):
    """What follows from the events up to one of them."""

    state: ScopeState
    applied: int
    """Keys that the ledger has as they were recorded."""
    open: int
    """The sum of the keys that it has not, less those of the keys that were taken away."""


class ScopeCheck:
    """The events of one scope in order, beside its row as it stood before they were read, if there was one."""

    def __init__(self, tenant: str, scope: str, row: ScopeFound | None) -> None:
        self.scope = scope
        self.row = row
        self.whole = True
        """Whether every event is there, and can be read."""
        self.findings: list[Finding] = []
        self.seq = 0
        """Of the last event."""
        self.state = NEW_SCOPE
        """What follows from the events so far."""
        self._applied = 0
        self._open = 0
        self._tenant = tenant
        self._then = self._now if row is None or row.state.seq == 0 else None
        """What follows up to the row's own seq, as soon as that is read."""
        self._number = 0

    def take(self, found: LogRow) -> None:
        """The next row of the log."""
        expected, seq, event = self.seq + 1, found.seq or 0, found.event
        if seq != expected:
            self._broken("events_missing", expected)
        self.seq = seq
        if event is None:
            self._broken("event_unreadable", seq)
            return
        before = self.state
        told = (event.generation or 0, event.token or 0)
        if event.at < before.last_at or told < before.fence or found.row <= self._number:
            self._broken("event_out_of_order", seq)
        self._number = found.row
        self.state = scope_after(before, event)
        if event.kind == "record":
            if found.applied == seq:
                self._applied += 1
            else:
                self._open += key_mark(event.key or "")
        elif event.kind == "forget":
            self._open -= key_mark(event.key or "")
        if self.row is not None and seq == self.row.state.seq:
            self._then = self._now

    @property
    def _now(self) -> _Folded:
        return _Folded(self.state, self._applied, self._open)

    def finish(self) -> None:
        """There are no more."""
        if self.row is None:
            return
        row = self.row.state
        if row.seq > self.seq:
            self._broken("events_missing", self.seq + 1)
        if self._then is None:
            return
        then = self._then.state
        if self.whole and (row.last_at, row.sealed) != (then.last_at, then.sealed):
            self.findings.append(self.finding("scope_differs"))
        if row.fence < then.fence:
            self.findings.append(self.finding("fence_lowered"))

    @property
    def ahead(self) -> bool:
        """Whether there are events that the row has not: they have come since, or the row is wrong."""
        return self.row is not None and self.seq > self.row.state.seq

    @property
    def suspect(self) -> bool:
        """Whether the ledger may differ from what follows: as far as it can be told without holding its keys."""
        if self.row is None or self._then is None:
            return True
        state, applied, open = self._then
        if state.sealed:
            return self.row.keys != 0
        return self.row.keys != applied or open != 0

    def finding(self, kind: FindingKind, seq: int | None = None, key: str | None = None) -> Finding:
        """A finding about this scope."""
        return Finding(kind, self._tenant, self.scope, seq, key)

    def _broken(self, kind: FindingKind, seq: int) -> None:
        self.whole = False
        self.findings.append(self.finding(kind, seq))


Place = tuple[str, str]
"""A stored namespace and an id."""


class Unheaded(NamedTuple):
    """A history of which no entry is named by a head, what it makes, and whether it is whole."""

    place: Place
    folded: FoldedHead | None
    whole: bool

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<Unheaded whole={self.whole}>"


class ItemCheck:
    """Histories in order, each with its head."""

    def __init__(self, tenant: str) -> None:
        self.findings: list[Finding] = []
        self.repairs: list[HeadRepair] = []
        """Heads that do not follow from their history, with what does; whether that is whole the log knows."""
        self.unheaded: list[Unheaded] = []
        """Histories of which it is to be asked whether there is a head at all."""
        self.heads = 0
        """How many were seen, each with the entry that it names."""
        self._tenant = tenant
        self._place: Place | None = None
        self._restart()

    def _restart(self) -> None:
        self._only: Entry | None = None
        """The one entry so far, which is not folded as long as its head may be just what it says."""
        self._folded: FoldedHead | None = None
        self._newest = (0, 0)
        """The place in the order of insertion that the newest entry would have."""
        self._head: HeadState | Literal["alone"] | None = None
        self._number = 0
        self._whole = True

    def take(self, found: EntryFound) -> None:
        """The next row."""
        place = found[:2]
        if place != self._place:
            self.finish()
            self._place = place
        self._head = found.head
        if found.head is not None:
            self.heads += 1
        entry = found.entry
        if found.number != self._number + 1:
            self._broken("revision_missing", place, self._number + 1)
        self._number = found.number
        if entry is None:
            self._broken("revision_changed", place, found.number)
        elif self._number == 1 and entry.item is not None:
            self._only = entry
        else:
            self._fold()
            if entry.item is None and not self._ends(entry):
                self._broken("revision_changed", place, found.number)
            self._folded = head_after(self._folded, entry)
            self._newest = entry.at, entry.ordinal

    def finish(self) -> None:
        """The last history has no more rows."""
        place = self._place
        if place is None:
            return
        self._place = None
        if self._only is not None and self._head == "alone" and self._whole:
            self._only, self._number = None, 0  # all else is as at the beginning
            return
        self._judge(place)
        self._restart()

    def _judge(self, place: Place) -> None:
        self._fold()
        each = Unheaded(place, self._folded, self._whole)
        if self._head is None:
            self.unheaded.append(each)
        elif self._whole and not self._follows(self._head):
            self._differs("head_differs", each)

    def _follows(self, head: HeadState | Literal["alone"]) -> bool:
        folded = self._folded
        if head == "alone":
            return folded is not None and self._newest in folded.added
        return folded is not None and folded.accepts(head)

    def settle(self, heads: Iterable[HeadFound]) -> None:
        """Judges what is unheaded by the heads that are at those places: they name what is not their newest entry."""
        there = {(head.namespace, head.id) for head in heads}
        self.heads += len(there)
        for each in self.unheaded:
            if each.place not in there:
                self._differs("head_missing", each)
            elif each.whole:
                self._differs("head_differs", each)
        self.unheaded.clear()

    def orphan(self, head: HeadFound) -> None:
        """A head without a history."""
        place = head[:2]
        if head.number > 0:
            self.findings.append(self._finding("revision_missing", place, head.number))
        else:
            self._differs("placeholder", Unheaded(place, None, whole=True))

    def _fold(self) -> None:
        if self._only is not None:
            self._folded, self._only = head_after(None, self._only), None

    def _ends(self, tombstone: Entry) -> bool:
        """Whether it ends what stands before it, as far as that is there."""
        if self._folded is None or self._folded.head.revision + 1 != tombstone.revision:
            return tombstone.revision > 1
        return self._folded.head.live and self._folded.head.created_at == tombstone.created_at

    def _differs(self, kind: FindingKind, each: Unheaded) -> None:
        self.findings.append(self._finding(kind, each.place, None))
        if each.whole:  # or else nothing says what it should be
            namespace, id = each.place
            self.repairs.append(HeadRepair(Address(spelled(namespace), id), each.folded))

    def _broken(self, kind: FindingKind, place: Place, number: int) -> None:
        self._whole = False
        self.findings.append(self._finding(kind, place, number))

    def _finding(self, kind: FindingKind, place: Place, number: int | None) -> Finding:
        return item_finding(kind, self._tenant, place, number)


def item_finding(kind: FindingKind, tenant: str, place: tuple[str, str], number: int | None) -> Finding:
    """A finding about what stands at a stored namespace and an id."""
    namespace, id = place
    return Finding(kind, tenant, namespace=spelled(namespace), id=id, revision=number)


def spelled(namespace: str) -> tuple[str, ...]:
    """The namespace of this stored form; of what is none, a path of this one part."""
    try:
        parts = namespace_from(namespace)
    except (TypeError, ValueError, RecursionError):
        return (namespace,)
    return parts if all(isinstance(part, str) for part in parts) else (namespace,)
