"""A lease as the arguments of `lease_v1`, and its row as a reply."""

from collections.abc import Sequence
from typing import Any, assert_never

from txmemory.backends.postgres.packing import milliseconds
from txmemory.model.address import Fence
from txmemory.model.commit import Finished, LeaseReply, Overtaken
from txmemory.model.lease import (
    CLAIM_TOKEN_MOST,
    Claim,
    Granted,
    Lease,
    Raised,
    Release,
    Released,
    Renew,
    Reset,
    Unheld,
    Withheld,
    scope_of,
)
from txmemory.model.limits import TOKEN_MOST

LEASE_TYPES = (
    *("text", "text", "text", "int8", "text", "text"),
    *("int8", "int8", "text", "int8", "int8", "bool"),
    *("int8", "int8"),
)
"""Of the function's parameters, in order."""


def lease_arguments(
    lease: Lease, lock_timeout: float, clock: int | None, transaction_timeout: float | None
) -> tuple[object, ...]:
    """What the function is called with; numbers as text, of whatever size they are."""
    return (
        lease.tenant,
        milliseconds(lock_timeout),
        None if transaction_timeout is None else milliseconds(transaction_timeout),
        None if clock is None else str(clock),
        *_said(lease),
        str(CLAIM_TOKEN_MOST),
        str(TOKEN_MOST),
    )


def _said(lease: Lease) -> tuple[object, ...]:
    """What it is, of which scope; who presents which fence; how long, since when, and the timeline."""
    scope = scope_of(lease)
    match lease:
        case Claim(holder=holder, ttl=ttl, lapsed=lapsed, timeline=timeline):
            since = None if lapsed is None else str(lapsed)
            return "claim", scope, None, None, holder, str(ttl), since, "t" if timeline else "f"
        case Renew(presenter=presenter, ttl=ttl):
            generation, token = presenter.fence
            return "renew", scope, str(generation), str(token), presenter.holder, str(ttl), None, "f"
        case Release(presenter=presenter):
            generation, token = presenter.fence
            return "release", scope, str(generation), str(token), presenter.holder, None, None, "f"
        case Reset(by=by):
            return "reset", scope, None, None, by, None, None, "f"
        case unreachable:
            assert_never(unreachable)


def lease_from(row: Sequence[Any]) -> LeaseReply:
    """The reply in the function's row."""
    met, generation, token, holder, until = row
    match met:
        case "granted":
            return Granted(Fence(generation, token), until)
        case "withheld":
            return Withheld(holder, until or 0)
        case "overtaken":
            return Overtaken(Fence(generation, token))
        case "released" | "stale":
            return Released(there=met == "released")
        case "raised":
            return Raised(generation)
        case "closed":
            return Finished()
        case _:
            return Unheld()
