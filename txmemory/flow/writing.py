"""The flows of calls that change something."""

from collections.abc import Callable

from returns.result import Failure, Result, Success

from txmemory.flow import reading
from txmemory.flow.requests import Flow, Pause, Response
from txmemory.model import command as wanted
from txmemory.model import limits
from txmemory.model.address import Address, Presenter
from txmemory.model.commit import Bound, Put
from txmemory.model.item import Stored
from txmemory.model.outcome import Outcome, Receipt
from txmemory.model.query import Get, Page
from txmemory.model.refusal import Contended, IdChanged, NotFound
from txmemory.rules import planning, settling
from txmemory.rules.narrowing import on_heads
from txmemory.rules.settling import ReadRefusal

DECISIONS = 5
"""How often a call that decides by what it read decides anew, because somebody has changed that meanwhile."""


def write(
    command: wanted.Write, tenant: str, presenter: Presenter
) -> Flow[Result[Receipt, settling.WriteRefusal]]:
    """`write` and `replace`."""
    reply: Response = yield planning.write(command, tenant, presenter)
    return settling.write(command, presenter, reply)


def write_many(
    command: wanted.WriteMany, tenant: str, presenter: Presenter
) -> Flow[Result[tuple[Result[Receipt, settling.EntryRefusal], ...], settling.ManyRefusal]]:
    """Several writes in one transaction."""
    reply: Response = yield planning.write_many(command, tenant, presenter)
    return settling.write_many(command.writes, presenter, reply)


def applied(
    command: wanted.Applied, tenant: str, presenter: Presenter
) -> Flow[Result[Outcome | None, settling.AppliedRefusal]]:
    """A fenced look at the ledger."""
    reply: Response = yield planning.applied(command, tenant, presenter)
    return settling.applied(presenter, reply)


def forget_applied(
    command: wanted.ForgetApplied, tenant: str, presenter: Presenter
) -> Flow[Result[bool, settling.ForgetRefusal]]:
    """Takes one key away."""
    reply: Response = yield planning.forget_applied(command, tenant, presenter)
    return settling.forget_applied(presenter, reply)


def seal(tenant: str, presenter: Presenter) -> Flow[Result[int, settling.SealRefusal]]:
    """Finishes a scope."""
    reply: Response = yield planning.seal(tenant, presenter)
    return settling.seal(presenter, reply)


def swap(command: wanted.Swap, tenant: str) -> Flow[Result[Outcome, settling.StoreRefusal]]:
    """Stores and ends items without a key."""
    return settling.store((yield planning.swap(command, tenant)))


def update(
    tenant: str, address: Address, change: Callable[[Stored], Put], bounds: tuple[Bound, ...]
) -> Flow[Result[Outcome, settling.UpdateRefusal]]:
    """Stores what `change` makes of an item over it; called again, on what is there then, if somebody was quicker."""
    for lost in range(DECISIONS):
        if lost:
            yield Pause(lost)
        page: Page[Stored] | ReadRefusal = yield Get(tenant, (address,))
        if not isinstance(page, Page):
            return Failure(page)
        if not page.rows:
            return Failure(NotFound())
        (found,) = page.rows
        put = change(found)  # outside every transaction, as long as it likes
        if put.address != address:
            return Failure(IdChanged())
        reply: Response = yield planning.update(found, put, bounds, tenant)
        if not settling.stale(reply):
            return settling.store(reply)
    return Failure(Contended())


def delete(command: wanted.Delete, tenant: str) -> Flow[Result[Outcome, settling.PlainRefusal]]:
    """Ends one item without a key."""
    return settling.plain((yield planning.delete(command, tenant)))


def delete_matching(command: wanted.DeleteMatching, tenant: str) -> Flow[Result[int, settling.PlainRefusal]]:
    """Ends every item that the condition accepts, without a key: in one transaction, however many they are."""
    if on_heads(command.condition):
        return settling.plain((yield planning.delete_matching(command, tenant))).map(_removed)
    for lost in range(DECISIONS):
        if lost:
            yield Pause(lost)
        found = yield from reading.selected(
            tenant, command.namespace, command.condition, None, lambda each: (each.address.id, each.revision)
        )
        if isinstance(found, Failure):
            return found
        listed = found.unwrap()
        if not listed:
            return Success(0)
        reply: Response = yield planning.delete_listed(command.namespace, listed, tenant)
        if not settling.stale(reply):
            return settling.plain(reply).map(_removed)
    return Failure(Contended())


def trim(bound: Bound, tenant: str) -> Flow[Result[int, settling.PlainRefusal]]:
    """Evicts what is over the bound, in as many transactions as it takes."""
    evicted = 0
    while True:
        result = settling.plain((yield planning.trim(bound, tenant)))
        if isinstance(result, Failure):
            return result
        gone = len(result.unwrap().evicted)
        evicted += gone
        if gone < limits.COMMIT_VICTIMS:
            return Success(evicted)


def _removed(outcome: Outcome) -> int:
    return len(outcome.removed)


def clear(command: wanted.Clear, tenant: str) -> Flow[Result[Outcome, settling.PlainRefusal]]:
    """Ends every item of a namespace without a key."""
    return settling.plain((yield planning.clear(command, tenant)))
