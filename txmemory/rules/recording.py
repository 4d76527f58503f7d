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


def created_at(put: Put, head: Head | None, now: int) -> int:
    """The time that was given; else what the live item has; else now."""
    if put.item.created_at is not None:
        return put.item.created_at
    if head is not None and live_revision(head, now):
        return head.created_at
    return now


def next_revision(head: Head | None) -> int:
    """Counting goes on after a removal, since a head is never deleted."""
    return 1 if head is None else head.revision + 1


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
