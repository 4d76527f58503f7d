# Generated from ../aio/scopes.py by scripts/generate. Do not edit.
"""What a store offers about scopes: claims, runs, and pieces of a write to several namespaces."""

import time
from dataclasses import replace
from datetime import timedelta

from returns.result import Failure, Result, Success

from txmemory.drive import run
from txmemory.flow import claiming
from txmemory.memories.translate import Source
from txmemory.memories.values import Memory
from txmemory.model import lease, limits
from txmemory.model.canonical import checked_integer
from txmemory.port import Backend
from txmemory.rules.leasing import ClaimRefusal, ResetRefusal
from txmemory.rules.settling import Delayed
from txmemory.store.core import Handle, Piece, ttl_of
from txmemory.store.sync.claiming import Claim
from txmemory.store.sync.running import Run

_TTL = timedelta(seconds=30)
_NOW = timedelta(0)


class Scopes:
    """The part of a store that is about scopes."""

    def __init__(self, handle: Handle[Backend]) -> None:
        self._handle = handle

    def claim(self, scope: str, holder: str, ttl: timedelta = _TTL) -> Result[Claim, ClaimRefusal]:
        """Claims a scope for `ttl`, 100 milliseconds to a day, with the next token: every older one is fenced by it.

        `Held` while another's claim is live, by the database's clock, read behind the lock on the scope. This store
        asking again under the same name gets its own claim back, with new time: so a lost answer is asked for again.
        Stores that were opened apart are two holders, also under one name. `Sealed` when the scope is finished;
        `Fenced` when the tokens that claims may issue are used up, which `reset_fence` cures.
        """
        return self._claimed(self._handle, scope, holder, ttl)

    def run(self, scope: str, holder: str, ttl: timedelta = _TTL) -> Result[Run, ClaimRefusal]:
        """Claims a scope and answers it as a run, a context manager that renews the claim and releases it at the end.

        Each run is a holder of its own, also beside others of its name in the same store. See `claim` for what it may
        be refused for, and `Run.step` for what a run is made of.
        """
        result = self._claimed(self._handle.apart(), scope, holder, ttl)
        return result.map(lambda claim: Run(claim, self._handle))

    def resume(self, claim: Claim) -> Run:
        """A claim, such as `unfinished` gives, as a run in this namespace: it is the run's, to renew and to release.

        A claim of another tenant, or of a store that was opened apart, is a `ValueError`.
        """
        if not isinstance(claim, Claim):
            raise TypeError("resume takes a claim of this kind of store")
        if not claim.is_of(self._own()):
            raise ValueError("the claim is of another tenant or store")
        return Run(claim, self._handle)

    def unfinished(
        self,
        holder: str,
        *,
        older_than: timedelta = _NOW,
        ttl: timedelta = _TTL,
        limit: int = 100,
    ) -> Result[list[Claim], Delayed]:
        """Claims up to `limit` scopes of this tenant whose claim lapsed at least `older_than` ago, and answers them.

        A scope that was released or sealed is finished, and not among them: a run that an exception has ended is
        released, too. `resume` makes a run of a claim. Each goes to one caller, however many ask
        at once. What was claimed before something got in the way is answered, too.
        """
        handle = self._own().apart()
        since = ttl_of(older_than, "older_than")
        checked_integer(since, "older_than in microseconds", 0, lease.LAPSED_MOST)
        checked_integer(limit, "limit", 0, limits.INTEGER_MOST)
        wanted = self._wanted(handle, "any", holder, ttl)
        asked = time.monotonic()
        wanted = replace(wanted, lapsed=since)
        flow = claiming.unfinished(wanted, limit)
        found = run(flow, handle.backend, handle.patience)
        return found.map(lambda taken: [Claim(handle, *each, asked) for each in taken])

    def reset_fence(self, scope: str, *, by: str | None = None) -> Result[int, ResetRefusal]:
        """Raises the generation of a scope and answers it: all writers of earlier ones are fenced, tokens begin anew.

        For a scope whose token was set beyond all that its source will issue, whose source has begun anew, or whose
        claim a wrong clock has made to last too long: nobody holds it after. It is neither fenced nor keyed; the log
        notes it, with `by`. Writers then name it: `writer(..., generation=)`.
        """
        handle = self._own()
        flow = claiming.reset(lease.Reset(handle.tenant, scope, by))
        return run(flow, handle.backend, handle.patience)

    def storing(self, *memories: Memory) -> Piece:
        """A piece of `together`: these memories, stored in this namespace."""
        return self._handle.piece(memories, ())

    def removing(self, *sources: Source) -> Piece:
        """A piece of `together`: these have to be there in this namespace, and are ended, as by `replace`."""
        return self._handle.piece((), sources)

    def _claimed(
        self, handle: Handle[Backend], scope: str, holder: str, ttl: timedelta
    ) -> Result[Claim, ClaimRefusal]:
        self._own()
        wanted = self._wanted(handle, scope, holder, ttl)
        asked = time.monotonic()
        result = run(claiming.claim(wanted), self._handle.backend, self._handle.patience)
        if isinstance(result, Failure):
            return result
        return Success(Claim(handle, wanted, result.unwrap(), asked))

    @staticmethod
    def _wanted(handle: Handle[Backend], scope: str, holder: str, ttl: timedelta) -> lease.Claim:
        holding = lease.named(lease.checked_holder(holder), handle.nonce)
        return lease.Claim(handle.tenant, scope, holding, ttl_of(ttl), timeline=handle.check_timeline)

    def _own(self) -> Handle[Backend]:
        """The handle, where it is in no caller's transaction: others have to see a claim at once, or not at all."""
        if self._handle.joined:
            raise ValueError("a claim is a transaction of its own: make it on the store itself")
        return self._handle
