"""Where things are: tenant, namespace, id; scope and key; the fence and who presents a token."""

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from txmemory.model import limits
from txmemory.model.canonical import canonical_json, checked_integer, checked_text

Namespace = tuple[str, ...]


def checked_tenant(tenant: object) -> str:
    """A tenant: 1 to 128 bytes of text."""
    return checked_text(tenant, "tenant", limits.TENANT_BYTES)


def checked_scope(scope: object) -> str:
    """A scope: 1 to 512 bytes of text."""
    return checked_text(scope, "scope", limits.TEXT_KEY_BYTES)


def checked_key(key: object) -> str:
    """An applied key: 1 to 512 bytes of text."""
    return checked_text(key, "key", limits.TEXT_KEY_BYTES)


def checked_id(id: object) -> str:
    """An item's id: 1 to 512 bytes of text."""
    return checked_text(id, "id", limits.TEXT_KEY_BYTES)


def checked_namespace(namespace: tuple[object, ...]) -> Namespace:
    """A namespace: 1 to 16 non-empty texts, together at most 1,024 bytes in the form in which they are stored."""
    if not 1 <= len(namespace) <= limits.NAMESPACE_PARTS:
        raise ValueError(
            f"namespace must have 1 to {limits.NAMESPACE_PARTS} parts, the face's own among them"
        )
    checked = tuple(checked_text(part, "a namespace part", limits.NAMESPACE_BYTES) for part in namespace)
    if len(namespace_text(checked).encode()) > limits.NAMESPACE_BYTES:
        raise ValueError(f"namespace is longer than {limits.NAMESPACE_BYTES} bytes")
    return checked


@lru_cache(maxsize=4_096)
def namespace_text(namespace: Namespace) -> str:
    """The stored form: canonical JSON, so that two namespaces never share one and a prefix is a range."""
    return canonical_json(namespace)


@lru_cache(maxsize=4_096)
def namespace_from(text: str) -> Namespace:
    """The namespace whose stored form is `text`."""
    return tuple(json.loads(text))


def step_key(*path: str | int) -> str:
    """The key of a step by its place in a run: other places have other keys, every attempt has the same.

    A path is texts and integers, such as a step's name and the index of a call within it; as a key at most 512 bytes.

    >>> step_key("extract", 3)
    '["extract",3]'
    """
    if not path:
        raise ValueError("a path has at least one part")
    for part in path:
        if not isinstance(part, str | int) or isinstance(part, bool):  # type: ignore[redundant-expr]  # untyped callers
            raise TypeError("a part of a path is text or an integer")
    parts = [str.__str__(part) if isinstance(part, str) else int.__int__(part) for part in path]
    return checked_text(canonical_json(parts), "key", limits.TEXT_KEY_BYTES)


class Address(NamedTuple):
    """Where an item is within its tenant."""

    namespace: Namespace
    id: str

    def __repr__(self) -> str:
        """Nothing: a namespace or an id may be a person's, and stays out of logs."""
        return "<Address>"

    @property
    def order(self) -> tuple[str, str]:
        """The order in which everybody locks: stored namespace, then id, by code point."""
        return namespace_text(self.namespace), self.id


class Ref(NamedTuple):
    """One revision of one item: 1, 2, 3 ... of its id; a removal takes a revision of its own."""

    namespace: Namespace
    id: str
    revision: int

    def __repr__(self) -> str:
        """The revision alone: a namespace or an id may be a person's, and stays out of logs."""
        return f"<Ref revision={self.revision}>"

    @property
    def address(self) -> Address:
        """Where the item is."""
        return Address(self.namespace, self.id)


class Fence(NamedTuple):
    """What a scope has seen: compared as the pair (generation, token), and nothing lowers it."""

    generation: int
    token: int


@dataclass(frozen=True, slots=True)
class Presenter:
    """Who acts on a scope: a fencing token within a generation, and an optional name for its holder."""

    scope: str = field(repr=False)
    token: int
    generation: int = 0
    holder: str | None = field(default=None, repr=False)
    fence: Fence = field(init=False, repr=False, compare=False)
    """What this presenter would raise the scope's fence to."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "scope", checked_scope(self.scope))
        put(self, "token", checked_integer(self.token, "token", 0, limits.TOKEN_MOST))
        put(self, "generation", checked_integer(self.generation, "generation", 0, limits.TOKEN_MOST))
        if self.holder is not None:
            put(self, "holder", checked_text(self.holder, "holder", limits.TEXT_KEY_BYTES))
        put(self, "fence", Fence(self.generation, self.token))
