"""How many items a bound asks to evict, and which."""

from collections.abc import Iterable, Sequence

from txmemory.model.address import Address, Namespace
from txmemory.model.commit import Bound
from txmemory.model.item import Head
from txmemory.rules.order import EVICTION, EXPIRED, sort_key
from txmemory.rules.visible import expired

_age = sort_key(EVICTION)
_expiry = sort_key(EXPIRED)


def tightest(given: Iterable[Bound]) -> tuple[Bound, ...]:
    """One bound for each namespace: of each limit the lowest that is given."""
    bounds: dict[Namespace, Bound] = {}
    for bound in given:
        known = bounds.get(bound.namespace, bound)
        bounds[bound.namespace] = Bound(
            bound.namespace, _lower(known.most, bound.most), _lower(known.age, bound.age)
        )
    return tuple(bounds.values())


def _lower(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def excess(live: int, added: int, removed: int, most: int) -> int:
    """How many must go so that at most `most` stay."""
    return max(0, live + added - removed - most)


def cutoff(bound: Bound, now: int) -> int | None:
    """What was created before that is too old; None where the age is not bounded."""
    return None if bound.age is None else now - bound.age


def past(head: Head, now: int, cutoff: int) -> bool:
    """Whether a bound by age lets the item go: it has expired, or is too old."""
    return expired(head.expires_at, now) or head.created_at < cutoff


def victims(
    stored: Sequence[Head], put: Iterable[Head], named: set[Address], number: int, now: int
) -> tuple[Head, ...]:
    """The `number` items that go: first what has expired, the first first; then the oldest of all.

    `stored` are the namespace's candidates; `put` are the heads as this commit would leave them, which take part;
    what the commit removes or overwrites (`named`) is not a candidate.
    """
    candidates = [*(head for head in stored if head.address not in named), *put]
    gone = [head for head in candidates if expired(head.expires_at, now)]
    rest = [head for head in candidates if not expired(head.expires_at, now)]
    return (*sorted(gone, key=_expiry), *sorted(rest, key=_age))[:number]
