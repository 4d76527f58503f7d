"""One transaction of `rebuild` as a value: what follows from log and history, and up to where they were read."""

from dataclasses import dataclass
from typing import NamedTuple

from txmemory.model.address import Address, Fence

REPAIR_MOST = 100
"""Heads, or keys, that one transaction restores."""


class HeadState(NamedTuple):
    """A head without its address, with what filters look at."""

    revision: int
    live: bool
    kind: str
    attributes: str
    created_at: int
    updated_at: int
    expires_at: int | None
    importance: float | None
    added: tuple[int, int]

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<HeadState revision={self.revision}>"


class FoldedHead(NamedTuple):
    """The head that follows from a history.

    `added`: every place in the order of insertion that the head may have. There are several where the item before may
    or may not have expired by the clock of the commit, which nothing records.
    """

    head: HeadState
    added: tuple[tuple[int, int], ...]

    def accepts(self, head: HeadState) -> bool:
        """Whether a head is what follows."""
        return head.added in self.added and head[:-1] == self.head[:-1]


class ScopeState(NamedTuple):
    """What a scope's row holds, and follows from its events."""

    fence: Fence
    seq: int
    last_at: int
    sealed: bool


NEW_SCOPE = ScopeState(Fence(0, 0), 0, 0, sealed=False)


class HeadRepair(NamedTuple):
    """The head of an address as it follows from the history up to its revision; None where there is no history."""

    address: Address
    folded: FoldedHead | None


class ScopeRepair(NamedTuple):
    """The row of a scope as it follows from the log up to its seq, and keys that differ: the seq of each, or None."""

    scope: str
    state: ScopeState
    keys: tuple[tuple[str, int | None], ...]
    whole: bool
    """False where events are missing: then there has to be a row, and its fence is raised, and that is all."""

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<ScopeRepair {self.state}>"


class Repair(NamedTuple):
    """Restores what follows, of one scope or of some heads. What came since is read inside, and folded on.

    Doing it twice is doing it once.
    """

    tenant: str
    scope: ScopeRepair | None = None
    heads: tuple[HeadRepair, ...] = ()

    def __repr__(self) -> str:
        """How much it is."""
        return f"<Repair {self.scope} heads={len(self.heads)}>"


@dataclass(frozen=True, slots=True)
class Mended:
    """How much a repair has changed: whether the scope's row, how many keys, how many heads."""

    scopes: int
    keys: int
    heads: int
