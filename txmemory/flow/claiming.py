"""The flows of claims: who may act on a scope, for how long."""

from dataclasses import replace

from returns.result import Failure, Result, Success

from txmemory.flow.requests import Flow
from txmemory.model.lease import Claim, Granted, Release, Renew, Reset
from txmemory.model.query import Lapsed, Page
from txmemory.model.refusal import Fenced, Held, Sealed
from txmemory.rules import leasing
from txmemory.rules.settling import Delayed, ReadRefusal


def claim(wanted: Claim) -> Flow[Result[Granted, leasing.ClaimRefusal]]:
    """The next token of a scope."""
    return leasing.claimed((yield wanted))


def renew(wanted: Renew) -> Flow[Result[Granted, leasing.RenewRefusal]]:
    """More time."""
    return leasing.renewed(wanted.presenter, (yield wanted))


def release(wanted: Release) -> Flow[Result[bool, Delayed]]:
    """The end of a claim."""
    return leasing.released((yield wanted))


def reset(wanted: Reset) -> Flow[Result[int, leasing.ResetRefusal]]:
    """A new generation."""
    return leasing.reset((yield wanted))


def unfinished(each: Claim, limit: int) -> Flow[Result[list[tuple[Claim, Granted]], Delayed]]:
    """Claims like this one of scopes whose last claim has lapsed; what somebody was quicker to take is left out."""
    taken: list[tuple[Claim, Granted]] = []
    after = ""
    while len(taken) < limit:
        page: Page[str] | ReadRefusal = yield Lapsed(each.tenant, each.lapsed or 0, after)
        if not isinstance(page, Page):
            return Success(taken) if taken else Failure(page)
        for scope in page.rows:
            if len(taken) == limit:
                break
            wanted = replace(each, scope=scope)
            result = leasing.claimed((yield wanted))
            if not isinstance(result, Failure):
                taken.append((wanted, result.unwrap()))
                continue
            match result.failure():
                case Held() | Sealed() | Fenced():
                    pass
                case accident:
                    return Success(taken) if taken else Failure(accident)
        if not page.more:
            break
        after = page.rows[-1]
    return Success(taken)
