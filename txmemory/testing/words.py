"""Between the words of the model and those of the package."""

from txmemory import (
    AlreadyExists,
    Bounds,
    Fenced,
    Held,
    IdChanged,
    KeyReused,
    LeaseLost,
    Memory,
    NotFound,
    Outcome,
    Receipt,
    Sealed,
    StaleRevision,
)
from txmemory.testing.model import Done, Given, Limit, Told


def memory_of(given: Given) -> Memory:
    """The memory that is given."""
    return Memory(given.content, id=given.id, timestamp=given.timestamp, memory_type=given.kind)


def bounds_of(bound: Limit | None) -> Bounds | None:
    """The bounds that a limit is."""
    return None if bound is None else Bounds(bound.most, bound.age)


def told(answer: object) -> object:
    """An answer in the model's words."""
    match answer:
        case Fenced(newest=newest):
            return "fenced", tuple(newest)
        case Sealed():
            return ("sealed",)
        case Held(holder=holder, until=until):
            return "held", holder, until
        case LeaseLost():
            return ("lost",)
        case NotFound():
            return ("missing",)
        case IdChanged():
            return ("renamed",)
        case KeyReused():
            return ("reused",)
        case StaleRevision(expected=expected, actual=actual):
            return "stale", expected, actual
        case AlreadyExists(actual=actual):
            return "exists", actual
        case Receipt(outcome=outcome, replayed=replayed, diverged=diverged):
            return Told(done_of(outcome), replayed, diverged)
        case Outcome():
            return done_of(answer)
        case _:
            return answer


def done_of(outcome: Outcome) -> Done:
    """An outcome without its time of record."""
    added, removed, evicted = (
        tuple((ref.id, ref.revision) for ref in refs)
        for refs in (outcome.added, outcome.removed, outcome.evicted)
    )
    return Done(outcome.status, added, removed, evicted, outcome.seq, outcome.token)
