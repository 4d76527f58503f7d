"""How events and items are spelled in rows; the effects of an event as compact canonical JSON."""

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from txmemory.model.address import Address, Namespace, namespace_from, namespace_text
from txmemory.model.canonical import quoted
from txmemory.model.event import VERSION, Effect, Event
from txmemory.model.item import NO_ATTRIBUTES, Head, Item, Revision, Stored
from txmemory.model.outcome import Outcome
from txmemory.rules.recording import outcome_of

Row = Sequence[Any]
"""What was read."""
Values = tuple[object, ...]
"""What is written: a value for each column, in the order of the table's."""


def _paths(places: Iterable[Namespace]) -> str:
    return f"[{','.join([namespace_text(namespace) for namespace in places])}]"


def effects_text(effects: Sequence[Effect]) -> str:
    """The effects of an event as its row holds them."""
    places: dict[Namespace, int] = {}
    rows = [
        f'[{places.setdefault(namespace, len(places))},{quoted(id)},{revision},"{operation}","{reason}",'
        f"{_base64(commitment)}]"
        for namespace, id, revision, operation, reason, commitment in effects
    ]
    return f"[{_paths(places)},[{','.join(rows)}]]"


def _base64(digest: bytes | None) -> str:
    return "null" if digest is None else f'"{b2a_base64(digest, newline=False).decode()}"'


def _blob(given: bytes | None) -> bytearray | None:
    """Bytes to write: SQLite's driver takes a bytearray at once, and looks for an adapter of anything else."""
    return None if given is None else bytearray(given)


def effects_from(text: str) -> tuple[Effect, ...]:
    """The effects that an event's row holds."""
    paths, effects = json.loads(text)
    names = [tuple(path) for path in paths]
    return tuple(
        Effect(names[place], id, revision, operation, reason, None if bound is None else a2b_base64(bound))
        for place, id, revision, operation, reason, bound in effects
    )


def event_row(tenant: str, event: Event) -> Values:
    """An event as a row without its number."""
    return (
        tenant,
        VERSION,
        event.kind,
        event.scope,
        event.seq,
        event.token,
        event.actor,
        event.key,
        _blob(event.fingerprint),
        event.status,
        effects_text(event.effects),
        event.at,
        event.generation,
    )


EVENT_COLUMNS = (
    "row",
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


def event_from(row: Row) -> tuple[int, Event]:
    """The number and the event of a row of EVENT_COLUMNS."""
    number, *before, effects, at = row
    return number, Event._make((*before, effects_from(effects), at))


RECORD_COLUMNS = ("fingerprint", "status", "effects", "seq", "at", "token")


def recorded_from(row: Row) -> tuple[bytes, Outcome]:
    """Fingerprint and outcome that the event of an applied key, a row of RECORD_COLUMNS, records."""
    fingerprint, status, effects, seq, at, token = row
    event = Event(
        "record", None, seq, None, token, None, None, fingerprint, status, effects_from(effects), at
    )
    return fingerprint, outcome_of(event)


HEAD_COLUMNS = (
    "namespace",
    "id",
    "revision",
    "live",
    "created_at",
    "updated_at",
    "expires_at",
    "added_at",
    "added_ordinal",
)


def head_from(row: Row) -> Head:
    """The head in a row of HEAD_COLUMNS."""
    namespace, id, revision, live, created_at, updated_at, expires_at, added_at, added_ordinal = row
    address = Address(namespace_from(namespace), id)
    return Head(address, revision, live == 1, created_at, updated_at, expires_at, (added_at, added_ordinal))


def head_row(tenant: str, head: Head, item: Item) -> Values:
    """A head and what its content lets filters look at, as a row."""
    namespace, id = head.address
    return (
        tenant,
        namespace_text(namespace),
        id,
        int(head.live),
        head.revision,
        item.kind,
        item.attributes_text if head.live else "{}",
        head.created_at,
        head.updated_at,
        head.expires_at,
        item.importance if head.live else None,
        *head.added,
    )


_NO_CONTENT = (None, None, None, None)


def revision_row(tenant: str, revision: Revision) -> Values:
    """One entry of an item's history as a row; a tombstone holds no content."""
    namespace, id = revision.address
    item = revision.item
    return (
        tenant,
        namespace_text(namespace),
        id,
        revision.revision,
        *(_NO_CONTENT if item is None else (item.kind, item.text, item.data, item.attributes_text)),
        revision.created_at,
        None if item is None else item.expires_at,
        None if item is None else item.importance,
        _blob(revision.salt),
        revision.at,
        revision.ordinal,
        revision.by,
        revision.reason,
        None if item is None else _blob(item.embedding),
    )


CONTENT_COLUMNS = (
    "kind",
    "text",
    "data",
    "attributes",
    "created_at",
    "expires_at",
    "importance",
    "embedding",
)
REVISION_COLUMNS = ("revision", *CONTENT_COLUMNS, "salt", "at", "ordinal", "by", "reason")


def _item(content: Row) -> Item:
    kind, text, data, attributes, created_at, expires_at, importance, embedding = content
    vector = None if embedding is None else bytes(embedding)
    return Item(kind, text, data, _attributes(attributes), created_at, expires_at, importance, vector)


def _attributes(text: str) -> Mapping[str, Any]:
    return NO_ATTRIBUTES if text == "{}" else MappingProxyType(json.loads(text))


def stored_from(namespace: Namespace, row: Row) -> Stored:
    """The item in a row of (id, revision, created_at of the head, CONTENT_COLUMNS)."""
    id, revision, created_at, *content = row
    return Stored(Address(namespace, id), revision, _item(content), created_at)


def revision_from(address: Address, row: Row) -> Revision:
    """The history's entry in a row of REVISION_COLUMNS."""
    number, *rest = row
    content, (salt, at, ordinal, by, reason) = rest[: len(CONTENT_COLUMNS)], rest[len(CONTENT_COLUMNS) :]
    item = None if content[0] is None else _item(content)
    return Revision(address, number, item, content[4], at, ordinal, by, reason, salt)
