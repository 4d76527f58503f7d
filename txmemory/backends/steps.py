"""The guard: what happens inside one transaction, in this order, on every backend that does not say it in SQL.

Lock order: scope, namespaces, heads in order, victims. Nobody who holds a later class asks for an earlier one.
What is met is returned, never raised, so that a refusal found behind the fence still commits the fence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from txmemory.backends.primitives import HeadChange, LedgerRow, ScopeRow, Tables
from txmemory.model import limits
from txmemory.model.address import Address, Namespace, namespace_text
from txmemory.model.canonical import new_salt
from txmemory.model.commit import (
    Bound,
    Commit,
    Done,
    Entry,
    Finished,
    Forgot,
    Found,
    Met,
    Overtaken,
    Put,
    Recorded,
    Remove,
    RemoveListed,
    RemoveWhere,
    Reply,
    Trim,
)
from txmemory.model.event import Effect, Event, Kind, Reason
from txmemory.model.item import Head, Item, Revision, commitment
from txmemory.model.outcome import Status
from txmemory.rules import bounds, recording
from txmemory.rules.visible import expired, live_revision


def carry_out(tables: Tables, commit: Commit) -> Reply:
    """Runs the guard over one commit. The caller begins and ends the transaction, and undoes it if this raises."""
    tenant, presenter = commit.tenant, commit.presenter
    scope: ScopeRow | None = None
    recorded: Mapping[str, LedgerRow] = {}
    if presenter is not None:
        asked = [entry.key for entry in commit.entries if entry.key is not None and entry.ledger != "forget"]
        scope = tables.advance_fence(tenant, presenter, asked)
        if scope is None:
            return Overtaken(tables.fence(tenant, presenter.scope))
        if scope.sealed:
            return tuple(Forgot(0) if entry.ledger == "seal" else Finished() for entry in commit.entries)
        recorded = tables.applied(tenant, presenter.scope, asked) if asked else {}
    met: list[Met | None] = []
    open_entries: list[tuple[int, Entry]] = []
    for place, entry in enumerate(commit.entries):
        row = None if entry.key is None else recorded.get(entry.key)
        met.append(None if row is None else Recorded(row.outcome, row.fingerprint))
        if row is None:
            open_entries.append((place, entry))
    if not open_entries:
        return tuple(each for each in met if each is not None)
    draft = _Draft(tables, commit, scope)
    draft.lock([entry for _, entry in open_entries])
    judged = [(place, entry, draft.judge(entry)) for place, entry in open_entries]
    excess = 0
    if commit.bounds:
        excess = draft.choose_victims([entry for _, entry, status in judged if status == "stored"])
    draft.take_time()
    for place, entry, status in judged:
        if isinstance(status, Found):
            met[place] = status
        elif excess and status == "stored" and any(isinstance(change, Put) for change in entry.changes):
            met[place] = Found({}, excess)
        else:
            draft.apply(place, entry, status)
    draft.evict()
    return draft.write(met)


@dataclass(slots=True)
class _Draft:
    """The commit as it takes shape between the locks and the writes."""

    tables: Tables
    commit: Commit
    scope: ScopeRow | None
    heads: dict[Address, Head] = field(default_factory=dict)
    victims: dict[Namespace, tuple[Head, ...]] = field(default_factory=dict)
    now: int = 0
    at: int = 0
    changes: dict[Address, HeadChange] = field(default_factory=dict)
    revisions: list[Revision] = field(default_factory=list)
    applied: list[tuple[int, Entry, Status, list[Effect]]] = field(default_factory=list)

    def lock(self, entries: Iterable[Entry]) -> None:
        """Namespaces, then heads, each class in order; the clock after them."""
        tenant = self.commit.tenant
        named: set[Address] = set()
        swept: list[RemoveWhere] = []
        for entry in entries:
            if entry.guards or entry.sources:
                named.update(guard.address for guard in (*entry.guards, *entry.sources))
            for change in entry.changes:
                match change:
                    case Put(address=address) | Remove(address=address):
                        named.add(address)
                    case RemoveWhere():
                        swept.append(change)
                    case RemoveListed(namespace=namespace, listed=here):
                        named.update([Address(namespace, id) for id, _ in here])
                    case Trim():
                        pass
                    case unreachable:
                        assert_never(unreachable)
        if self.commit.bounds:
            names = sorted((bound.namespace for bound in self.commit.bounds), key=namespace_text)
            self.tables.lock_namespaces(tenant, names)
        if named:
            addresses = [*named] if len(named) == 1 else sorted(named, key=lambda address: address.order)
            self.heads.update(self.tables.lock_heads(tenant, addresses))
        for sweep in swept:
            found = self.tables.lock_matching(tenant, sweep.namespace, sweep.condition)
            self.heads.update((head.address, head) for head in found)
        self.now = self.tables.now()

    def judge(self, entry: Entry) -> Status | Found:
        """Guards before sources: a failed guard changes nothing, a missing source supersedes."""
        actual: dict[Address, int] = {}
        for guard in entry.guards:
            actual[guard.address] = live_revision(self.heads.get(guard.address), self.now)
        if entry.ledger == "look" or not all(guard.accepts(actual[guard.address]) for guard in entry.guards):
            return Found(actual)
        for change in entry.changes:
            if isinstance(change, RemoveListed) and not self._as_listed(change):
                return Found(actual)
        for source in entry.sources:
            if not source.accepts(live_revision(self.heads.get(source.address), self.now)):
                return "superseded"
        return "stored"

    def _as_listed(self, change: RemoveListed) -> bool:
        return all(
            live_revision(self.heads.get(Address(change.namespace, id)), self.now) == revision
            for id, revision in change.listed
        )

    def choose_victims(self, entries: Sequence[Entry]) -> int:
        """Fixes what the bounds evict; answers how many too many that is, 0 when it can be done."""
        puts = [change for entry in entries for change in entry.changes if isinstance(change, Put)]
        trims = any(isinstance(change, Trim) for entry in entries for change in entry.changes)
        if not puts and not trims:
            return 0
        ends = [change for entry in entries for change in entry.changes if isinstance(change, Remove)]
        for bound in sorted(self.commit.bounds, key=lambda each: namespace_text(each.namespace)):
            here = [put for put in puts if put.address.namespace == bound.namespace]
            ended = [end.address for end in ends if end.address.namespace == bound.namespace]
            new = sum(1 for put in here if not self._head_live(put.address))
            gone = sum(1 for address in ended if live_revision(self.heads.get(address), self.now))
            named = {put.address for put in here} | set(ended)
            excess, stored = self._lock_excess(bound, here, named, new, gone, trims=trims)
            if excess > limits.COMMIT_VICTIMS:
                self.victims.clear()
                return excess
            if excess:
                arriving = [self._put_head(put) for put in here]
                self.victims[bound.namespace] = bounds.victims(stored, arriving, named, excess, self.now)
        return 0

    def _lock_excess(
        self, bound: Bound, puts: Sequence[Put], named: set[Address], new: int, gone: int, *, trims: bool
    ) -> tuple[int, Sequence[Head]]:
        """How many are too many, and the locked ones that come into question.

        Counted again behind the locks where others may have ended or put some while they were waited for.
        """
        stored: Sequence[Head] = ()
        counted = -1
        while True:
            excess = max(self._over_count(bound, new, gone), self._over_age(bound, puts, named))
            if trims:
                excess = min(excess, limits.COMMIT_VICTIMS)
            if excess == counted or not 0 < excess <= limits.COMMIT_VICTIMS:
                return excess, stored
            stored = self.tables.lock_victims(
                self.commit.tenant, bound.namespace, self.now, excess + len(named)
            )
            if self.tables.alone:
                return excess, stored
            counted = excess

    def _over_count(self, bound: Bound, new: int, gone: int) -> int:
        if bound.most is None:
            return 0
        most = bound.most + gone + limits.COMMIT_VICTIMS + 1
        live = self.tables.count_live(self.commit.tenant, bound.namespace, most)
        return bounds.excess(live, new, gone, bound.most)

    def _over_age(self, bound: Bound, puts: Sequence[Put], named: set[Address]) -> int:
        cutoff = bounds.cutoff(bound, self.now)
        if cutoff is None:
            return 0
        most = limits.COMMIT_VICTIMS + 1 + len(named)
        stored = self.tables.count_past(self.commit.tenant, bound.namespace, self.now, cutoff, most)
        changed = [self.heads[address] for address in named if self._head_live(address)]
        arriving = [self._put_head(put) for put in puts]
        past = [sum(bounds.past(head, self.now, cutoff) for head in heads) for heads in (changed, arriving)]
        return stored - past[0] + past[1]

    def _head_live(self, address: Address) -> bool:
        head = self.heads.get(address)
        return head is not None and head.live

    def _put_head(self, put: Put) -> Head:
        """The head as the put leaves it (`at` is not known yet, and not looked at by an eviction)."""
        known = self.heads.get(put.address)
        return recording.put_head(put, known, self.now, self.at, len(self.revisions))

    def take_time(self) -> None:
        """`at`, after the last lock: later than the scope's last event and every head that may change."""
        clock = self.tables.now() if self.victims else self.now
        newest = max(head.updated_at for head in self.heads.values()) if self.heads else 0
        for victims in self.victims.values():
            newest = max(newest, *(head.updated_at for head in victims))
        self.at = recording.time_of_record(clock, self.scope.last_at if self.scope else None, newest)

    def apply(self, place: int, entry: Entry, status: Status) -> None:
        """Makes the entry's revisions."""
        effects: list[Effect] = []
        if status == "stored":
            for change in entry.changes:
                match change:
                    case Put():
                        effects.append(self._put(change))
                    case Remove(address=address, reason=reason):
                        if live_revision(self.heads.get(address), self.now):
                            effects.append(self._remove(self.heads[address], reason))
                    case RemoveListed(namespace=namespace, listed=listed, reason=reason):
                        addresses = [Address(namespace, id) for id, _ in listed]
                        effects.extend(self._remove(self.heads[address], reason) for address in addresses)
                    case Trim():
                        pass
                    case RemoveWhere(reason=reason):
                        ended = sorted(self.heads.values(), key=lambda head: head.address.order)
                        effects.extend(self._remove(head, self._ending(head, reason)) for head in ended)
                    case unreachable:
                        assert_never(unreachable)
        self.applied.append((place, entry, status, effects))

    def _put(self, put: Put) -> Effect:
        head = self._put_head(put)
        salt = new_salt()
        self._revise(head, put.item, "stored", salt)
        bound = commitment(salt, put.item, head.created_at)
        return Effect(*put.address, head.revision, "put", "stored", bound)

    def _ending(self, head: Head, reason: Reason) -> Reason:
        """What ended the item: an expired one was gone before, whatever takes it away."""
        return "expired" if expired(head.expires_at, self.now) else reason

    def _remove(self, head: Head, reason: Reason) -> Effect:
        ended = recording.removed_head(head, self.at)
        self._revise(ended, None, reason, b"")
        return Effect(*head.address, ended.revision, "remove", reason, None)

    def _revise(self, head: Head, item: Item | None, reason: Reason, salt: bytes) -> None:
        address, revision, _, created_at, *_ = head
        kept = item
        if item is None and address in self.changes:
            kept = self.changes[address].item
        self.changes[address] = HeadChange(head, kept)
        ordinal = len(self.revisions)
        actor = self.commit.presenter.holder if self.commit.presenter else None
        self.revisions.append(
            Revision(address, revision, item, created_at, self.at, ordinal, actor, reason, salt)
        )

    def evict(self) -> None:
        """Ends the victims; they belong to the last stored entry that puts something, or to the one that trims."""
        if not self.victims:
            return
        last = next(
            effects
            for _, entry, status, effects in reversed(self.applied)
            if status == "stored" and any(isinstance(change, Put | Trim) for change in entry.changes)
        )
        for namespace in self.victims:
            for victim in self.victims[namespace]:
                change = self.changes.get(victim.address)
                reason = self._ending(victim, "evicted")
                last.append(self._remove(change.head if change else victim, reason))

    def write(self, met: list[Met | None]) -> Reply:
        """Heads, revisions, events, the scope's order and the ledger, in this order."""
        if self.changes:
            self.tables.change_heads(self.commit.tenant, list(self.changes.values()))
            self.tables.append_revisions(self.commit.tenant, self.revisions)
        events: list[Event] = []
        for place, entry, status, effects in self.applied:
            if entry.ledger in ("forget", "seal"):
                gone = self._forget(entry)
                met[place] = Forgot(gone)
                if gone or entry.ledger == "seal":
                    events.append(self._event(entry.ledger, entry, None, effects, len(events)))
                continue
            kind: Kind = "record" if entry.key is not None else "change"
            event = self._event(kind, entry, status, effects, len(events))
            met[place] = Done(recording.outcome_of(event))
            if entry.key is not None or effects:
                events.extend(recording.readable_parts(event))
        self._append(events)
        return tuple(each for each in met if each is not None)

    def _forget(self, entry: Entry) -> int:
        assert self.commit.presenter is not None, "only a presenter takes keys away"
        keys = None if entry.key is None else [entry.key]
        return self.tables.forget(self.commit.tenant, self.commit.presenter.scope, keys)

    def _event(
        self, kind: Kind, entry: Entry, status: Status | None, effects: Sequence[Effect], before: int
    ) -> Event:
        presenter = self.commit.presenter
        who: tuple[str | None, int | None, int | None, int | None, str | None] = (None,) * 5
        if presenter is not None and self.scope is not None:
            who = (presenter.scope, self.scope.seq + before + 1, *presenter.fence, presenter.holder)
        return Event(kind, *who, entry.key, entry.fingerprint, status, tuple(effects), self.at)

    def _append(self, events: list[Event]) -> None:
        if not events:
            return
        self.tables.append_events(self.commit.tenant, events)
        presenter, scope = self.commit.presenter, self.scope
        if presenter is not None and scope is not None:
            sealed = events[-1].kind == "seal"  # a seal stands alone
            row = ScopeRow(scope.seq + len(events), self.at, sealed)
            self.tables.move_scope(self.commit.tenant, presenter.scope, row)
            applied = [event for event in events if event.kind == "record"]
            if applied:
                self.tables.record(self.commit.tenant, presenter.scope, applied)
