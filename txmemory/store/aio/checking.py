"""What a store offers about its log: checking everything that follows from it, and restoring that."""

from typing import TypeVar

from returns.result import Result

from txmemory.drive import run_async
from txmemory.flow.requests import Flow
from txmemory.log import verifying
from txmemory.log.asking import refusing
from txmemory.log.checkpoint import Checkpoint, Progress
from txmemory.log.rebuilding import rebuild
from txmemory.log.verifying import Extent
from txmemory.model.finding import Rebuilt, Verified
from txmemory.port import AsyncBackend
from txmemory.rules.settling import ReadRefusal
from txmemory.store.core import Handle

Value = TypeVar("Value")


class AsyncChecking:
    """The part of a store that is about its log."""

    def __init__(self, handle: Handle[AsyncBackend]) -> None:
        self._handle = handle

    async def verify(
        self,
        *,
        scope: str | None = None,
        of: Extent = "tenant",
        begun: Checkpoint | None = None,
        progress: Progress | None = None,
    ) -> Result[Verified, ReadRefusal]:
        """Recomputes what follows from log and history, compares, and names every difference; it changes nothing.

        Of this tenant; of this namespace (`of="namespace"`), of one scope, or of all that the database holds
        (`of="store"`). It reads page after page, as committed, and may run beside any load: what is written meanwhile
        is no difference. `progress` is called between two pages, with a checkpoint: given as `begun` to another such
        call, in any process, that one goes on from there; a single scope is read at once, without either.
        `design/verify.md` says what each finding means, and what
        none can tell.
        """
        part = self._handle.part(scope, of)
        if scope is not None and (of != "tenant" or begun is not None or progress is not None):
            raise ValueError("one scope is verified whole: it takes neither of nor begun nor progress")
        return await self._checked(verifying.verify(part, verifying.started(part, begun, progress)))

    async def rebuild(self, *, of: Extent = "tenant") -> Result[Rebuilt, ReadRefusal]:
        """Restores what follows from log and history: heads, the ledger, the rows of scopes; fences are only raised.

        Of this tenant, or of all (`of="store"`), in many short transactions, beside any load. Broken off, it is
        called again. What nothing follows from is left as it is, and told.
        """
        if of == "namespace" or self._handle.joined:
            raise ValueError("rebuild restores a tenant or a store, in transactions of its own")
        return await self._checked(rebuild(self._handle.part(None, of).tenant))

    async def _checked(self, flow: Flow[Value]) -> Result[Value, ReadRefusal]:
        return await run_async(refusing(flow), self._handle.backend, self._handle.patience)
