"""What a backend has to have inside a transaction, so that the shared guard can run over it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from txmemory.model.address import Address, Fence, Namespace, Presenter
from txmemory.model.event import Event
from txmemory.model.filter import Condition
from txmemory.model.item import Head, Item, Revision
from txmemory.model.outcome import Outcome


class ScopeRow(NamedTuple):
    """What the guard needs of the scope's row once it holds it."""

    seq: int
    last_at: int
    sealed: bool


class LedgerRow(NamedTuple):
    """One applied key, with what its event recorded."""

    key: str
    fingerprint: bytes
    outcome: Outcome

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return "<LedgerRow>"


class HeadChange(NamedTuple):
    """How the commit leaves a head; `item` is the content that came with it, None where the commit brought none."""

    head: Head
    item: Item | None


class Tables(Protocol):
    """The primitives that a backend has inside a transaction. The names are the steps that crash tests stop at."""

    alone: bool
    """Whether nobody else writes while the transaction lasts, so that what was counted once stays right."""

    def advance_fence(self, tenant: str, presenter: Presenter, keys: Sequence[str]) -> ScopeRow | None:
        """Raises the fence and holds the scope's row; None, and nothing changed, when the presenter is fenced.

        `applied` will be asked for `keys` next: where the transaction holds all locks, they may be read along.
        """
        ...

    def fence(self, tenant: str, scope: str) -> Fence:
        """The newest fence."""
        ...

    def applied(self, tenant: str, scope: str, keys: Sequence[str]) -> Mapping[str, LedgerRow]:
        """Those of the keys that are applied."""
        ...

    def lock_namespaces(self, tenant: str, namespaces: Sequence[Namespace]) -> None:
        """Makes bounded writers of a namespace serial."""
        ...

    def lock_heads(self, tenant: str, addresses: Sequence[Address]) -> Mapping[Address, Head]:
        """The heads that are there, held until the transaction ends."""
        ...

    def lock_matching(self, tenant: str, namespace: Namespace, condition: Condition) -> Sequence[Head]:
        """The live heads that the condition accepts, expired ones too."""
        ...

    def now(self) -> int:
        """The database's clock, read now."""
        ...

    def count_live(self, tenant: str, namespace: Namespace, most: int) -> int:
        """How many live heads there are, expired ones too, counted to `most`."""
        ...

    def count_past(self, tenant: str, namespace: Namespace, now: int, cutoff: int, most: int) -> int:
        """How many live heads expired by `now` or were created before `cutoff`, counted to about `most`."""
        ...

    def lock_victims(self, tenant: str, namespace: Namespace, now: int, most: int) -> Sequence[Head]:
        """Up to `most` live heads: those expired at `now` by (expires_at, id), then the rest by (created_at, id)."""
        ...

    def change_heads(self, tenant: str, changes: Sequence[HeadChange]) -> None:
        """Writes heads, each once."""
        ...

    def append_revisions(self, tenant: str, revisions: Sequence[Revision]) -> None:
        """Appends to the history."""
        ...

    def append_events(self, tenant: str, events: Sequence[Event]) -> None:
        """Appends to the log."""
        ...

    def move_scope(self, tenant: str, scope: str, row: ScopeRow) -> None:
        """Writes the scope's place in its order."""
        ...

    def record(self, tenant: str, scope: str, events: Sequence[Event]) -> None:
        """Records the keys of these events as applied; what each recorded stands in its event."""
        ...

    def forget(self, tenant: str, scope: str, keys: Sequence[str] | None) -> int:
        """Takes keys (None: all) away and says how many were there."""
        ...
