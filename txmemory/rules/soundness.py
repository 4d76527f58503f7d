"""Whether a row that was read says what some call could have said."""

import re
from typing import assert_never

from txmemory.model.event import Event
from txmemory.model.limits import INTEGER_MOST

FINGERPRINT_BYTES = 48
ENDS = frozenset({"replaced", "deleted", "cleared", "evicted", "expired"})
"""Why a memory can have gone."""
_LONE = re.compile("[\ud800-\udfff]")
"""A surrogate, of which no UTF-8 is made."""


def sound(event: Event) -> bool:
    """Whether the parts of an event go together. Each has its type, but those of its effects, which were JSON."""
    if not (_placed(event) and _told(event)):
        return False
    for _, id, revision, operation, reason, bound in event.effects:
        if type(revision) is not int or not 0 < revision <= INTEGER_MOST or not _is_id(id):
            return False
        if operation == "put":
            if reason != "stored" or bound is None:
                return False
        elif operation != "remove" or reason not in ENDS or bound is not None:  # type: ignore[redundant-expr]  # as read
            return False
    return True


def _is_id(id: object) -> bool:
    """Whether it could be sought: an event is JSON, which can spell more than a column can hold."""
    return type(id) is str and "\0" not in id and (id.isascii() or not _LONE.search(id))


def _placed(event: Event) -> bool:
    """A scope, a place in it and a token belong together."""
    if event.scope is None:
        return {event.seq, event.token, event.generation, event.actor, event.key, event.fingerprint} == {None}
    return event.token is not None and (event.seq or 0) > 0


def _told(event: Event) -> bool:
    """Each kind of event tells what it is about, and nothing else."""
    match event.kind:
        case "record":
            sealed = event.fingerprint is not None and len(event.fingerprint) == FINGERPRINT_BYTES
            stored = event.status == "stored" or (event.status == "superseded" and not event.effects)
            return event.scope is not None and event.key is not None and sealed and stored
        case "change":
            return event.key is None and event.status == "stored" and bool(event.effects)
        case "forget":
            return event.key is not None and event.status is None and not event.effects
        case "seal" | "claim" | "release" | "reset":
            return event.scope is not None and event.status is None and not event.effects
        case unreachable:
            assert_never(unreachable)
