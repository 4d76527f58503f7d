# Generated from ../aio/writer.py by scripts/generate. Do not edit.
"""Keyed, fenced writes: every call is one transaction."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from returns.result import Failure, Result

from txmemory.drive import run
from txmemory.flow import writing
from txmemory.flow.requests import Flow
from txmemory.memories.bounds import Bounds
from txmemory.memories.consolidation import Consolidation, Group, Job
from txmemory.memories.translate import Expected, Source
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Presenter
from txmemory.model.command import OnMismatch
from txmemory.model.outcome import Outcome, Receipt
from txmemory.model.refusal import LeaseLost, Refusal
from txmemory.port import Backend
from txmemory.rules.settling import (
    AppliedRefusal,
    ConsolidateRefusal,
    EntryRefusal,
    ForgetRefusal,
    ManyRefusal,
    SealRefusal,
    WriteRefusal,
)
from txmemory.store.core import Handle, Piece, always, refuse_uncallable, together
from txmemory.store.sync.consolidating import Consolidating

Value = TypeVar("Value")
AnyRefusal = TypeVar("AnyRefusal", bound=Refusal)


class Writer:
    """Writes under keys, bound to a scope and a fencing token; made by `Store.writer`.

    Every call is one transaction that first checks the token: an older one than the scope has seen is `Fenced` and
    changes nothing, a newer one fences its predecessors from then on, also when the call only looks.
    """

    def __init__(
        self, handle: Handle[Backend], presenter: Presenter, holds: Callable[[], bool] = always
    ) -> None:
        self._handle = handle
        self._presenter = presenter
        self._holds = holds

    def __repr__(self) -> str:
        return f"<{type(self).__name__} token={self._presenter.token}>"

    def write(
        self,
        key: str,
        add: Iterable[Memory],
        *,
        expect: Expected | None = None,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
    ) -> Result[Receipt, WriteRefusal]:
        """Stores `add` exactly once under `key`, and answers the recorded outcome whenever the key comes again.

        A replay writes nothing, even with other content (`diverged`; with `on_mismatch="refuse"` it is `KeyReused`)
        and even if what it stored is gone. `expect` maps ids to the revision that must be live, or None for
        nothing: otherwise `StaleRevision` or `AlreadyExists`, nothing written or recorded. `bounds` evicts the
        oldest of the namespace in the same transaction. At most 1,000 memories; an id twice counts as its last.
        """
        command = self._handle.write("write", key, add, (), expect, bounds, on_mismatch)
        flow = writing.write(command, self._handle.tenant, self._presenter)
        return self._run(flow)

    def replace(
        self,
        key: str,
        add: Iterable[Memory],
        remove: Iterable[Source],
        *,
        expect: Expected | None = None,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
    ) -> Result[Receipt, WriteRefusal]:
        """Stores `add` and ends all of `remove` once, or, if any of `remove` is gone, does nothing for ever.

        `remove` holds memories as they were read (the revision must still be live), refs of an outcome, ids, or
        (id, revision). When one is gone or changed the recorded outcome is `superseded`, and so is every replay's.
        """
        command = self._handle.write("replace", key, add, remove, expect, bounds, on_mismatch)
        flow = writing.write(command, self._handle.tenant, self._presenter)
        return self._run(flow)

    def together(
        self, key: str, *pieces: Piece, on_mismatch: OnMismatch = "return"
    ) -> Result[Receipt, WriteRefusal]:
        """Stores and ends what the pieces say in one transaction, exactly once, in as many namespaces as they name.

        A piece is made by the handle of its namespace: `ada.storing(...)`, `ada.removing(...)`. When anything that is
        to be removed is gone or changed, nothing at all is written, for ever: `superseded`.
        """
        command = together(self._handle.tenant, key, pieces, on_mismatch)
        return self._run(writing.write(command, self._handle.tenant, self._presenter))

    def write_many(
        self,
        writes: Iterable[tuple[str, Iterable[Memory]]],
        *,
        bounds: Bounds | None = None,
        on_mismatch: OnMismatch = "return",
    ) -> Result[tuple[Result[Receipt, EntryRefusal], ...], ManyRefusal]:
        """Several writes in one transaction, each under its own key and judged on its own, answered in order.

        1 to 1,000 (key, memories) pairs with distinct keys and disjoint ids, together at most 1,000 memories.
        """
        handle = self._handle
        command = handle.write_many(writes, bounds, on_mismatch)
        flow = writing.write_many(command, handle.tenant, self._presenter)
        return self._run(flow)

    def consolidate(
        self,
        key: str,
        summarise: Callable[[Group], str],
        *,
        older_than: datetime,
        min_count: int = 10,
        max_memories_per_group: int = 50,
        token_budget: int | None = None,
        strict: bool = False,
    ) -> Result[Consolidation, ConsolidateRefusal]:
        """Replaces what tells of one thing by what `summarise` makes of it, each group once, whoever runs it again.

        Grouped are memories with a timestamp up to `older_than`: those of a conversation, an entity, a user and a
        source by its id, tasks by their success, nothing of custom types. Of a group it takes the oldest, up to
        `max_memories_per_group` (at most 999), up to `token_budget` at four characters a token, and as many as 64 KiB
        of metadata have room for; fewer than `min_count` (at least 2) are left alone.

        `summarise` is called with no transaction open. Every group is recorded under a key of its own that follows
        from namespace and `key`. One that is recorded is not summed up again; a memory that somebody changed or took
        meanwhile makes its group `superseded`. What `summarise` raises, or a blank text, leaves its group as it is,
        with an entry in `failed` and a warning of the logger `txmemory`; with `strict` it comes out here. A refusal
        ends the run: what was replaced stays so, and the same call goes on from there.

        When every group is done that is recorded, too: from then on the same call looks at no memory, and answers
        what is recorded; a worker that was still at it then may have recorded groups as `superseded` behind. What has
        come since waits for another `key`. Inside a transaction of a caller's it is a `ValueError`.
        """
        if self._handle.joined:
            raise ValueError("a summariser is never called inside a transaction: consolidate without joining")
        refuse_uncallable(summarise, "summarise")
        job = Job(self._handle.namespace, key, older_than, min_count, max_memories_per_group, token_budget)
        working = Consolidating(self._handle, self._presenter, self._holds, job, summarise, strict)
        return working.run()

    def applied(self, key: str) -> Result[Outcome | None, AppliedRefusal]:
        """The outcome recorded for `key`, or None: then nothing with this key and an older token can land."""
        flow = writing.applied(wanted.Applied(key), self._handle.tenant, self._presenter)
        return self._run(flow)

    def forget_applied(self, key: str) -> Result[bool, ForgetRefusal]:
        """Takes the key away, so that it can be applied again, and answers whether it was there.

        Safe only once the step's result is durable elsewhere and no older holder can act.
        """
        flow = writing.forget_applied(wanted.ForgetApplied(key), self._handle.tenant, self._presenter)
        return self._run(flow)

    def seal(self) -> Result[int, SealRefusal]:
        """Finishes the scope: frees its keys, answers how many, and refuses every later keyed call as `Sealed`."""
        flow = writing.seal(self._handle.tenant, self._presenter)
        return self._run(flow)

    def _run(self, flow: Flow[Result[Value, AnyRefusal]]) -> Result[Value, AnyRefusal | LeaseLost]:
        """Runs a call, unless the writer is of a run that has lost its lease: then nothing is sent."""
        if not self._holds():
            return Failure(LeaseLost())
        return run(flow, self._handle.backend, self._handle.patience)
