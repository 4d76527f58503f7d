"""How many items a bound asks to evict, and which."""

from collections.abc import Iterable, Sequence

from txmemory.model.address import Address
from txmemory.model.item import Head
from txmemory.rules.order import EVICTION, sort_key
from txmemory.rules.visible import expired

_age = sort_key(EVICTION)


def excess(live: int, added: int, removed: int, most: int) -> int:
    """How many must go so that at most `most` stay."""
    return max(0, live + added - removed - most)


def victims(
    stored: Sequence[Head], put: Iterable[Head], named: set[Address], number: int, now: int
) -> tuple[Head, ...]:
    """The `number` items that go: what has expired first, in the order of `stored`, then the oldest of all.

    `stored` are the namespace's candidates, expired ones in front; `put` are the heads as this commit would leave
    them, which take part with their new age; what the commit removes or overwrites (`named`) is not a candidate.
    """
    candidates = [head for head in stored if head.address not in named]
    gone = [head for head in candidates if expired(head.expires_at, now)]
    rest = [head for head in candidates if not expired(head.expires_at, now)]
    return (*gone, *sorted((*rest, *put), key=_age))[:number]
