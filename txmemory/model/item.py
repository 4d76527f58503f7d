"""What a namespace stores at an id, as it is given and as it is found."""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from txmemory.model import limits
from txmemory.model.address import Address
from txmemory.model.canonical import (
    canonical_json,
    checked_integer,
    checked_json,
    checked_text,
    digest,
    salted_digest,
)

Scalar = str | int | float | bool
NO_ATTRIBUTES: Mapping[str, Scalar] = MappingProxyType({})

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
TIME_LEAST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
TIME_MOST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


def microseconds(moment: object, name: str) -> int:
    """An aware datetime as integer microseconds UTC, exactly; a naive one is refused."""
    if not isinstance(moment, datetime):
        raise TypeError(f"{name} must be a datetime")
    if moment.utcoffset() is None:
        raise ValueError(f"{name} must be an aware datetime")
    elapsed = (moment - _EPOCH) // _MICROSECOND
    if not TIME_LEAST <= elapsed <= TIME_MOST:
        raise ValueError(f"{name} is outside the years 1 .. 9999 in UTC")
    return elapsed


def moment(elapsed: int) -> datetime:
    """The aware UTC datetime of integer microseconds."""
    return _EPOCH + timedelta(0, 0, elapsed)


@dataclass(frozen=True, slots=True)
class Item:
    """Content as a caller gives it: what search sees, any JSON beside it, and what a filter may look at.

    `data` is canonical JSON text (any value, at most 1 MiB), `attributes` a flat map that was copied when the item
    was built, times are integer microseconds UTC. A `created_at` of None is filled by the store's clock. `embedding`
    holds finite float32 numbers, the lowest byte first.
    """

    kind: str = field(repr=False)
    text: str = field(default="", repr=False)
    data: str = field(default="null", repr=False)
    attributes: Mapping[str, Scalar] = field(default_factory=lambda: NO_ATTRIBUTES, repr=False)
    created_at: int | None = None
    expires_at: int | None = None
    importance: float | None = None
    embedding: bytes | None = field(default=None, repr=False)
    attributes_text: str = field(default="{}", init=False, repr=False, compare=False)
    _digest: bytes | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = checked_text(self.kind, "kind", limits.TEXT_KEY_BYTES)
        text = checked_text(self.text, "text", limits.TEXT_BYTES, empty=True)
        if kind is not self.kind or text is not self.text:
            object.__setattr__(self, "kind", kind)
            object.__setattr__(self, "text", text)
        if self.attributes is not NO_ATTRIBUTES:
            object.__setattr__(self, "attributes", checked_attributes(self.attributes))
            text = canonical_json(dict(self.attributes))
            if len(text.encode()) > limits.ATTRIBUTES_BYTES:
                raise ValueError(f"attributes are longer than {limits.ATTRIBUTES_BYTES} bytes of JSON")
            object.__setattr__(self, "attributes_text", text)
        if self.created_at is not None:
            created_at = checked_integer(self.created_at, "created_at", TIME_LEAST, TIME_MOST)
            object.__setattr__(self, "created_at", created_at)
        if self.expires_at is not None:
            expires_at = checked_integer(self.expires_at, "expires_at", TIME_LEAST, TIME_MOST)
            object.__setattr__(self, "expires_at", expires_at)
        if self.importance is not None:
            object.__setattr__(self, "importance", checked_importance(self.importance))
        if self.embedding is not None and len(self.embedding) % 4:
            raise ValueError("an embedding is not the bytes of float32 numbers")

    @property
    def digest(self) -> bytes:
        """SHA-256 over what was given but `created_at`, which the store may fill in, and the embedding.

        A model that is run again gives another vector for the same text.
        """
        known = self._digest
        if known is None:
            known = digest(
                self.kind, self.text, self.data, self.attributes_text, self.expires_at, self.importance
            )
            object.__setattr__(self, "_digest", known)
        return known

    @property
    def content_digest(self) -> bytes:
        """SHA-256 over all that was given but `created_at`."""
        return self.digest if self.embedding is None else salted_digest(self.digest, self.embedding)


def checked_data(value: object) -> str:
    """Any JSON value as the canonical text that `Item.data` holds."""
    return checked_json(value, "data", limits.DATA_BYTES)


