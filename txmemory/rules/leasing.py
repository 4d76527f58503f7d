"""Who may claim a scope, what a lease makes of its row, and what the caller is told.

Granting a claim is the fence advance. Whether a claim has expired decides who may claim, and nothing else: what a
holder may write is decided by its token alone, so no clock has to be right for that.
"""

from typing import NamedTuple, assert_never

from returns.result import Failure, Result, Success

from txmemory.model.address import Fence, Presenter
from txmemory.model.commit import Finished, LeaseReply, Overtaken
from txmemory.model.event import Kind
from txmemory.model.item import moment
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
    name_of,
)
from txmemory.model.limits import TOKEN_MOST
from txmemory.model.refusal import (
    Contended,
    Fenced,
    Held,
    LeaseLost,
    OutcomeUnknown,
    Sealed,
    Unavailable,
)
from txmemory.rules.fencing import Standing, advanced
from txmemory.rules.settling import Accident, Delayed, Unexpected, delayed

ClaimRefusal = Held | Fenced | Sealed | Delayed
RenewRefusal = Fenced | LeaseLost | Sealed | Delayed
ResetRefusal = Fenced | Contended | OutcomeUnknown | Unavailable


class Claimed(NamedTuple):
    """A scope's row as far as claims go. `lease_until` is None where none holds."""

    fence: Fence
    holder: str | None = None
    lease_until: int | None = None
    timeline: int | None = None
    sealed: bool = False

    def __repr__(self) -> str:
        """The fence alone."""
        return f"<Claimed {self.fence}>"


class Ruling(NamedTuple):
    """What becomes of the row (None: it stays as it is), the event that says so, and what the lease met."""

    left: Claimed | None
    kind: Kind | None
    met: LeaseReply


def ruled(lease: Lease, row: Claimed | None, now: int, timeline: int | None = None) -> Ruling:
    """Judges a lease by the scope's row, None where there is none, and the clock read behind its lock."""
    match lease:
        case Claim():
            return _claim(lease, row, now, timeline)
        case Renew(presenter=presenter, ttl=ttl):
            refused = _not_held(presenter, row)
            if refused is not None or row is None:
                return Ruling(None, None, refused or Unheld())
            left = row._replace(lease_until=now + ttl)
            return Ruling(left, None, Granted(row.fence, now + ttl))
        case Release(presenter=presenter):
            if row is None or row.fence != presenter.fence or row.holder != presenter.holder:
                return Ruling(None, None, Released(there=False))
            if row.lease_until is None or row.sealed:  # it is over, as an earlier attempt may have made it
                return Ruling(None, None, Released(there=True))
            return Ruling(row._replace(lease_until=None), "release", Released(there=True))
        case Reset():
            generation = 0 if row is None else row.fence.generation
            if generation == TOKEN_MOST:
                return Ruling(None, None, Overtaken(Fence(generation, 0 if row is None else row.fence.token)))
            sealed = row is not None and row.sealed
            timeline = None if row is None else row.timeline
            left = Claimed(Fence(generation + 1, 0), timeline=timeline, sealed=sealed)
            return Ruling(left, "reset", Raised(generation + 1))
        case unreachable:
            assert_never(unreachable)


def makes_a_row(lease: Lease) -> bool:
    """Whether the lease is granted where the scope has no row yet."""
    return isinstance(lease, Reset) or (isinstance(lease, Claim) and lease.lapsed is None)


def _claim(claim: Claim, row: Claimed | None, now: int, timeline: int | None) -> Ruling:
    row = row or Claimed(Fence(0, 0))
    if row.sealed:
        return Ruling(None, None, Finished())
    until = row.lease_until
    live = until is not None and until > now
    own = live and row.holder == claim.holder  # an earlier attempt may have been granted, and its answer lost
    if claim.lapsed is not None and not own and (until is None or until > now - claim.lapsed):
        return Ruling(None, None, Withheld(row.holder, until or 0))
    elsewhere = claim.timeline and row.timeline is not None and row.timeline != timeline
    if until is not None and live and not own:
        return Ruling(None, None, Withheld(row.holder, until))
    if until is not None and own and not elsewhere:
        left = row._replace(lease_until=max(until, now + claim.ttl))
        return Ruling(left, None, Granted(row.fence, left.lease_until or 0))
    generation, token = row.fence
    fence = Fence(generation + 1, 1) if elsewhere else Fence(generation, token + 1)
    if fence.token > CLAIM_TOKEN_MOST or fence.generation > TOKEN_MOST:
        return Ruling(None, None, Overtaken(row.fence))
    left = Claimed(fence, claim.holder, now + claim.ttl, timeline if claim.timeline else row.timeline)
    return Ruling(left, "claim", Granted(fence, now + claim.ttl))


def _not_held(presenter: Presenter, row: Claimed | None) -> Overtaken | Finished | Unheld | None:
    """Why the presenter has no claim; None where it has, be it a lapsed one."""
    if row is None or presenter.fence > row.fence:
        return Unheld()
    if advanced(Standing(row.fence, row.holder), presenter) is None:
        return Overtaken(row.fence)
    if row.sealed:
        return Finished()
    return Unheld() if row.lease_until is None or row.holder != presenter.holder else None


def claimed(reply: LeaseReply | Accident) -> Result[Granted, ClaimRefusal]:
    """The claim, or why it is not to be had."""
    match reply:
        case Granted():
            return Success(reply)
        case Withheld(holder=holder, until=until):
            return Failure(Held(name_of(holder), moment(until)))
        case Overtaken(newest=newest):
            return Failure(Fenced(Fence(newest.generation, CLAIM_TOKEN_MOST), newest))
        case Finished():
            return Failure(Sealed())
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case _:
            raise Unexpected("a claim is granted, withheld or refused")


def renewed(presenter: Presenter, reply: LeaseReply | Accident) -> Result[Granted, RenewRefusal]:
    """Until when the claim lives, or that it does no more."""
    match reply:
        case Granted():
            return Success(reply)
        case Overtaken(newest=newest):
            return Failure(Fenced(presenter.fence, newest))
        case Unheld():
            return Failure(LeaseLost())
        case Finished():
            return Failure(Sealed())
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case _:
            raise Unexpected("a renewal is granted or refused")


def released(reply: LeaseReply | Accident) -> Result[bool, Delayed]:
    """Whether the claim was there to be released."""
    match reply:
        case Released(there=there):
            return Success(there)
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case _:
            raise Unexpected("a release is carried out, or too late")


def reset(reply: LeaseReply | Accident) -> Result[int, ResetRefusal]:
    """The new generation."""
    match reply:
        case Raised(generation=generation):
            return Success(generation)
        case Overtaken(newest=newest):
            return Failure(Fenced(Fence(newest.generation, 0), newest))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(reply)
        case _:
            raise Unexpected("a generation is raised, or cannot be")
