"""A memory for agent runtimes that survives crashes and replays: exactly-once, fenced, verifiable writes."""

from typing import TYPE_CHECKING, Any

from txmemory.memories.bounds import Bounds
from txmemory.memories.filter import Filter
from txmemory.memories.translate import Ended, Expected, HistoryEntry, Source
from txmemory.memories.values import Custom, Memory, MemoryType, entity_id_of
from txmemory.model.address import Fence, Ref, step_key
from txmemory.model.finding import Finding, Read, Rebuilt, Verified
from txmemory.model.outcome import Outcome, Receipt
from txmemory.model.past import AsOf, When
from txmemory.model.refusal import (
    AlreadyExists,
    Contended,
    Fenced,
    FenceRequired,
    Held,
    IdChanged,
    KeyReused,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    Refusal,
    Sealed,
    StaleRevision,
    TooManyToEvict,
    Unavailable,
)
from txmemory.port import CannotOpen, Closed, Corrupted, ForkedStore, SchemaMismatch
from txmemory.results import Refused, either, must
from txmemory.rules.leasing import ClaimRefusal, RenewRefusal, ResetRefusal
from txmemory.rules.settling import (
    AppliedRefusal,
    ConsolidateRefusal,
    EntryRefusal,
    ForgetRefusal,
    ManyRefusal,
    PastRefusal,
    PlainRefusal,
    ReadRefusal,
    SealRefusal,
    StepRefusal,
    StoreRefusal,
    UpdateRefusal,
    WriteRefusal,
)

if TYPE_CHECKING:
    from txmemory.log.checkpoint import Checkpoint
    from txmemory.memories.consolidation import Consolidated, Consolidation, FailedGroup, Group
    from txmemory.memories.scored import ScoredMemory
    from txmemory.memories.statistics import MemoryStats
    from txmemory.store.aio.claiming import AsyncClaim
    from txmemory.store.aio.running import AsyncRun
    from txmemory.store.aio.store import AsyncStore
    from txmemory.store.aio.writer import AsyncWriter
    from txmemory.store.core import Piece, Step
    from txmemory.store.opening import migrate, open, open_async
    from txmemory.store.sync.claiming import Claim
    from txmemory.store.sync.running import Run
    from txmemory.store.sync.store import Store
    from txmemory.store.sync.writer import Writer
    from txmemory.store.value import InMemoryStore

__all__ = [
    "AlreadyExists",
    "AppliedRefusal",
    "AsOf",
    "AsyncClaim",
    "AsyncRun",
    "AsyncStore",
    "AsyncWriter",
    "Bounds",
    "CannotOpen",
    "Checkpoint",
    "Claim",
    "ClaimRefusal",
    "Closed",
    "ConsolidateRefusal",
    "Consolidated",
    "Consolidation",
    "Contended",
    "Corrupted",
    "Custom",
    "Ended",
    "EntryRefusal",
    "Expected",
    "FailedGroup",
    "Fence",
    "FenceRequired",
    "Fenced",
    "Filter",
    "Finding",
    "ForgetRefusal",
    "ForkedStore",
    "Group",
    "Held",
    "HistoryEntry",
    "IdChanged",
    "InMemoryStore",
    "KeyReused",
    "LeaseLost",
    "ManyRefusal",
    "Memory",
    "MemoryStats",
    "MemoryType",
    "NotFound",
    "Outcome",
    "OutcomeUnknown",
    "PastRefusal",
    "Piece",
    "PlainRefusal",
    "Read",
    "ReadRefusal",
    "Rebuilt",
    "Receipt",
    "Ref",
    "Refusal",
    "Refused",
    "RenewRefusal",
    "ResetRefusal",
    "Run",
    "SchemaMismatch",
    "ScoredMemory",
    "SealRefusal",
    "Sealed",
    "Source",
    "StaleRevision",
    "Step",
    "StepRefusal",
    "Store",
    "StoreRefusal",
    "TooManyToEvict",
    "Unavailable",
    "UpdateRefusal",
    "Verified",
    "When",
    "WriteRefusal",
    "Writer",
    "either",
    "entity_id_of",
    "migrate",
    "must",
    "open",
    "open_async",
    "step_key",
]

_LATER = {
    "Checkpoint": "txmemory.log.checkpoint",
    "MemoryStats": "txmemory.memories.statistics",
    "ScoredMemory": "txmemory.memories.scored",
    "Group": "txmemory.memories.consolidation",
    "FailedGroup": "txmemory.memories.consolidation",
    "Consolidation": "txmemory.memories.consolidation",
    "Consolidated": "txmemory.memories.consolidation",
    "AsyncClaim": "txmemory.store.aio.claiming",
    "AsyncRun": "txmemory.store.aio.running",
    "Claim": "txmemory.store.sync.claiming",
    "Piece": "txmemory.store.core",
    "Run": "txmemory.store.sync.running",
    "Step": "txmemory.store.core",
    "AsyncStore": "txmemory.store.aio.store",
    "AsyncWriter": "txmemory.store.aio.writer",
    "InMemoryStore": "txmemory.store.value",
    "Store": "txmemory.store.sync.store",
    "Writer": "txmemory.store.sync.writer",
    "migrate": "txmemory.store.opening",
    "open": "txmemory.store.opening",
    "open_async": "txmemory.store.opening",
}
"""Names whose modules bring asyncio and a driver along, or that few need: imported when they are first used."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("txmemory")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
