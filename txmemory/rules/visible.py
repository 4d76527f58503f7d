"""When an item is there."""

from collections.abc import Sequence

from txmemory.model.item import Head, Revision, Stored


def expired(expires_at: int | None, now: int) -> bool:
    """Whether an item that expires then is gone at `now`: from that microsecond on it is."""
    return expires_at is not None and expires_at <= now


def live_revision(head: Head | None, now: int) -> int:
    """The revision that a guard meets: 0 where nothing is live, an expired item included."""
    if head is None or not head.live or expired(head.expires_at, now):
        return 0
    return head.revision


def as_of(history: Sequence[Revision], at: int, now: int) -> Stored | None:
    """The item as it was at that time, from its history, oldest first: its newest revision that is no younger.

    Expiry is judged by now: what has expired since is not shown again.
    """
    newest = next((revision for revision in reversed(history) if revision.at <= at), None)
    if newest is None or newest.item is None or expired(newest.item.expires_at, now):
        return None
    return Stored(newest.address, newest.revision, newest.item, newest.created_at)
