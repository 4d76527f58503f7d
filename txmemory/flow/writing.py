"""The flows of calls that change something."""

from returns.result import Result

from txmemory.flow.requests import Flow, Response
from txmemory.model import command as wanted
from txmemory.model.address import Presenter
from txmemory.model.outcome import Outcome, Receipt
from txmemory.rules import planning, settling


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


def store(command: wanted.Store, tenant: str) -> Flow[Result[Outcome, settling.StoreRefusal]]:
    """Stores one item without a key."""
    return settling.store((yield planning.store(command, tenant)))


def delete(command: wanted.Delete, tenant: str) -> Flow[Result[Outcome, settling.PlainRefusal]]:
    """Ends one item without a key."""
    return settling.plain((yield planning.delete(command, tenant)))


def clear(command: wanted.Clear, tenant: str) -> Flow[Result[Outcome, settling.PlainRefusal]]:
    """Ends every item of a namespace without a key."""
    return settling.plain((yield planning.clear(command, tenant)))
