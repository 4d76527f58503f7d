"""Runs: a claimed scope at work, and its steps."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Self

from returns.result import Failure, Result, Success

from txmemory.drive import AsyncRepeating, run_async
from txmemory.flow import reading
from txmemory.memories.bounds import Bounds
from txmemory.memories.values import Memory
from txmemory.model.address import Fence
from txmemory.model.outcome import Receipt
from txmemory.port import AsyncBackend, Closed
from txmemory.rules.settling import StepRefusal, unconditional
from txmemory.store.aio.claiming import AsyncClaim
from txmemory.store.aio.writer import AsyncWriter
from txmemory.store.core import Handle, Step, refuse_uncallable_async


class AsyncRun:
    """A claimed scope at work: `with` it, and it is renewed in the background, and released at the end.

    Made by `AsyncStore.run` and `AsyncStore.resume`. When its lease is lost, because somebody else took the scope
    over or because it could not be renewed in time, its writers answer `LeaseLost` and send nothing, from then on for
    good; what was under way its token fences.
    """

    def __init__(self, claim: AsyncClaim, handle: Handle[AsyncBackend]) -> None:
        self._claim = claim
        self._handle = handle
        self._lost = False
        self._renewing = AsyncRepeating(self._renew, claim.ttl / 3)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} token={self.token}>"

    async def __aenter__(self) -> Self:
        self._renewing.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lost = True
        try:
            await self._renewing.stop()
        finally:
            with suppress(Closed):  # the block may have closed the store: then the lease lapses
                await self._claim.release()

    @property
    def scope(self) -> str:
        """What is claimed."""
        return self._claim.scope

    @property
    def token(self) -> int:
        """The fencing token: pass it to every other system that can fence, too."""
        return self._claim.token

    @property
    def generation(self) -> int:
        """The generation that the token is of."""
        return self._claim.generation

    @property
    def fence(self) -> Fence:
        """Both, in the order in which they are compared: what else can fence should compare the pair."""
        return self._claim.fence

    @property
    def until(self) -> datetime:
        """When its lease ends unless it is renewed again, by the database's clock."""
        return self._claim.until

    @property
    def valid(self) -> bool:
        """Whether it still has its lease, as far as is known here without asking; once False it stays so."""
        self._lost = self._lost or not self._claim.valid
        return not self._lost

    @property
    def writer(self) -> AsyncWriter:
        """Keyed writes of this run, into the namespace that it was made through."""
        return self._writer(self._handle)

    def within(self, *parts: str, bounds: Bounds | None = None) -> AsyncWriter:
        """The same into the namespace below."""
        return self._writer(self._handle.within(parts, bounds))

    def _writer(self, handle: Handle[AsyncBackend]) -> AsyncWriter:
        return self._claim.writer_at(handle, lambda: self.valid)

    async def _renew(self) -> bool:
        """Whether there is anything left to renew; what could not be reached is asked again."""
        if not self.valid:
            return False
        await self._claim.renew()
        return self.valid

    async def step(
        self, key: str, produce: Callable[[], Awaitable[Iterable[Memory]]], *, bounds: Bounds | None = None
    ) -> Result[Step, StepRefusal]:
        """What the step stored: in an earlier attempt, or what `produce` makes now; it is called in that case alone.

        The ledger is asked first, under the fence. `produce` runs outside every transaction, as long as it likes, and
        what it raises comes out of here with nothing written. Of two callers of one key at once both may call theirs,
        and both get what was written first. The memories are those that the key stands for, as they were stored,
        whatever has been changed or removed since. `txmemory.step_key` makes keys of places in a run.
        """
        refuse_uncallable_async(produce, "produce")
        writer = self.writer
        known = await writer.applied(key)
        if isinstance(known, Failure):
            return known
        outcome = known.unwrap()
        receipt = None if outcome is None else Receipt(outcome, replayed=True)
        if receipt is None:
            written = unconditional(await writer.write(key, await produce(), bounds=bounds))
            if isinstance(written, Failure):
                return written
            receipt = written.unwrap()
        handle = self._handle
        flow = reading.recorded(handle.tenant, receipt.outcome.added)
        found = await run_async(flow, handle.backend, handle.patience)
        if isinstance(found, Failure):
            return found
        return Success(Step(receipt, tuple([Memory.found(stored) for stored in found.unwrap()])))
