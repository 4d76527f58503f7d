"""Rows as verify sees them: what cannot be read is told, never raised."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from txmemory.backends.sql.rows import CONTENT_COLUMNS, Row, effects_from, revision_from
from txmemory.model.address import Address, Fence, namespace_from, namespace_text
from txmemory.model.event import VERSION, Event
from txmemory.model.item import Revision
from txmemory.model.repair import HeadState, ScopeState
from txmemory.model.verifying import HeadFound, KeyFound, LogRow, RevisionFound, ScopeFound
from txmemory.rules.soundness import integers, sound

Value = TypeVar("Value")
KINDS = frozenset({"record", "change", "forget", "seal", "claim", "release", "reset"})
OPERATIONS = frozenset({"put", "remove"})
REASONS = frozenset({"stored", "replaced", "deleted", "cleared", "evicted", "expired"})
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
    number, *said, applied = row
    return LogRow(number, said[2], said[3], _read(_event, said), applied)


def unscoped_from(row: Row) -> LogRow:
    """A row of LOG_COLUMNS; of an event that has a place in a scope only that."""
    number, *said = row
    scope, seq = said[2:4]
    return LogRow(number, scope, seq, None if scope is not None else _read(_event, said))


def _event(said: Row) -> Event | None:
    version, kind, scope, seq, generation, token, actor, key, fingerprint, status, effects, at = said
    if version != VERSION or kind not in KINDS:
        return None
    made = effects_from(effects)
    for namespace, id, revision, operation, reason, _ in made:
        namespace_text(namespace)
        if operation not in OPERATIONS or reason not in REASONS:
            return None
        if not integers(revision) or type(id) is not str:
            return None
    event = Event(kind, scope, seq, generation, token, actor, key, fingerprint, status, made, at)
    return event if sound(event) else None


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
    namespace, id, *entry = row
    live, number, added_at, added_ordinal = entry[-4:]
    if number is None:
        return revision_found(namespace, id, entry[:-4])
    _, kind, _, _, attributes, created_at, expires_at, importance, _, _, updated_at, *_ = entry
    said = number, live == 1, kind, attributes, created_at, updated_at, expires_at, importance
    head = HeadState(*said, (added_at, added_ordinal))
    numbers = (number, created_at, updated_at, added_at, added_ordinal, expires_at or 0)
    sound = live in (0, 1) and integers(*numbers)
    return HeadFound(namespace, id, head if sound else None)


def revision_found(namespace: str, id: str, entry: Row) -> RevisionFound:
    """A row of ENTRY_COLUMNS at this place."""
    return RevisionFound(namespace, id, entry[0], _read(lambda said: _revision(namespace, id, said), entry))


def _revision(namespace: str, id: str, entry: Row) -> Revision | None:
    revision = revision_from(Address(namespace_from(namespace), id), entry)
    number, kind, text, data, attributes, created_at, expires_at, importance, embedding, salt, *rest = entry
    at, ordinal, by, reason = rest
    if not integers(number, created_at, at, ordinal):
        return None
    if reason not in REASONS or not isinstance(by or "", str):
        return None
    item = revision.item
    if item is None:
        content = (kind, text, data, attributes, expires_at, importance, embedding)
        return revision if content == (None,) * 7 and salt == b"" and reason != "stored" else None
    return revision if reason == "stored" and item.attributes_text == attributes else None


def _read(read: Callable[[Row], Value | None], row: Row) -> Value | None:
    try:
        return read(row)
    except _UNREADABLE:
        return None


def flat(found: Sequence[Sequence[Any]]) -> list[Any]:
    """The rows of every binding."""
    return [row for rows in found for row in rows]
