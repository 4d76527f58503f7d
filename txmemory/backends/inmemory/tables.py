"""The guard's primitives over a state."""

from collections.abc import Callable, Mapping, Sequence

from txmemory.backends.inmemory.state import Scope, State
from txmemory.backends.primitives import HeadChange, LedgerRow, ScopeRow
from txmemory.model.address import Address, Fence, Namespace, Presenter
from txmemory.model.event import Event
from txmemory.model.filter import Condition
from txmemory.model.item import Head, Revision
from txmemory.rules import bounds, order
from txmemory.rules.fencing import advanced
from txmemory.rules.matches import matches
from txmemory.rules.recording import outcome_of
from txmemory.rules.visible import live_revision

_by_expiry = order.sort_key(order.EXPIRED)
_by_age = order.sort_key(order.EVICTION)


class StateTables:
    """The guard's primitives: reads see the state, writes wait until all of them are known."""

    alone = True

    def __init__(self, state: State, clock: Callable[[], int]) -> None:
        self.state = state
        self.now = clock
        self._writes: list[Callable[[], object]] = []

    def later(self, write: Callable[[], object]) -> None:
        """Makes a write with all others."""
        self._writes.append(write)

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
        """A write where the presenter moves the fence."""
        place = (tenant, presenter.scope)
        known = self.state.scopes.get(place)
        standing = advanced(known.standing if known else None, presenter)
        if standing is None:
            return None
        scope = Scope(standing, known.row if known else ScopeRow(0, 0, sealed=False))
        if scope != known:
            self.later(lambda: self.state.scopes.__setitem__(place, scope))
            self.later(lambda: self.state.lease(place, None))  # it was an older token's
        return scope.row

    def fence(self, tenant: str, scope: str) -> Fence:
        """As it stands."""
        return self.state.scopes[tenant, scope].standing.fence

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        """A look into the map."""
        ledger = self.state.ledger.get((tenant, scope), {})
        return {key: ledger[key] for key in keys if key in ledger}

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """The store's lock holds them all."""

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        """A look into the map."""
        found = ((address, self._heads(tenant, address.namespace).get(address.id)) for address in addresses)
        return {address: head for address, head in found if head is not None}

    def lock_matching(self, tenant: str, namespace: Namespace, condition: Condition) -> Sequence[Head]:
        """Every live head is looked at."""
        live = self._live(tenant, namespace)
        return [head for head in live if matches(condition, self.state.stored(tenant, head))]

    def count_live(self, tenant: str, namespace: Namespace, most: int) -> int:
        """Every live head is counted."""
        return min(most, len(self._live(tenant, namespace)))

    def count_past(self, tenant: str, namespace: Namespace, now: int, cutoff: int, most: int) -> int:
        """Every live head is looked at."""
        return min(most, sum(bounds.past(head, now, cutoff) for head in self._live(tenant, namespace)))

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        """Every live head is sorted."""
        live = self._live(tenant, namespace)
        gone = [head for head in live if not live_revision(head, now)]
        rest = [head for head in live if live_revision(head, now)]
        return [*sorted(gone, key=_by_expiry), *sorted(rest, key=_by_age)][:most]

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        """Puts them into the map."""

        def write() -> None:
            for head, _ in changes:
                self.state.heads.setdefault((tenant, head.address.namespace), {})[head.address.id] = head

        self.later(write)

    def append_revisions(self, tenant: str, revisions: Sequence[Revision]) -> None:
        """Puts a longer history in the place of the old one."""
        history = self.state.revisions
        longer: dict[tuple[str, Address], tuple[Revision, ...]] = {}
        for revision in revisions:
            place = (tenant, revision.address)
            longer[place] = (*(longer.get(place) or history.get(place, ())), revision)
        self.later(lambda: history.update(longer))

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        """Numbers them behind the newest."""
        first = self.state.last_row + 1
        rows = {first + place: (tenant, event) for place, event in enumerate(events)}

        def write() -> None:
            self.state.events.update(rows)
            self.state.last_row = first + len(rows) - 1

        self.later(write)

    def move_scope(self, tenant: str, scope: str, row: ScopeRow) -> None:
        """Puts the place beside the fence as it will be by then."""
        place = (tenant, scope)
        self.later(lambda: self.state.scopes.__setitem__(place, self.state.scopes[place]._replace(row=row)))

    def record(self, tenant: str, scope: str, events: Sequence[Event]) -> None:
        """Puts them into the map."""
        ledger = self.state.ledger
        rows = [LedgerRow(event.key or "", event.fingerprint or b"", outcome_of(event)) for event in events]
        self.later(lambda: ledger.setdefault((tenant, scope), {}).update((row.key, row) for row in rows))

    def forget(self, tenant: str, scope: str, keys: Sequence[str] | None) -> int:
        """Takes them out of the map."""
        ledger = self.state.ledger.get((tenant, scope), {})
        gone = [key for key in (ledger if keys is None else keys) if key in ledger]
        self.later(lambda: [ledger.pop(key, None) for key in gone])
        return len(gone)

    def _heads(self, tenant: str, namespace: Namespace) -> Mapping[str, Head]:
        return self.state.heads.get((tenant, namespace), {})

    def _live(self, tenant: str, namespace: Namespace) -> list[Head]:
        return [head for head in self._heads(tenant, namespace).values() if head.live]
