"""All that a store in memory holds, as maps of frozen rows."""

import threading
from dataclasses import dataclass, field
from typing import NamedTuple

from txmemory.backends.primitives import LedgerRow, ScopeRow
from txmemory.model.address import Address, Namespace
from txmemory.model.event import Event
from txmemory.model.item import Head, Revision, Stored
from txmemory.rules.fencing import Standing


class Scope(NamedTuple):
    """A scope's fence and its place in its order."""

    standing: Standing
    row: ScopeRow


@dataclass(slots=True, repr=False)
class State:
    """All that the store holds. A copy shares every frozen row and none of the maps."""

    scopes: dict[tuple[str, str], Scope] = field(default_factory=dict)
    ledger: dict[tuple[str, str], dict[str, LedgerRow]] = field(default_factory=dict)
    heads: dict[tuple[str, Namespace], dict[str, Head]] = field(default_factory=dict)
    revisions: dict[tuple[str, Address], tuple[Revision, ...]] = field(default_factory=dict)
    leases: dict[tuple[str, str], int] = field(default_factory=dict)
    """Until when the claim on a scope lives; nothing where none holds."""
    events: dict[int, tuple[str, Event]] = field(default_factory=dict)
    last_row: int = 0
    """The last number that an event was given, whatever became of it."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def copy(self) -> "State":
        """A state that can go its own way."""
        return State(
            dict(self.scopes),
            {scope: dict(rows) for scope, rows in self.ledger.items()},
            {namespace: dict(rows) for namespace, rows in self.heads.items()},
            dict(self.revisions),
            dict(self.leases),
            dict(self.events),
            self.last_row,
        )

    def lease(self, scope: tuple[str, str], until: int | None) -> None:
        """Notes until when the claim on a scope lives."""
        if until is None:
            self.leases.pop(scope, None)
        else:
            self.leases[scope] = until

    def stored(self, tenant: str, head: Head) -> Stored:
        """The content of a live head."""
        item = self.revisions[tenant, head.address][-1].item
        assert item is not None, "a live head's newest revision has content"
        return Stored(head.address, head.revision, item, head.created_at)
