"""A memory for agent runtimes that survives crashes and replays: exactly-once, fenced, verifiable writes."""

from typing import TYPE_CHECKING, Any

from txmemory.memories.filter import Filter
from txmemory.memories.values import Custom, Memory, MemoryType, entity_id_of
from txmemory.model.address import Fence, Ref, step_key
from txmemory.model.outcome import Outcome, Receipt
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
from txmemory.results import Refused, either, must

if TYPE_CHECKING:
    from txmemory.log.checkpoint import Checkpoint
    from txmemory.memories.bounds import Bounds
    from txmemory.memories.consolidation import Consolidated, Consolidation, FailedGroup, Group
    from txmemory.memories.scored import ScoredMemory
    from txmemory.memories.statistics import MemoryStats
    from txmemory.memories.translate import Ended, Expected, HistoryEntry, Source
    from txmemory.model.finding import Finding, Read, Rebuilt, Verified
    from txmemory.model.past import AsOf, When
    from txmemory.port import CannotOpen, Closed, Corrupted, ForkedStore, SchemaMismatch
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
    "AppliedRefusal": "txmemory.rules.settling",
    "AsOf": "txmemory.model.past",
    "AsyncClaim": "txmemory.store.aio.claiming",
    "AsyncRun": "txmemory.store.aio.running",
    "AsyncStore": "txmemory.store.aio.store",
    "AsyncWriter": "txmemory.store.aio.writer",
    "Bounds": "txmemory.memories.bounds",
    "CannotOpen": "txmemory.port",
    "Checkpoint": "txmemory.log.checkpoint",
    "Claim": "txmemory.store.sync.claiming",
    "ClaimRefusal": "txmemory.rules.leasing",
    "Closed": "txmemory.port",
    "ConsolidateRefusal": "txmemory.rules.settling",
    "Consolidated": "txmemory.memories.consolidation",
    "Consolidation": "txmemory.memories.consolidation",
    "Corrupted": "txmemory.port",
    "Ended": "txmemory.memories.translate",
    "EntryRefusal": "txmemory.rules.settling",
    "Expected": "txmemory.memories.translate",
    "FailedGroup": "txmemory.memories.consolidation",
    "Finding": "txmemory.model.finding",
    "ForgetRefusal": "txmemory.rules.settling",
    "ForkedStore": "txmemory.port",
    "Group": "txmemory.memories.consolidation",
    "HistoryEntry": "txmemory.memories.translate",
    "InMemoryStore": "txmemory.store.value",
    "ManyRefusal": "txmemory.rules.settling",
    "MemoryStats": "txmemory.memories.statistics",
    "PastRefusal": "txmemory.rules.settling",
    "Piece": "txmemory.store.core",
    "PlainRefusal": "txmemory.rules.settling",
    "Read": "txmemory.model.finding",
    "ReadRefusal": "txmemory.rules.settling",
    "Rebuilt": "txmemory.model.finding",
    "RenewRefusal": "txmemory.rules.leasing",
    "ResetRefusal": "txmemory.rules.leasing",
    "Run": "txmemory.store.sync.running",
    "SchemaMismatch": "txmemory.port",
    "ScoredMemory": "txmemory.memories.scored",
    "SealRefusal": "txmemory.rules.settling",
    "Source": "txmemory.memories.translate",
    "Step": "txmemory.store.core",
    "StepRefusal": "txmemory.rules.settling",
    "Store": "txmemory.store.sync.store",
    "StoreRefusal": "txmemory.rules.settling",
    "UpdateRefusal": "txmemory.rules.settling",
    "Verified": "txmemory.model.finding",
    "When": "txmemory.model.past",
    "WriteRefusal": "txmemory.rules.settling",
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
