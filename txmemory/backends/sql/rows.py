"""How outcomes, events and items are spelled in rows: compact canonical JSON, each with a version in front."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from txmemory.model.address import Address, Namespace, Ref, namespace_from, namespace_text
from txmemory.model.canonical import canonical_json
from txmemory.model.event import VERSION, Effect, Event
from txmemory.model.item import NOTHING, Head, Item, Revision, Stored, microseconds, moment
from txmemory.model.outcome import Outcome

Row = Sequence[Any]


def _places(namespaces: Iterable[Namespace]) -> dict[Namespace, int]:
    """Each namespace once, numbered: refs name it by number."""
    return {namespace: place for place, namespace in enumerate(dict.fromkeys(namespaces))}


def outcome_text(outcome: Outcome) -> str:
    """An outcome as its ledger row holds it."""
    groups = (outcome.added, outcome.removed, outcome.evicted)
    places = _places(ref.namespace for group in groups for ref in group)
    return canonical_json(
        [
            VERSION,
            outcome.status,
            outcome.seq,
            microseconds(outcome.at, "at"),
            outcome.token,
            [*places],
            *([[places[ref.namespace], ref.id, ref.revision] for ref in group] for group in groups),
        ]
    )


def outcome_from(text: str) -> Outcome:
    """The outcome that a ledger row holds."""
    _, status, seq, at, token, paths, *groups = json.loads(text)
    names = [tuple(path) for path in paths]
    added, removed, evicted = (
        tuple(Ref(names[place], id, revision) for place, id, revision in group) for group in groups
    )
    return Outcome(status, added, removed, evicted, seq, moment(at), token)


def effects_text(effects: Sequence[Effect]) -> str:
    """The effects of an event as its row holds them."""
    places = _places(effect.namespace for effect in effects)
    return canonical_json(
        [
            [*places],
            [
                [
                    places[effect.namespace],
                    effect.id,
                    effect.revision,
                    effect.operation,
                    effect.reason,
                    None if effect.commitment is None else b64encode(effect.commitment).decode(),
                ]
                for effect in effects
            ],
        ]
    )


def effects_from(text: str) -> tuple[Effect, ...]:
    """The effects that an event's row holds."""
    paths, effects = json.loads(text)
    names = [tuple(path) for path in paths]
    return tuple(
        Effect(names[place], id, revision, operation, reason, None if bound is None else b64decode(bound))
        for place, id, revision, operation, reason, bound in effects
    )


def event_row(tenant: str, event: Event) -> dict[str, object]:
    """An event as a row without its number."""
    return {
        "tenant": tenant,
        "version": VERSION,
        "kind": event.kind,
        "scope": event.scope,
        "seq": event.seq,
        "token": event.token,
        "actor": event.actor,
        "key": event.key,
        "fingerprint": event.fingerprint,
        "status": event.status,
        "effects": effects_text(event.effects),
        "at": event.at,
    }


EVENT_COLUMNS = (
    "row",
    "kind",
    "scope",
    "seq",
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
    number, kind, scope, seq, token, actor, key, fingerprint, status, effects, at = row
    return number, Event(kind, scope, seq, token, actor, key, fingerprint, status, effects_from(effects), at)


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


def head_row(tenant: str, head: Head, item: Item) -> dict[str, object]:
    """A head and what its content lets filters look at, as a row."""
    return {
        "tenant": tenant,
        "namespace": namespace_text(head.address.namespace),
        "id": head.address.id,
        "live": int(head.live),
        "revision": head.revision,
        "kind": item.kind,
        "attributes": item.attributes_text,
        "created_at": head.created_at,
        "updated_at": head.updated_at,
        "expires_at": head.expires_at,
        "importance": item.importance,
        "added_at": head.added[0],
        "added_ordinal": head.added[1],
    }


def revision_row(tenant: str, revision: Revision) -> dict[str, object]:
    """One entry of an item's history as a row; a tombstone holds no content."""
    item = revision.item
    return {
        "tenant": tenant,
        "namespace": namespace_text(revision.address.namespace),
        "id": revision.address.id,
        "revision": revision.revision,
        "kind": item.kind if item else None,
        "text": item.text if item else None,
        "data": item.data if item else None,
        "attributes": item.attributes_text if item else None,
        "created_at": revision.created_at,
        "expires_at": item.expires_at if item else None,
        "importance": item.importance if item else None,
        "salt": revision.salt,
        "at": revision.at,
        "ordinal": revision.ordinal,
        "by": revision.by,
        "reason": revision.reason,
    }


CONTENT_COLUMNS = ("kind", "text", "data", "attributes", "created_at", "expires_at", "importance")
REVISION_COLUMNS = ("revision", *CONTENT_COLUMNS, "salt", "at", "ordinal", "by", "reason")


def _item(content: Row) -> Item:
    kind, text, data, attributes, _, expires_at, importance = content
    return Item(kind, text, data, _attributes(attributes), None, expires_at, importance)


def _attributes(text: str) -> Mapping[str, Any]:
    return NOTHING if text == "{}" else MappingProxyType(json.loads(text))


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
