"""From what a backend met to the caller's answer: each call with its own closed union of refusals."""

from typing import assert_never

from returns.result import Failure, Result, Success

from txmemory.model.address import Presenter
from txmemory.model.canonical import opens
from txmemory.model.command import Write
from txmemory.model.commit import Done, Finished, Forgot, Found, Met, Overtaken, Recorded, Reply
from txmemory.model.outcome import Outcome, Receipt
from txmemory.model.refusal import (
    AlreadyExists,
    Contended,
    Fenced,
    IdChanged,
    KeyReused,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    Sealed,
    StaleRevision,
    TooManyToEvict,
    Unavailable,
)

Accident = Contended | OutcomeUnknown | Unavailable
"""What may befall a commit: it leaves no trace in ledger or log."""

Delayed = Contended | Unavailable
ReadRefusal = Delayed
PastRefusal = NotFound | ReadRefusal
EntryRefusal = KeyReused | Sealed | StaleRevision | AlreadyExists | TooManyToEvict
WriteRefusal = Fenced | LeaseLost | EntryRefusal | Delayed
ManyRefusal = Fenced | LeaseLost | Delayed
AppliedRefusal = Fenced | LeaseLost | Sealed | Delayed
ForgetRefusal = Fenced | LeaseLost | Sealed | Contended | OutcomeUnknown | Unavailable
SealRefusal = Fenced | LeaseLost | Contended | OutcomeUnknown | Unavailable
ConsolidateRefusal = Fenced | LeaseLost | Sealed | TooManyToEvict | Delayed
StepRefusal = ConsolidateRefusal
UpdateRefusal = NotFound | IdChanged | TooManyToEvict | Contended | OutcomeUnknown | Unavailable
StoreRefusal = TooManyToEvict | Contended | OutcomeUnknown | Unavailable
PlainRefusal = Contended | OutcomeUnknown | Unavailable


class Unexpected(AssertionError):
    """A backend reported what its commit cannot meet: a fault of that backend, not of the caller."""


def write(command: Write, presenter: Presenter, reply: Reply | Accident) -> Result[Receipt, WriteRefusal]:
    """The receipt of a `write` or `replace`."""
    match reply:
        case Overtaken():
            return Failure(_fenced(presenter, reply))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case (met,):
            return _entry(command, met)
        case _:
            raise Unexpected("one entry, one answer")


def unconditional(result: Result[Receipt, WriteRefusal]) -> Result[Receipt, ConsolidateRefusal]:
    """The receipt of a write that expects nothing and takes any payload for a replay."""
    if not isinstance(result, Failure):
        return Success(result.unwrap())
    match result.failure():
        case KeyReused() | AlreadyExists() | StaleRevision():
            raise Unexpected("a write that expects nothing cannot be told that it is not so")
        case refusal:
            return Failure(refusal)


def write_many(
    commands: tuple[Write, ...], presenter: Presenter, reply: Reply | Accident
) -> Result[tuple[Result[Receipt, EntryRefusal], ...], ManyRefusal]:
    """An answer for each key, in the order given."""
    match reply:
        case Overtaken():
            return Failure(_fenced(presenter, reply))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case _:
            if len(reply) != len(commands):
                raise Unexpected("one answer for each entry")
            pairs = zip(commands, reply, strict=True)
            return Success(tuple(_entry(command, met) for command, met in pairs))


def applied(presenter: Presenter, reply: Reply | Accident) -> Result[Outcome | None, AppliedRefusal]:
    """The recorded outcome, or None as a proved negative."""
    match reply:
        case Overtaken():
            return Failure(_fenced(presenter, reply))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(delayed(reply))
        case (Recorded(outcome=outcome),):
            return Success(outcome)
        case (Found(),):
            return Success(None)
        case (Finished(lost=lost),):
            return Failure(Sealed(outcome_unknown=lost))
        case _:
            raise Unexpected("a look meets a record, nothing, or a sealed scope")


def forget_applied(presenter: Presenter, reply: Reply | Accident) -> Result[bool, ForgetRefusal]:
    """Whether the key was there."""
    match reply:
        case Overtaken():
            return Failure(_fenced(presenter, reply))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(reply)
        case (Forgot(keys=keys),):
            return Success(keys > 0)
        case (Finished(lost=lost),):
            return Failure(Sealed(outcome_unknown=lost))
        case _:
            raise Unexpected("a forget takes keys away, or meets a sealed scope")


def seal(presenter: Presenter, reply: Reply | Accident) -> Result[int, SealRefusal]:
    """How many keys were taken away; 0 for a scope that was sealed before."""
    match reply:
        case Overtaken():
            return Failure(_fenced(presenter, reply))
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(reply)
        case (Forgot(keys=keys),):
            return Success(keys)
        case _:
            raise Unexpected("a seal takes keys away")


def store(reply: Reply | Accident) -> Result[Outcome, StoreRefusal]:
    """What the store did."""
    match reply:
        case (Found(excess=excess),) if excess:
            return Failure(TooManyToEvict(excess))
        case _:
            return plain(reply)


def stale(reply: Reply | Accident) -> bool:
    """Whether what the call had read is there no more, so that it has to read and decide again."""
    match reply:
        case (Found(excess=0),):
            return True
        case _:
            return False


def plain(reply: Reply | Accident) -> Result[Outcome, PlainRefusal]:
    """What a call without a key did."""
    match reply:
        case Contended() | OutcomeUnknown() | Unavailable():
            return Failure(reply)
        case (Done(outcome=outcome),):
            return Success(outcome)
        case _:
            raise Unexpected("a call without a key is done or has had an accident")


def _fenced(presenter: Presenter, reply: Overtaken) -> Fenced:
    return Fenced(presenter.fence, reply.newest, outcome_unknown=reply.lost)


def delayed(accident: Accident) -> Delayed:
    """A keyed call can be made again, so an unknown outcome is one that can be asked for later."""
    match accident:
        case OutcomeUnknown():
            return Contended(outcome_unknown=True)
        case Contended() | Unavailable():
            return accident
        case unreachable:
            assert_never(unreachable)


def _entry(command: Write, met: Met) -> Result[Receipt, EntryRefusal]:
    match met:
        case Done(outcome=outcome):
            return Success(Receipt(outcome))
        case Recorded(outcome=outcome, fingerprint=fingerprint):
            diverged = not opens(fingerprint, command.fingerprint)
            if diverged and command.on_mismatch == "refuse":
                return Failure(KeyReused())
            return Success(Receipt(outcome, replayed=True, diverged=diverged))
        case Finished(lost=lost):
            return Failure(Sealed(outcome_unknown=lost))
        case Found(excess=0):
            return Failure(_unmet(command, met))
        case Found(excess=excess):
            return Failure(TooManyToEvict(excess))
        case Forgot():
            raise Unexpected("a write takes no keys away")
        case unreachable:
            assert_never(unreachable)


def _unmet(command: Write, found: Found) -> AlreadyExists | StaleRevision:
    for guard in command.expect:
        actual = found.actual[guard.address]
        if guard.accepts(actual):
            continue
        if guard.revision == 0:
            return AlreadyExists(actual, guard.address.id)
        return StaleRevision(guard.revision or 0, actual, guard.address.id)
    raise Unexpected("a guard failed that holds")
