"""Claims: who may act on a scope, for how long."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from returns.result import Failure, Result, Success

from txmemory.drive import run_async
from txmemory.flow import claiming
from txmemory.flow.requests import Answer, Flow
from txmemory.memories.bounds import Bounds
from txmemory.model import lease
from txmemory.model.address import Fence, Presenter
from txmemory.model.item import moment
from txmemory.model.refusal import Fenced, LeaseLost, Sealed
from txmemory.port import AsyncBackend
from txmemory.rules.leasing import RenewRefusal
from txmemory.rules.settling import Delayed
from txmemory.store.aio.writer import AsyncWriter
from txmemory.store.core import Handle, always, ttl_of

_BRIEFEST = 0.05
"""Seconds that a renewal is given at the least."""


class AsyncClaim:
    """A claim on a scope, with the token that it has issued. Made by `AsyncStore.claim`.

    Its expiry decides only who may claim next. Until somebody does its holder may go on, and from then on every
    write by it is `Fenced`: safety rests on the token, never on a clock.
    """

    def __init__(
        self, handle: Handle[AsyncBackend], claim: lease.Claim, granted: lease.Granted, asked: float
    ) -> None:
        self._handle = handle
        self._claim = claim
        self._presenter = Presenter(
            claim.scope, granted.fence.token, granted.fence.generation, holder=claim.holder
        )
        self._over = False
        self._note(granted, asked, claim.ttl)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} token={self.token}>"

    def _note(self, granted: lease.Granted, asked: float, ttl: int) -> None:
        self._until = granted.until
        self._ttl = ttl
        self._ends = asked + ttl / 1_000_000

    @property
    def scope(self) -> str:
        """What is claimed."""
        return self._presenter.scope

    @property
    def token(self) -> int:
        """The fencing token: pass it to every other system that can fence, too."""
        return self._presenter.token

    @property
    def generation(self) -> int:
        """The generation that the token is of."""
        return self._presenter.generation

    @property
    def fence(self) -> Fence:
        """Both."""
        return self._presenter.fence

    @property
    def until(self) -> datetime:
        """When it lapses, by the database's clock."""
        return moment(self._until)

    @property
    def valid(self) -> bool:
        """Whether it has not lapsed by this machine's own count, a monotonic one, begun before it was asked for.

        Once it was released, or a renewal has told that it is lost, it stays False.
        """
        return not self._over and time.monotonic() < self._ends

    @property
    def ttl(self) -> float:
        """Seconds that it was last given."""
        return self._ttl / 1_000_000

    def is_of(self, handle: Handle[AsyncBackend]) -> bool:
        """Whether it was made in the tenant of this handle, through the same opened store."""
        ours = self._handle
        return (ours.backend, ours.tenant) == (handle.backend, handle.tenant)

    def writer_at(self, handle: Handle[AsyncBackend], holds: Callable[[], bool] = always) -> AsyncWriter:
        """Its writer at another handle."""
        return AsyncWriter(handle, self._presenter, holds)

    @property
    def writer(self) -> AsyncWriter:
        """Keyed writes under its token, into the namespace that the claim was made through."""
        return AsyncWriter(self._handle, self._presenter)

    def within(self, *parts: str, bounds: Bounds | None = None) -> AsyncWriter:
        """The same into the namespace below."""
        return AsyncWriter(self._handle.within(parts, bounds), self._presenter)

    async def renew(self, ttl: timedelta | None = None) -> Result[datetime, RenewRefusal]:
        """Lets it live for `ttl` from now, by default as long as before; answers until when.

        A claim that has lapsed and that nobody has taken over is renewed, too. `Fenced` when somebody has, and
        `LeaseLost` when it was released.
        """
        length = self._claim.ttl if ttl is None else ttl_of(ttl)
        asked = time.monotonic()
        result = await self._run(
            claiming.renew(lease.Renew(self._handle.tenant, self._presenter, length)), length
        )
        if isinstance(result, Failure):
            self._over = self._over or isinstance(result.failure(), Fenced | LeaseLost | Sealed)
            return result
        granted = result.unwrap()
        self._note(granted, asked, length)
        return Success(moment(granted.until))

    async def release(self) -> Result[bool, Delayed]:
        """Ends it, so that nobody need wait for it to lapse; False, and no harm, where it was another's by then."""
        self._over = True
        flow = claiming.release(lease.Release(self._handle.tenant, self._presenter))
        return await self._run(flow, self._ttl)

    async def _run(self, flow: Flow[Answer], ttl: int) -> Answer:
        """In a third of the lease at the most: what takes longer comes too late to be tried again."""
        patience = self._handle.patience
        brief = min(patience.deadline, max(_BRIEFEST, ttl / 3_000_000))
        return await run_async(flow, self._handle.backend, replace(patience, deadline=brief))