def checked_attributes(attributes: object) -> Mapping[str, Scalar]:
    """A detached, read-only copy of a flat map from text to text, 64-bit integers, finite numbers and booleans."""
    if not isinstance(attributes, Mapping):
        raise TypeError("attributes must be a mapping")
    copy: dict[str, Scalar] = {}
    for key, value in attributes.items():
        name = checked_text(key, "an attribute's name", limits.ATTRIBUTES_BYTES, empty=True)
        copy[name] = _scalar(value)
    return MappingProxyType(copy)


def _scalar(value: object) -> Scalar:
    match value:
        case bool():
            return value
        case str():
            return checked_text(value, "an attribute", limits.ATTRIBUTES_BYTES, empty=True)
        case int():
            return checked_integer(value, "an attribute", -limits.INTEGER_MOST - 1, limits.INTEGER_MOST)
        case float():
            if not math.isfinite(value):
                raise ValueError("an attribute is not finite")
            return float(value)
        case _:
            raise TypeError("an attribute must be text, a number or a boolean")


def checked_importance(importance: object) -> float:
    """A finite number in 0 .. 1."""
    if not isinstance(importance, int | float) or isinstance(importance, bool):
        raise TypeError("importance must be a number")
    if not 0 <= importance <= 1:
        raise ValueError("importance is outside 0 .. 1")
    return float(importance) + 0.0  # a negative zero would not come back from every database


def embedding_bytes(numbers: Iterable[float]) -> bytes:
    """1 to 16,384 finite numbers as float32, each the nearest that there is. Text is no number, whatever it says."""
    try:
        given = list(numbers)
        if isinstance(numbers, str | bytes | bytearray) or any(
            isinstance(each, str | bytes) for each in given
        ):
            raise TypeError
        if not 1 <= len(given) <= limits.EMBEDDING_DIMENSIONS:
            raise ValueError(f"an embedding has 1 to {limits.EMBEDDING_DIMENSIONS} dimensions")
        given = [float(number) for number in given]
        packed = struct.pack(f"<{len(given)}f", *given)
    except TypeError:
        raise TypeError("embedding must be a sequence of numbers") from None
    except OverflowError:
        raise ValueError("a number of an embedding is beyond float32") from None
    if not all(map(math.isfinite, given)):
        raise ValueError("a number of an embedding is not finite")
    return packed


def embedding_from(packed: bytes) -> tuple[float, ...]:
    """The numbers of an embedding."""
    return struct.unpack(f"<{len(packed) // 4}f", packed)


def commitment(salt: bytes, item: Item, created_at: int) -> bytes:
    """What an event says of a revision's content without holding it: 32 bytes over salt, content and its time.

    A database that fills the time in can finish it from `item.content_digest`, without seeing the content again.
    """
    return salted_digest(salt, item.content_digest + str(created_at).encode())


def commitment_to(
    salt: bytes, content: Sequence[str | float | None], embedding: bytes | None, created_at: int
) -> bytes:
    """The same of content that is no item yet: kind, text, data, text of the attributes, expires_at, importance."""
    plain = digest(*content)
    if embedding is not None:
        plain = salted_digest(plain, embedding)
    return salted_digest(salt, plain + str(created_at).encode())


class Head(NamedTuple):
    """The newest revision of an item without its content: the row that is locked. Never deleted."""

    address: Address
    revision: int
    live: bool
    created_at: int
    updated_at: int
    expires_at: int | None
    added: tuple[int, int]
    """(at, ordinal) of the first revision since the item last was not there, for orders of insertion."""


class Stored(NamedTuple):
    """An item as it was found: its content at `revision`, and when it was created, by the caller or the store."""

    address: Address
    revision: int
    item: Item
    created_at: int


class Revision(NamedTuple):
    """One entry of an item's history; a tombstone has no item."""

    address: Address
    revision: int
    item: Item | None
    created_at: int
    at: int
    ordinal: int
    by: str | None
    reason: str
    salt: bytes

    def __repr__(self) -> str:
        """What it is, not whose."""
        return f"<Revision {self.revision} {self.reason}>"
