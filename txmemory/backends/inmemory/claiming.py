"""The primitives of claims over a state."""

from txmemory.backends.inmemory.state import Scope
from txmemory.backends.inmemory.tables import StateTables
from txmemory.backends.leasing import ClaimRow
from txmemory.backends.primitives import ScopeRow
from txmemory.model.address import Fence
from txmemory.model.event import Event
from txmemory.rules.fencing import Standing
from txmemory.rules.leasing import Claimed


class StateClaims:
    """Reads see the state, writes wait until all of them are known."""

    def __init__(self, tables: StateTables) -> None:
        self._tables = tables
        self.now = tables.now

    def hold(self, tenant: str, scope: str, *, make: bool) -> ClaimRow | None:
        """A look into the map."""
        state, place = self._tables.state, (tenant, scope)
        known = state.scopes.get(place)
        if known is None:
            return ClaimRow(Claimed(Fence(0, 0)), 0, 0) if make else None
        (fence, holder), row = known
        claimed = Claimed(fence, holder, state.leases.get(place), None, row.sealed)
        return ClaimRow(claimed, row.seq, row.last_at)

    def leave(self, tenant: str, scope: str, row: ClaimRow) -> None:
        """Puts scope and lease into their maps."""
        state, place = self._tables.state, (tenant, scope)
        fence, holder, lease_until, _, sealed = row.claimed
        left = Scope(Standing(fence, holder), ScopeRow(row.seq, row.last_at, sealed))

        def write() -> None:
            state.scopes[place] = left
            state.lease(place, lease_until)

        self._tables.later(write)

    def note(self, tenant: str, event: Event) -> None:
        """Behind the newest."""
        self._tables.append_events(tenant, [event])
