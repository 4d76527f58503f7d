"""What verify and rebuild ask of a backend: rows as they stand, readable or not. Every answer is a page."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from txmemory.model import limits
from txmemory.model.address import Ref
from txmemory.model.event import Event
from txmemory.model.item import Revision, commitment
from txmemory.model.query import Query
from txmemory.model.repair import HeadState, ScopeState

LEAST = -(2**63)
"""Before every number of a column."""
LAST = 2**63 - 1
"""Behind all of them."""

NAMELESS = "\U0010ffff\U0010ffff"
"""Stands for a name that is no text, as SQLite may keep it: behind all others, as it is there."""


class LogRow(NamedTuple):
    """A row of the log. `event` is None where none can be read that a call could have said, or was not asked for."""

    row: int
    scope: str | None
    seq: int | None
    event: Event | None
    applied: int | None = None
    """The seq that the ledger has for the key that the event records, None where it has none."""

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<LogRow seq={self.seq}>"


class ScopeFound(NamedTuple):
    """A scope's row, and how many keys the ledger has of it."""

    scope: str
    state: ScopeState
    keys: int

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<ScopeFound {self.state}>"


class KeyFound(NamedTuple):
    """A row of the ledger."""

    scope: str
    key: str
    seq: int

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<KeyFound seq={self.seq}>"


class HeadFound(NamedTuple):
    """A head at a stored namespace and an id, and whether anything of its history is there."""

    namespace: str
    id: str
    number: int
    """The revision that it names."""
    has_history: bool

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<HeadFound {self.number}>"


class RevisionFound(NamedTuple):
    """A revision at a stored namespace and an id; None where it cannot be read."""

    namespace: str
    id: str
    number: int
    revision: Revision | None

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<RevisionFound {self.number}>"


class EntryContent(NamedTuple):
    """Of a revision's content what its head repeats."""

    kind: str
    attributes_text: str
    expires_at: int | None
    importance: float | None

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return "<EntryContent>"


class Entry(NamedTuple):
    """A revision as far as it is verified, and the commitment that its event has to hold."""

    revision: int
    item: EntryContent | None
    created_at: int
    at: int
    ordinal: int
    by: str | None
    reason: str
    commitment: bytes | None

    def __repr__(self) -> str:
        """What it is, not whose."""
        return f"<Entry {self.revision} {self.reason}>"


def entry_of(revision: Revision) -> Entry:
    """A revision as an entry."""
    item, content, bound = revision.item, None, None
    if item is not None:
        content = EntryContent(item.kind, item.attributes_text, item.expires_at, item.importance)
        bound = commitment(revision.salt, item, revision.created_at)
    _, number, _, created_at, at, ordinal, by, reason, _ = revision
    return Entry(number, content, created_at, at, ordinal, by, reason, bound)


class EntryFound(NamedTuple):
    """An entry of a history at a stored namespace and an id; None where it cannot be read."""

    namespace: str
    id: str
    number: int
    entry: Entry | None
    head: HeadState | Literal["alone"] | None = None
    """The head of the moment, where it names this entry; "alone" where it says what this entry alone makes."""

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<EntryFound {self.number}>"


@dataclass(frozen=True, slots=True, repr=False)
class Tenants(Query[str]):
    """Every tenant that has a row, behind `after`."""

    after: str = ""
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Scopes(Query[ScopeFound]):
    """The rows of scopes behind `after`, or that of one scope."""

    tenant: str
    after: str = ""
    scope: str | None = None
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Logged(Query[LogRow]):
    """Events of scopes by (scope, seq), behind `after`, up to a scope or to the last."""

    tenant: str
    after: tuple[str, int] = ("", LEAST)
    until: str | None = None
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Unscoped(Query[LogRow]):
    """The log by row, behind `after`: events without a place in a scope. Of others it is told at most where they are.

    The next page begins behind the last row, and there may be more as long as there is one.
    """

    tenant: str
    after: int = LEAST
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Ledger(Query[KeyFound]):
    """The ledger of one scope by key, behind `after`."""

    tenant: str
    scope: str
    after: str = ""
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class StrayKeys(Query[KeyFound]):
    """Rows of the ledger whose scope has no row, behind (scope, key), up to a scope or to the last."""

    tenant: str
    after: tuple[str, str]
    until: str | None = None
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Histories(Query[EntryFound]):
    """Histories by (namespace, id, revision), each entry with the head that names it; behind `after`.

    With a stored namespace only what is there, and then `after` is a place in it.
    """

    tenant: str
    namespace: str | None = None
    after: tuple[str, str, int] = ("", "", LEAST)
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Heads(Query[HeadFound]):
    """Heads by (namespace, id), behind `after`, up to `until` or to the last.

    With a stored namespace only what is there.
    """

    tenant: str
    namespace: str | None = None
    after: tuple[str, str] = ("", "")
    until: tuple[str, str] | None = None
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class HeadCount(Query[int]):
    """How many of these there are, counted up to `limit`: one row."""

    tenant: str
    namespace: str | None
    after: tuple[str, str]
    until: tuple[str, str] | None
    limit: int


@dataclass(frozen=True, slots=True, repr=False)
class HeadsAt(Query[HeadFound]):
    """The heads at these stored namespaces and ids, those that are there."""

    tenant: str
    places: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, repr=False)
class At(Query[RevisionFound]):
    """These revisions, those that are there, in the order asked."""

    tenant: str
    refs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Intact(Query[bool]):
    """Whether the engine finds its own file whole, where it has one and can tell: one row."""
