"""Rows as verify sees them: what cannot be read is told, never raised.

SQLite may keep a value of any type in a column, whatever was declared. A name that is no text gets one that stands
behind all others, a number that is none the last one, and nothing of such a row is believed.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from txmemory.backends.sql.rows import Row, effects_from, revision_from
from txmemory.model.address import Address, Fence, namespace_from, namespace_text
from txmemory.model.event import VERSION, Event
from txmemory.model.item import Revision, commitment_to
from txmemory.model.repair import HeadState, ScopeState
from txmemory.model.verifying import (
    LAST,
    NAMELESS,
    Entry,
    EntryContent,
    EntryFound,
    HeadFound,
    KeyFound,
    LogRow,
    RevisionFound,
    ScopeFound,
)
from txmemory.rules.soundness import ENDS, sound

KINDS = frozenset({"record", "change", "forget", "seal", "claim", "release", "reset"})
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

_TEXT, _NUMBER, _BYTES, _NONE = (
    frozenset({str}),
    frozenset({int}),
    frozenset({bytes}),
    frozenset({type(None)}),
)
_TYPES = {
    "row": _NUMBER,
    "version": _NUMBER,
    "kind": _TEXT,
    "scope": _TEXT | _NONE,
    "seq": _NUMBER | _NONE,
    "generation": _NUMBER | _NONE,
    "token": _NUMBER | _NONE,
    "actor": _TEXT | _NONE,
    "key": _TEXT | _NONE,
    "fingerprint": _BYTES | _NONE,
    "status": _TEXT | _NONE,
    "effects": _TEXT,
    "at": _NUMBER,
}
LOG_COLUMNS = tuple(_TYPES)
"""Of an event, each with the types that it may have."""
_ENTRY_TYPES = {
    "namespace": _TEXT,
    "id": _TEXT,
    "revision": _NUMBER,
    "kind": _TEXT | _NONE,
    "text": _TEXT | _NONE,
    "data": _TEXT | _NONE,
    "attributes": _TEXT | _NONE,
    "created_at": _NUMBER,
    "expires_at": _NUMBER | _NONE,
    "importance": frozenset({float}) | _NONE,
    "embedding": _BYTES | _NONE,
    "salt": _BYTES,
    "at": _NUMBER,
    "ordinal": _NUMBER,
    "by": _TEXT | _NONE,
    "reason": _TEXT,
}
ENTRY_COLUMNS = tuple(_ENTRY_TYPES)
"""Of an entry of a history, likewise."""
STATE_COLUMNS = (
    "live",
    "kind",
    "attributes",
    "created_at",
    "updated_at",
    "expires_at",
    "importance",
    "added_at",
    "added_ordinal",
)
"""Of a head, but for the revision that it names."""


class _Shapes(dict[tuple[type, ...], bool]):
    """Whether a row whose values have these types may be one of these columns, worked out once for all alike."""

    def __init__(self, types: Mapping[str, frozenset[type]]) -> None:
        super().__init__()
        self._allowed = tuple(types.values())

    def __missing__(self, shape: tuple[type, ...]) -> bool:
        said = all(one in allowed for one, allowed in zip(shape, self._allowed, strict=True))
        if len(self) < _SHAPES_MOST:
            self[shape] = said
        return said


_SHAPES_MOST = 1_000
_IS_EVENT, _IS_ENTRY = _Shapes(_TYPES), _Shapes(_ENTRY_TYPES)


def integers(*values: object) -> bool:
    """Whether all are integers."""
    return _NUMBER.issuperset(map(type, values))


def name_from(value: object) -> str:
    """A name as it was read."""
    return value if isinstance(value, str) else NAMELESS


def _number_from(value: object) -> int:
    return value if isinstance(value, int) else LAST


def logged_from(row: Row) -> LogRow:
    """A row of (LOG_COLUMNS, seq in the ledger)."""
    event = _event(row[:-1])
    if event is None:
        return LogRow(row[0], name_from(row[3]), _number_from(row[4]), None, row[-1])
    return LogRow(row[0], event.scope, event.seq, event, row[-1])


def unscoped_from(row: Row) -> LogRow:
    """A row of LOG_COLUMNS; of an event that has a place in a scope only that."""
    number, _, _, scope, seq, *_ = row
    return LogRow(
        number,
        None if scope is None else name_from(scope),
        None if seq is None else _number_from(seq),
        None if scope is not None else _event(row),
    )


def _event(row: Row) -> Event | None:
    if not _IS_EVENT[tuple(map(type, row))]:
        return None
    _, version, kind, scope, seq, generation, token, actor, key, fingerprint, status, effects, at = row
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
    return ScopeFound(name_from(scope), scope_state_from(said), keys)


def scope_state_from(row: Row) -> ScopeState:
    """A row of (generation, token, seq, last_at, sealed); what is no number or no flag is like none that follows."""
    generation, token, seq, last_at = (each if integers(each) else -1 for each in row[:4])
    sealed = row[4]
    return ScopeState(Fence(generation, token), seq, last_at if sealed in (0, 1) else -1, sealed == 1)


def key_from(row: Row) -> KeyFound:
    """A row of (scope, key, seq)."""
    scope, key, seq = row
    return KeyFound(name_from(scope), name_from(key), _number_from(seq))


def history_from(row: Row) -> EntryFound:
    """A row of (ENTRY_COLUMNS, STATE_COLUMNS of the head that names it, or NULL for each)."""
    entry, state = row[:-9], row[-9:]
    if not _IS_ENTRY[tuple(map(type, entry))]:
        number = row[2] if isinstance(row[2], int) else LAST - 1
        return EntryFound(name_from(row[0]), name_from(row[1]), number, None, _head(number, state))
    (
        namespace,
        id,
        number,
        *content,
        created_at,
        expires_at,
        importance,
        embedding,
        salt,
        at,
        ordinal,
        by,
        reason,
    ) = entry
    alone = (1, content[0], content[3], created_at, at, expires_at, importance, at, ordinal)
    head: HeadState | Literal["alone"] | None = "alone" if state == alone else _head(number, state)
    kept = bound = None
    if content[0] is not None:
        kept = EntryContent(content[0], content[3] or "", expires_at, importance)
        bound = commitment_to(salt, (*content, expires_at, importance), embedding, created_at)
        is_sound = reason == "stored"
    else:
        nothing = (*content, expires_at, importance, embedding)
        is_sound = nothing == (None,) * 7 and not salt and reason in ENDS
    told = Entry(number, kept, created_at, at, ordinal, by, reason, bound) if is_sound else None
    return EntryFound(namespace, id, number, told, head)


def revision_found(row: Row) -> RevisionFound:
    """A row of ENTRY_COLUMNS, its namespace as it was asked for."""
    namespace, id, number, *_ = row
    revision = None
    if _IS_ENTRY[tuple(map(type, row))]:
        with suppress(*_UNREADABLE):
            revision = revision_from(Address(namespace_from(namespace), id), row[2:])
    told = None if revision is None or not _sound(revision, row) else revision
    return RevisionFound(namespace, id, number, told)


def _head(number: int, state: Row) -> HeadState | None:
    """A head that names this revision, if there is one; where it is odd it is like none that follows."""
    if state[0] is None:
        return None
    live, *said, added_at, added_ordinal = state
    return HeadState._make((number if live in (0, 1) else -1, live == 1, *said, (added_at, added_ordinal)))


def head_found(row: Row) -> HeadFound:
    """A row of (namespace, id, revision, whether it has a history)."""
    namespace, id, number, has_history = row
    return HeadFound(name_from(namespace), name_from(id), _number_from(number), bool(has_history))


def _sound(revision: Revision, row: Row) -> bool:
    item = revision.item
    if item is not None:
        return revision.reason == "stored" and item.attributes_text == row[6]
    kind, text, data, attributes, _, expires_at, importance, embedding = row[3:11]
    content = (kind, text, data, attributes, expires_at, importance, embedding)
    return content == (None,) * 7 and not revision.salt and revision.reason in ENDS
