"""Rows as verify sees them: what cannot be read is told, never raised."""

from collections.abc import Sequence
from typing import Any

from txmemory.backends.sql.rows import CONTENT_COLUMNS, Row, effects_from, revision_from
from txmemory.model.address import Address, Fence, namespace_from, namespace_text
from txmemory.model.event import VERSION, Event
from txmemory.model.item import Revision
from txmemory.model.repair import HeadState, ScopeState
from txmemory.model.verifying import HeadFound, KeyFound, LogRow, RevisionFound, ScopeFound
from txmemory.rules.soundness import ENDS, integers, sound

KINDS = frozenset({"record", "change", "forget", "seal", "claim", "release", "reset"})
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

LOG_COLUMNS = (
    "row",
    "version",
    "kind",
    "scope",
    "seq",
    "generation",
    "token",
    "actor",
    "key",
    "fingerprint",
    "status",
    "effects",
    "at",
)


def logged_from(row: Row) -> LogRow:
    """A row of (LOG_COLUMNS, seq in the ledger)."""
    return LogRow(row[0], row[3], row[4], _event(row), row[13])


def unscoped_from(row: Row) -> LogRow:
    """A row of LOG_COLUMNS; of an event that has a place in a scope only that."""
    number, _, _, scope, seq, *_ = row
    return LogRow(number, scope, seq, None if scope is not None else _event(row))


def _event(row: Row) -> Event | None:
    _, version, kind, scope, seq, generation, token, actor, key, fingerprint, status, effects, at, *_ = row
    if version != VERSION or kind not in KINDS:
        return None
    try:
        made = effects_from(effects)
        for effect in made:
            namespace_text(effect.namespace)
        event = Event(kind, scope, seq, generation, token, actor, key, fingerprint, status, made, at)
        return event if sound(event) else None
    except _UNREADABLE:
        return None


def scope_from(row: Row) -> ScopeFound:
    """A row of (scope, generation, token, seq, last_at, sealed, how many keys)."""
    scope, *said, keys = row
    return ScopeFound(scope, scope_state_from(said), keys)


def scope_state_from(row: Row) -> ScopeState:
    """A row of (generation, token, seq, last_at, sealed); what is no number or no flag is like none that follows."""
    generation, token, seq, last_at = (each if integers(each) else -1 for each in row[:4])
    sealed = row[4]
    return ScopeState(Fence(generation, token), seq, last_at if sealed in (0, 1) else -1, sealed == 1)


def key_from(row: Row) -> KeyFound:
    """A row of (scope, key, seq)."""
    return KeyFound(*row)


ENTRY_COLUMNS = ("revision", *CONTENT_COLUMNS, "salt", "at", "ordinal", "by", "reason")
STATE_COLUMNS = ("live", "head_revision", "added_at", "added_ordinal")


def item_from(row: Row) -> HeadFound | RevisionFound:
    """A row of (namespace, id, ENTRY_COLUMNS, STATE_COLUMNS), where a head has the latter, and a revision none."""
    namespace, id, *entry, live, number, added_at, added_ordinal = row
    if number is None:
        return revision_found(namespace, id, entry)
    _, kind, _, _, attributes, created_at, expires_at, importance, _, _, updated_at, *_ = entry
    if live not in (0, 1) or not integers(
        number, created_at, updated_at, added_at, added_ordinal, expires_at or 0
    ):
        return HeadFound(namespace, id, None)
    added = added_at, added_ordinal
    said = number, live == 1, kind, attributes, created_at, updated_at, expires_at, importance, added
    return HeadFound(namespace, id, HeadState._make(said))


def revision_found(namespace: str, id: str, entry: Row) -> RevisionFound:
    """A row of ENTRY_COLUMNS at this place."""
    try:
        revision = revision_from(Address(namespace_from(namespace), id), entry)
        return RevisionFound(namespace, id, entry[0], revision if _sound(revision, entry) else None)
    except _UNREADABLE:
        return RevisionFound(namespace, id, entry[0], None)


def _sound(revision: Revision, entry: Sequence[Any]) -> bool:
    number, kind, text, data, attributes, created_at, expires_at, importance, embedding, salt, *rest = entry
    at, ordinal, by, reason = rest
    if not integers(number, created_at, at, ordinal) or not (by is None or type(by) is str):
        return False
    item = revision.item
    if item is not None:
        return bool(reason == "stored" and item.attributes_text == attributes)
    content = (kind, text, data, attributes, expires_at, importance, embedding)
    return content == (None,) * 7 and not bytes(salt) and reason in ENDS
