"""The flows of a consolidation job that no other call has."""

from returns.result import Failure, Result, Success

from txmemory.flow import reading, writing
from txmemory.flow.requests import Flow
from txmemory.model import command as wanted
from txmemory.model import limits
from txmemory.model.address import Presenter
from txmemory.model.outcome import Outcome, Receipt
from txmemory.rules import settling


def replace(
    command: wanted.Write, tenant: str, presenter: Presenter
) -> Flow[Result[Receipt, settling.ConsolidateRefusal]]:
    """A replacement that expects nothing."""
    return settling.unconditional((yield from writing.write(command, tenant, presenter)))


def recorded(
    tenant: str, presenter: Presenter, prefix: str
) -> Flow[Result[dict[str, Outcome], settling.AppliedRefusal]]:
    """What is recorded under each key of the scope that begins with the prefix, as the newest holder is told."""
    outcomes: dict[str, Outcome] = {}
    after = prefix
    while True:
        listed = yield from reading.keys(tenant, presenter.scope, after, limits.PAGE_ROWS)
        if isinstance(listed, Failure):
            return listed
        keys = [key for key in listed.unwrap() if key.startswith(prefix)]
        for key in keys:
            looked = yield from writing.applied(wanted.Applied(key), tenant, presenter)
            if isinstance(looked, Failure):
                return looked
            if (outcome := looked.unwrap()) is not None:
                outcomes[key] = outcome
        if len(keys) < limits.PAGE_ROWS:
            return Success(outcomes)
        after = keys[-1]
