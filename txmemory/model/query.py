"""What can be asked of a backend. Every answer is a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from txmemory.model import limits
from txmemory.model.address import Address, Namespace
from txmemory.model.event import Event
from txmemory.model.filter import Condition
from txmemory.model.item import Revision, Stored

Row = TypeVar("Row", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows in the query's order; `more` says that further rows may stand behind the last."""

    rows: Sequence[Row]
    more: bool = False


class Query(Generic[Row]):
    """A question that is answered by a page of rows."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Its name alone: where it looks, and behind what, is the caller's."""
        return f"<{type(self).__name__}>"


@dataclass(frozen=True, slots=True, repr=False)
class Get(Query[Stored]):
    """The live items at these addresses, those that are there, in the order asked."""

    tenant: str
    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Select(Query[Stored]):
    """Live items of a namespace that the condition accepts, newest first, behind `after` (created_at, id)."""

    tenant: str
    namespace: Namespace
    condition: Condition
    after: tuple[int, str] | None = None
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Count(Query[int]):
    """How many live items of a namespace the condition accepts: one row."""

    tenant: str
    namespace: Namespace
    condition: Condition


COUNTED_ATTRIBUTES = ("entity_id", "conversation_id")
"""The attributes whose distinct texts are among the figures of a namespace."""


class Totals(NamedTuple):
    """What a namespace holds, in figures."""

    kinds: tuple[tuple[str, int], ...]
    """How many live items there are of each kind that there is, by code point."""
    distinct: tuple[int, ...]
    """How many texts each of `COUNTED_ATTRIBUTES` takes."""
    embedded: int
    oldest: int | None
    newest: int | None
    """Times of creation."""


@dataclass(frozen=True, slots=True, repr=False)
class Figures(Query[Totals]):
    """The figures of a namespace's live items: one row."""

    tenant: str
    namespace: Namespace


@dataclass(frozen=True, slots=True, repr=False)
class Revisions(Query[Revision]):
    """The history of one address, oldest first, behind revision `after`."""

    tenant: str
    address: Address
    after: int = 0
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Past(Query[tuple[str, Stored | None]]):
    """Ids of a namespace that were ever stored to, by code point, behind `after`, each with the item as of `at`.

    That is the newest revision that is no younger; None where there was none, where the item had ended, or where that
    revision has expired by now. With an `id` it is asked for that one alone.
    """

    tenant: str
    namespace: Namespace
    at: int
    id: str | None = None
    after: str = ""
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class TimeOf(Query[int]):
    """The time of record of an event of a scope: one row, or none where there is no such event."""

    tenant: str
    scope: str
    seq: int


@dataclass(frozen=True, slots=True, repr=False)
class Settled(Query[bool]):
    """Whether all that will ever be recorded of `at` and before is committed: one row. What cannot be told is not so.

    What a later query sees then holds all of it.
    """

    tenant: str
    at: int


@dataclass(frozen=True, slots=True, repr=False)
class Events(Query[tuple[int, Event]]):
    """The tenant's log by row id, behind row `after`."""

    tenant: str
    after: int = 0
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Keys(Query[str]):
    """The applied keys of a scope by code point, behind `after`."""

    tenant: str
    scope: str
    after: str = ""
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class Lapsed(Query[str]):
    """The scopes of a tenant, by code point behind `after`, whose claim lapsed at least `lapsed` microseconds ago.

    Neither released nor sealed ones are among them.
    """

    tenant: str
    lapsed: int
    after: str = ""
    limit: int = limits.PAGE_ROWS


@dataclass(frozen=True, slots=True, repr=False)
class KeyCount(Query[int]):
    """How many applied keys a scope holds, or with None the tenant: one row."""

    tenant: str
    scope: str | None
