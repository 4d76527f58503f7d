"""One spelling for every value: checked text, canonical JSON, digests and the identifiers that the store makes."""

import hashlib
import hmac
import json
import math
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from txmemory.model import limits

_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


class GeneratedId(str):
    """An id that the store made: the same step run again makes another one, so a fingerprint leaves it out."""

    __slots__ = ()


_PLAIN = (str, GeneratedId)


def generated_id() -> GeneratedId:
    """A new id: a UUID of version 7, so that ids made later sort later and an index grows at one end."""
    return GeneratedId(_uuid7_source()())


@cache
def _uuid7_source() -> Any:
    import uuid

    stdlib = getattr(uuid, "uuid7", None)
    if stdlib is not None:
        return stdlib
    import uuid_utils  # imported when the first id is made: the package's import stays light

    return uuid_utils.uuid7


def checked_text(value: object, name: str, most: int, *, empty: bool = False) -> str:
    """The text when every backend stores it alike: no NUL, no lone surrogate, at most `most` bytes of UTF-8.

    Answers plain text, whatever a subclass (an enum's member, say) makes of itself: use the answer, not the argument.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text")
    text = value if type(value) in _PLAIN else str.__str__(value)
    if not text and not empty:
        raise ValueError(f"{name} is empty")
    if "\x00" in text:
        raise ValueError(f"{name} contains NUL")
    size = len(text) if text.isascii() else _size(text)
    if size is None:
        raise ValueError(f"{name} contains a lone surrogate")
    if size > most:
        raise ValueError(f"{name} is longer than {most} bytes")
    return text


def _size(text: str) -> int | None:
    """Bytes of UTF-8; None for a text that has no such form. (The codec's own error would hold the text.)"""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None


def checked_integer(value: object, name: str, least: int, most: int) -> int:
    """`value` when it is an integer (a bool is none) in `least` .. `most`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer")
    number = int.__int__(value)
    if not least <= number <= most:
        raise ValueError(f"{name} is outside {least} .. {most}")
    return number


quoted = json.JSONEncoder(ensure_ascii=False).encode
"""A text as JSON."""


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, and every character as itself: equal values give equal text."""
    return _dump(value)


def checked_json(value: object, name: str, most: int) -> str:
    """`value` as canonical JSON, when it is JSON on every backend alike."""
    text = _dump(_plain(value, name, 1))
    if len(text) > most or len(text.encode()) > most:
        raise ValueError(f"{name} is longer than {most} bytes of JSON")
    return text


_INTEGER_END = 10**limits.JSON_DIGITS


def _plain(value: object, name: str, depth: int) -> object:
    """A copy of plain lists and dicts, every part of it checked."""
    if depth > limits.JSON_DEPTH:
        raise ValueError(f"{name} is nested deeper than {limits.JSON_DEPTH}")
    match value:
        case None | bool():
            return value
        case str():
            return checked_text(value, f"a text in {name}", most=limits.DATA_BYTES, empty=True)
        case int():
            if not -_INTEGER_END < value < _INTEGER_END:
                raise ValueError(f"an integer in {name} has more than {limits.JSON_DIGITS} digits")
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"a number in {name} is not finite")
            return value
        case list() | tuple():
            return [_plain(element, name, depth + 1) for element in value]
        case Mapping():
            return {
                checked_text(key, f"a key in {name}", most=limits.DATA_BYTES, empty=True): _plain(
                    element, name, depth + 1
                )
                for key, element in value.items()
            }
        case _:
            raise TypeError(f"{name} holds a value that is not JSON")


def digest(*parts: str | float | None) -> bytes:
    """SHA-256 of the parts, each spelled with its length in front so that no other parts spell the same."""
    spelled = ""
    for part in parts:
        spelled += "-," if part is None else f"{len(text := str(part))}:{text},"
    return hashlib.sha256(spelled.encode()).digest()


SALT_BYTES = 16
_salts: list[bytes] = []
"""Drawn many at a time, since asking the system costs as much as the digest; a forked child draws its own."""

os.register_at_fork(after_in_child=_salts.clear)


def new_salt() -> bytes:
    """16 random bytes: what makes a digest of a short text unguessable."""
    try:
        return _salts.pop()
    except IndexError:
        drawn = os.urandom(64 * SALT_BYTES)
        _salts.extend(
            drawn[start : start + SALT_BYTES] for start in range(SALT_BYTES, len(drawn), SALT_BYTES)
        )
        return drawn[:SALT_BYTES]


def salted_digest(salt: bytes, plain: bytes) -> bytes:
    """SHA-256 over the salt and `plain`, 32 bytes that say nothing about `plain` to who has no salt."""
    return hashlib.sha256(salt + plain).digest()


def sealed_digest(salt: bytes, plain: bytes) -> bytes:
    """The salt and, behind it, SHA-256 over salt and `plain`: 48 bytes that say nothing about `plain`."""
    return salt + salted_digest(salt, plain)


def opens(sealed: bytes, plain: bytes) -> bool:
    """Whether `sealed` was made from `plain`, compared in constant time."""
    return hmac.compare_digest(sealed, sealed_digest(sealed[:SALT_BYTES], plain))
