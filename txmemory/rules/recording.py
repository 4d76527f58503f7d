"""What a commit leaves behind: times, revisions, and the outcome as a pure function of the event."""

from txmemory.model import limits
from txmemory.model.address import Ref
from txmemory.model.commit import Put
from txmemory.model.event import Event
from txmemory.model.item import Head, moment
from txmemory.model.outcome import Outcome
from txmemory.rules.visible import live_revision

EVENT_EFFECTS = limits.COMMIT_ITEMS + limits.COMMIT_VICTIMS
"""Effects that one event holds at the most: as many as any keyed call can have."""


def time_of_record(clock: int, scope_last_at: int | None, newest_updated_at: int) -> int:
    """`at`: the clock, but later than the scope's last event and than every head that changes."""
    return max(clock, 0 if scope_last_at is None else scope_last_at + 1, newest_updated_at + 1)


def put_head(put: Put, head: Head | None, now: int, at: int, ordinal: int) -> Head:
    """The head as a put leaves it. Counting goes on after a removal, since a head is never deleted.

    The creation time is the given one, else the live item's, else now; a live item also keeps its place in the
    order of insertion.
    """
    address, item = put
    given, live = item.created_at, True
    if head is None:
        return Head(address, 1, live, now if given is None else given, at, item.expires_at, (at, ordinal))
    if not live_revision(head, now):
        created, added = now, (at, ordinal)
    else:
        created, added = head.created_at, head.added
    if given is not None:
        created = given
    return Head(address, head.revision + 1, live, created, at, item.expires_at, added)


def removed_head(head: Head, at: int) -> Head:
    """The head as a removal leaves it, which takes a revision of its own."""
    return head._replace(revision=head.revision + 1, live=False, updated_at=at)


def outcome_of(event: Event) -> Outcome:
    """What the event did, as its call answers it."""
    added: list[Ref] = []
    removed: list[Ref] = []
    evicted: list[Ref] = []
    for effect in event.effects:
        ref = Ref(effect.namespace, effect.id, effect.revision)
        if effect.operation == "put":
            added.append(ref)
        elif effect.reason in ("evicted", "expired"):
            evicted.append(ref)
        else:
            removed.append(ref)
    return Outcome(
        status=event.status or "stored",
        added=tuple(added),
        removed=tuple(removed),
        evicted=tuple(evicted),
        seq=event.seq,
        at=moment(event.at),
        token=event.token,
    )


def readable_parts(event: Event) -> tuple[Event, ...]:
    """The event; one without a key whose removal by condition ended many items, in parts that a reader can hold."""
    if event.key is not None or len(event.effects) <= EVENT_EFFECTS:
        return (event,)
    starts = range(0, len(event.effects), EVENT_EFFECTS)
    return tuple(event._replace(effects=event.effects[start : start + EVENT_EFFECTS]) for start in starts)
