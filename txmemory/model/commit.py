"""One transaction as a value, and what a backend met when it ran it.

What a transaction makes many of is a named tuple, which is made three times as fast as a frozen dataclass.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from txmemory.model.address import Address, Fence, Namespace, Presenter
from txmemory.model.event import Reason
from txmemory.model.filter import Condition
from txmemory.model.item import Item
from txmemory.model.lease import Lease, LeaseMet
from txmemory.model.outcome import Outcome
from txmemory.model.repair import Mended, Repair


class Guard(NamedTuple):
    """What must be found at an address: 0 nothing live, n exactly that revision, None anything live."""

    address: Address
    revision: int | None = None

    def accepts(self, actual: int) -> bool:
        """Whether it holds for what was found there: a live revision, or 0 for nothing live."""
        return actual > 0 if self.revision is None else actual == self.revision


class Put(NamedTuple):
    """Stores an item at an address, whatever was there."""

    address: Address
    item: Item


class Remove(NamedTuple):
    """Ends the item at an address; one that is not there is left alone."""

    address: Address
    reason: Reason


class RemoveWhere(NamedTuple):
    """Ends every live item of a namespace that the condition accepts. Stands alone in its commit."""

    namespace: Namespace
    condition: Condition
    reason: Reason

    def __repr__(self) -> str:
        """Nothing of the caller's: a namespace may be a person's."""
        return f"<RemoveWhere {self.reason}>"


class RemoveListed(NamedTuple):
    """Ends these items of a namespace, any number, each at this revision. Stands alone in its commit.

    Where one of them is at another, or gone, that is reported and nothing changes.
    """

    namespace: Namespace
    listed: tuple[tuple[str, int], ...]
    """(id, revision), each id once."""
    reason: Reason

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return f"<RemoveListed {len(self.listed)} {self.reason}>"


class Trim(NamedTuple):
    """Evicts what is over the commit's bound, as much of it as one commit may. Stands alone in its commit."""

    def __repr__(self) -> str:
        return "<Trim>"


Change = Put | Remove | RemoveWhere | RemoveListed | Trim
Ledger = Literal["record", "look", "forget", "seal"]


class Bound(NamedTuple):
    """What a namespace may hold after the commit: at most `most` live items, none older than `age` microseconds."""

    namespace: Namespace
    most: int | None = None
    age: int | None = None

    def __repr__(self) -> str:
        """The numbers alone."""
        return f"<Bound {self.most} {self.age}>"


class Entry(NamedTuple):
    """One part of a commit, judged on its own.

    `record` applies the key with `changes` unless it is applied already; `look` and `forget` ask for it and take it
    away; `seal` takes all keys of the scope away and closes it. A failed guard is reported and nothing changes; a
    missing source makes the outcome `superseded`. Without a key the changes are made and nothing is recorded.
    """

    key: str | None = None
    ledger: Ledger = "record"
    fingerprint: bytes | None = None
    guards: tuple[Guard, ...] = ()
    sources: tuple[Guard, ...] = ()
    changes: tuple[Change, ...] = ()

    def __repr__(self) -> str:
        """Nothing of the caller's: a key may be a person's."""
        return f"<Entry {self.ledger}>"


class Commit(NamedTuple):
    """One transaction: one tenant, at most one presenter, entries, bounds."""

    tenant: str
    presenter: Presenter | None
    entries: tuple[Entry, ...]
    bounds: tuple[Bound, ...] = ()

    def __repr__(self) -> str:
        """Its parts, not its tenant."""
        return f"<Commit {self.presenter} {self.entries} {self.bounds}>"


class Done(NamedTuple):
    """The entry was carried out, with this outcome."""

    outcome: Outcome


class Recorded(NamedTuple):
    """The entry's key is applied: the outcome and the sealed fingerprint recorded for it."""

    outcome: Outcome
    fingerprint: bytes


class Found(NamedTuple):
    """The key is not applied and nothing changed.

    A guard failed (`actual`: the live revision at each guarded address, 0 for nothing), or the bounds ask for more
    evictions than one commit makes (`excess`), or nothing but a look was wanted.
    """

    actual: dict[Address, int]
    excess: int = 0


@dataclass(frozen=True, slots=True)
class Forgot:
    """So many applied keys were taken away."""

    keys: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The scope is sealed: nothing was done. `lost`: an earlier attempt of the call may have landed before that."""

    lost: bool = False


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The presenter is fenced, and nothing at all changed. `lost`: an earlier attempt of the call may have landed."""

    newest: Fence
    lost: bool = False


Met = Done | Recorded | Found | Forgot | Finished
Reply = Overtaken | tuple[Met, ...]

Transaction = Commit | Repair | Lease
"""What a backend carries out wholly or not at all."""
LeaseReply = LeaseMet | Overtaken | Finished
Reported = Reply | Mended | LeaseReply
"""What it says of it."""
