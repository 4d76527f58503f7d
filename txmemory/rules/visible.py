"""When an item is there."""

from txmemory.model.item import Head


def expired(expires_at: int | None, now: int) -> bool:
    """Whether an item that expires then is gone at `now`: from that microsecond on it is."""
    return expires_at is not None and expires_at <= now


def live_revision(head: Head | None, now: int) -> int:
    """The revision that a guard meets: 0 where nothing is live, an expired item included."""
    if head is None or not head.live or expired(head.expires_at, now):
        return 0
    return head.revision
