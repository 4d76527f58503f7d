"""What happens to a claim inside one transaction, on every backend that does not say it in SQL."""

from typing import NamedTuple, Protocol

from txmemory.model.commit import LeaseReply
from txmemory.model.event import Event
from txmemory.model.lease import Lease, Reset, scope_of
from txmemory.rules.leasing import Claimed, makes_a_row, ruled
from txmemory.rules.recording import time_of_record


class ClaimRow(NamedTuple):
    """A scope's row, held: its claim, and its place in its order."""

    claimed: Claimed
    seq: int
    last_at: int


class Claims(Protocol):
    """The primitives that a backend has inside a transaction. The names are the steps that crash tests stop at."""

    def hold(self, tenant: str, scope: str, *, make: bool) -> ClaimRow | None:
        """Holds the scope's row, and with `make` makes it where there is none, as a scope that nobody has claimed."""
        ...

    def now(self) -> int:
        """The database's clock, read now."""
        ...

    def leave(self, tenant: str, scope: str, row: ClaimRow) -> None:
        """Writes the row that is held."""
        ...

    def note(self, tenant: str, event: Event) -> None:
        """Appends to the log."""
        ...


def lease_out(claims: Claims, lease: Lease) -> LeaseReply:
    """Judges the lease behind the scope's lock; who calls it begins and ends the transaction, and undoes what raised.

    What is refused changes nothing: a row is made only for what will be granted.
    """
    tenant, scope = lease.tenant, scope_of(lease)
    row = claims.hold(tenant, scope, make=makes_a_row(lease))
    now = claims.now()
    left, kind, met = ruled(lease, None if row is None else row.claimed, now)
    if row is None or left is None:
        return met
    if kind is None:
        claims.leave(tenant, scope, row._replace(claimed=left))
        return met
    at = time_of_record(now, row.last_at, 0)
    actor = lease.by if isinstance(lease, Reset) else left.holder
    event = Event(kind, scope, row.seq + 1, *left.fence, actor, None, None, None, (), at)
    claims.leave(tenant, scope, ClaimRow(left, row.seq + 1, at))
    claims.note(tenant, event)
    return met
